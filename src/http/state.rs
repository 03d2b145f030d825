//! What all requests share.

use super::count::TryCounts;
use super::document::Document;
use super::solve::FirstSolutions;
use crate::compute::Pool;
use crate::config::Config;
use crate::counts::Counts;
use crate::telemetry::{AccessLog, Metrics};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The service's state; clones share it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// See [`App`].
pub struct Inner {
    /// How the service is set up.
    pub config: Config,
    /// Where searches run.
    pub pool: Pool,
    /// The counts.
    pub counts: Counts,
    /// The first solutions.
    pub first_solutions: FirstSolutions,
    /// The counts by the lecture's routine.
    pub try_counts: TryCounts,
    /// The OpenAPI document.
    pub document: Document,
    /// What is counted and measured.
    pub metrics: Metrics,
    /// Where access lines go.
    pub access_log: AccessLog,
    ending: AtomicBool,
}

impl App {
    /// A fresh state.
    #[must_use]
    pub fn new(config: Config, access_log: AccessLog) -> Self {
        let pool = Pool::new(config.workers(), config.queue as usize);
        Self(Arc::new(Inner {
            counts: Counts::new(pool.clone()),
            first_solutions: FirstSolutions::new(pool.clone()),
            try_counts: TryCounts::new(pool.clone()),
            document: super::document(&config),
            config,
            pool,
            metrics: Metrics::default(),
            access_log,
            ending: AtomicBool::new(false),
        }))
    }

    /// From now on every new request is turned away and every search is told to end.
    pub fn end(&self) {
        self.0.ending.store(true, Ordering::SeqCst);
        self.0.pool.close();
    }

    /// Whether the service is ending.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.0.ending.load(Ordering::SeqCst)
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
