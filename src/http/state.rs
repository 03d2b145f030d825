//! What all requests share.

use super::call::Call;
use super::document::Document;
use super::problem::Problem;
use crate::compute::Pool;
use crate::compute::flights::Flights;
use crate::config::Config;
use crate::counts::Counts;
use crate::jobs::{self, Jobs};
use crate::queens::backtrack::Steps;
use crate::queens::{Board, Stop, Stopped};
use crate::telemetry::{AccessLog, Metrics};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// Request bodies together take at most so many bytes of memory; a further one waits.
const BODY_ROOM: usize = 64 << 20;

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
    /// The first solutions by the lecture's routine, by size.
    pub first_solutions: Flights<Solved>,
    /// The counts by the lecture's routine, by size.
    pub try_counts: Flights<Counted>,
    /// The long counts.
    pub jobs: Jobs,
    /// Bytes that request bodies may still take, all together.
    pub body_room: Arc<Semaphore>,
    /// The OpenAPI document.
    pub document: Document,
    /// What is counted and measured.
    pub metrics: Metrics,
    /// Where access lines go.
    pub access_log: AccessLog,
    ending: AtomicBool,
}

/// What the lecture's routine found until its first solution.
#[derive(Debug)]
pub struct Solved {
    /// The first solution, if there is one.
    pub board: Option<Board>,
    /// The steps to it, or to the end.
    pub steps: Steps,
}

/// What the lecture's routine found until its end.
#[derive(Debug)]
pub struct Counted {
    /// The number of solutions.
    pub count: u64,
    /// The steps.
    pub steps: Steps,
}

impl App {
    /// A fresh state, but for the jobs and finished counts in the data directory.
    pub async fn open(config: Config, access_log: AccessLog) -> Self {
        let pool = Pool::new(config.workers(), config.queue as usize);
        let counts = Counts::new(pool.clone());
        let settings =
            jobs::Settings { data_dir: config.data_dir.clone(), max_job: config.max_job, memory: jobs::memory_limit() };
        Self(Arc::new(Inner {
            jobs: Jobs::open(pool.clone(), counts.clone(), settings).await,
            counts,
            first_solutions: Flights::default(),
            try_counts: Flights::default(),
            body_room: Arc::new(Semaphore::new(BODY_ROOM)),
            document: super::document(&config),
            config,
            pool,
            metrics: Metrics::default(),
            access_log,
            ending: AtomicBool::new(false),
        }))
    }

    /// From now on every new request is turned away and every search is told to end. What jobs have finished is
    /// written when this returns.
    pub async fn end(&self) {
        self.0.ending.store(true, Ordering::SeqCst);
        self.0.pool.close();
        self.0.jobs.end().await;
    }

    /// Runs a search of one caller's own on the pool, within the request's time.
    ///
    /// # Errors
    /// 503 when there is no room for it or its time is up, 500 when it panics.
    pub async fn search<T, F>(&self, call: &Call, search: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        let limit = self.config.time_limit;
        let found = self.pool.search(Some(call.deadline(limit)), search).await;
        found.map_err(|failure| Problem::of_failure(failure, limit))
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
