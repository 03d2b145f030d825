//! What all requests share.

use crate::compute::Pool;
use crate::compute::flights::Flights;
use crate::config::Config;
use crate::counts::Counts;
use crate::jobs::{self, Jobs, Resume};
use crate::queens::Board;
use crate::queens::backtrack::Steps;
use crate::queens::backtrack::trace::walk::Walks;
use crate::surroundings;
use crate::telemetry::{AccessLog, Metrics};
use axum::body::Bytes;
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
    /// The lecture's searches as far as they were walked.
    pub walks: Walks,
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

/// The document as it is served, and the list of routes made from it.
pub struct Document {
    /// As YAML.
    pub yaml: Bytes,
    /// As JSON.
    pub json: Bytes,
    /// The routes with a line on each, as JSON.
    pub index: Bytes,
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
    pub async fn open(config: Config, document: Document, access_log: AccessLog) -> Self {
        let pool = Pool::new(config.workers(), config.queue as usize);
        let counts = Counts::new(pool.clone());
        let settings = jobs::Settings {
            data_dir: config.data_dir.clone(),
            resume: Resume::UpTo(config.max_job),
            memory: surroundings::memory(),
            ..jobs::Settings::default()
        };
        Self(Arc::new(Inner {
            jobs: Jobs::open(pool.clone(), counts.clone(), settings).await,
            counts,
            first_solutions: Flights::default(),
            try_counts: Flights::default(),
            walks: Walks::default(),
            body_room: Arc::new(Semaphore::new(BODY_ROOM)),
            document,
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
