//! Places for connections: as many as the cap says, and a few beyond it.

use super::phase::Shared;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// So many places are kept beyond the cap.
const BEYOND: usize = 8;
/// Who comes when all places are taken waits so long for one, before it is one too many.
const PATIENCE: Duration = Duration::from_millis(100);

/// The places, and who has one.
pub(super) struct Places {
    within: Arc<Semaphore>,
    beyond: Arc<Semaphore>,
    open: Mutex<HashMap<u64, (Shared, CancellationToken)>>,
    serial: AtomicU64,
}

/// A place; it is free again when this is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    /// Whether it is one beyond the cap.
    pub beyond: bool,
}

impl Places {
    pub(super) fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self {
            within: Arc::new(Semaphore::new(cap)),
            beyond: Arc::new(Semaphore::new(BEYOND)),
            open: Mutex::default(),
            serial: AtomicU64::new(0),
        })
    }

    /// A place for a connection that has been accepted. Waits only where those beyond the cap are all taken too.
    pub(super) async fn enter(&self) -> Place {
        let (permit, beyond) = match Arc::clone(&self.within).try_acquire_owned() {
            Ok(permit) => (Ok(permit), false),
            Err(_) => (Arc::clone(&self.beyond).acquire_owned().await, true),
        };
        match permit {
            Ok(permit) => Place { _permit: permit, beyond },
            Err(_) => std::future::pending().await, // the semaphores are never closed
        }
    }

    /// A place within the cap instead of one beyond it, if there is one soon: the connection that has been idle for
    /// longest is closed for it.
    pub(super) async fn settle(&self, place: Place) -> Place {
        if !place.beyond {
            return place;
        }
        self.close_longest_idle();
        match timeout(PATIENCE, Arc::clone(&self.within).acquire_owned()).await {
            Ok(Ok(permit)) => Place { _permit: permit, beyond: false },
            Ok(Err(_)) | Err(_) => place,
        }
    }

    fn close_longest_idle(&self) {
        let open = self.open();
        let idle = open.values().filter(|(_, end)| !end.is_cancelled());
        let idle = idle.filter_map(|(phase, end)| Some((phase.lock().idle_since()?, end)));
        if let Some((_, end)) = idle.min_by_key(|(since, _)| *since) {
            end.cancel();
        }
    }

    /// Makes a connection known, so that it can be closed for another while it is idle, for as long as the returned
    /// value lives.
    pub(super) fn register(self: &Arc<Self>, phase: Shared, please_end: CancellationToken) -> Registered {
        let id = self.serial.fetch_add(1, Ordering::Relaxed);
        self.open().insert(id, (phase, please_end));
        Registered { places: Arc::clone(self), id }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, (Shared, CancellationToken)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Places::register`].
pub(super) struct Registered {
    places: Arc<Places>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.places.open().remove(&self.id);
    }
}
