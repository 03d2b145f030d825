//! What all requests share.

use crate::compute::Pool;
use crate::compute::flights::Flights;
use crate::config::Config;
use crate::queens::Board;
use crate::queens::backtrack::Steps;
use crate::queens::backtrack::trace::walk::Walks;
use crate::runs::{self, Planning, Runs, Worked};
use crate::surroundings;
use crate::telemetry::{AccessLog, Metrics};
use axum::body::Bytes;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
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
    /// The counts, and who waits for them.
    pub runs: Runs,
    /// The first solutions by the lecture's routine, by size.
    pub first_solutions: Flights<Solved>,
    /// The counts by the lecture's routine, by size.
    pub try_counts: Flights<Counted>,
    /// The lecture's searches as far as they were walked.
    pub walks: Walks,
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
    /// It, and the steps to it or to the end, as JSON: the answer that is asked for again and again.
    pub json: Bytes,
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
    /// A fresh state, but for the jobs and finished counts in the data directory, which is opened behind this. Within a
    /// runtime.
    pub fn open(config: Config, document: Document, access_log: AccessLog) -> Self {
        let pool = Pool::new(config.workers(), config.queue as usize);
        let settings = runs::Settings {
            data_dir: config.data_dir.clone(),
            jobs: Worked::UpTo(config.max_job),
            memory: surroundings::memory(),
            ..runs::Settings::default()
        };
        let planning = Planning { audit: config.audit, range: config.range, redelivery: config.redelivery };
        let runs = match &config.nats.url {
            None => Runs::open(pool.clone(), &settings),
            Some(_) => Runs::front(pool.clone(), &settings, config.nats.clone(), planning),
        };
        Self(Arc::new(Inner {
            runs,
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

    /// From now on every new request is turned away and every search is told to end. When this returns, nothing is
    /// counted any more, and what is finished only has to be [`kept`](Self::kept).
    pub async fn end(&self) {
        self.0.ending.store(true, Ordering::SeqCst);
        self.0.pool.close();
        self.0.runs.close().await;
    }

    /// Waits until all that is finished is in the data directory, or until the deadline. Gives the number of finished
    /// tasks that are not, and are lost.
    pub async fn kept(&self, deadline: Instant) -> u64 {
        self.0.runs.end(deadline).await
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
