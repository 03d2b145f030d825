//! What is counted and measured, for Prometheus.
//!
//! Metrics belong to a service, not to the process, so that several services in one process (as in tests) do not count
//! into each other's numbers. Handles are typed and kept: counting a request makes no label and takes no memory.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// One label with its value.
type One = [(&'static str, &'static str); 1];
/// A route, a method and a status.
type Ended = [(&'static str, Arc<str>); 3];
/// A route.
type Named = [(&'static str, Arc<str>); 1];

/// The metrics of one service.
pub struct Metrics {
    registry: Registry,
    requests: Family<Ended, Counter>,
    durations: Family<Named, Histogram, fn() -> Histogram>,
    routes: RwLock<HashMap<String, Arc<Route>>>,
    /// Requests that are being answered.
    pub requests_in_flight: Gauge,
    /// Open connections.
    pub connections: Gauge,
    searches: Family<One, Counter>,
    streams: Family<One, Counter>,
    /// First solutions that were known before they were asked for.
    pub known_solutions: Counter,
    /// Counts that were known before they were asked for.
    pub known_counts: Counter,
    /// The same of counts by the lecture's routine.
    pub known_try_counts: Counter,
    searches_running: Gauge,
    searches_waiting: Gauge,
    jobs: Family<One, Gauge>,
    tasks: Family<[(&'static str, u32); 1], Gauge>,
    tasks_done: Family<[(&'static str, u32); 1], Gauge>,
    storage_usable: Gauge,
}

/// What is kept of a route: its handles, so that none is looked up by its labels twice.
struct Route {
    name: Arc<str>,
    durations: Histogram,
    ended: RwLock<Vec<(&'static str, u16, Counter)>>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its answer was given.
    Answered,
    /// Its caller left.
    Left,
    /// The time limit was reached.
    TimeLimit,
    /// There was no room for it.
    Overloaded,
    /// The service ended.
    Shutdown,
    /// It panicked, which is a bug.
    Failed,
}

impl Outcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Left => "left",
            Self::TimeLimit => "time_limit",
            Self::Overloaded => "overloaded",
            Self::Shutdown => "shutdown",
            Self::Failed => "failed",
        }
    }
}

/// How the long counts are, at the moment of a scrape.
#[derive(Debug, Default)]
pub struct Jobs {
    /// How many there are in each state, by the state's name.
    pub by_state: Vec<(&'static str, i64)>,
    /// Of each job its size, its finished tasks, and all of them.
    pub tasks: Vec<(u32, u64, u64)>,
    /// Of each shared job its size, and how many of its tasks were computed again.
    pub audited: Vec<(u32, u64)>,
    /// Whether the data directory, if there is one, can be used.
    pub storage_usable: bool,
    /// The processes that share jobs, if this is one of them.
    pub cluster: Option<Cluster>,
}

/// What a process knows of those that share jobs.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Why what they share cannot be used, if that is so.
    pub trouble: Option<String>,
    /// How many workers are connected.
    pub workers: u32,
    /// How many ranges they compute at a time, all together.
    pub threads: u32,
    /// About how many ranges of open jobs are left to do.
    pub left: u64,
    /// Whether this process plans.
    pub is_planner: bool,
    /// How many ranges this process has done.
    pub ranges: u64,
    /// How many of them another one had done already.
    pub duplicates: u64,
}

/// The form of the text.
pub const FORM: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Default for Metrics {
    fn default() -> Self {
        let cache_hits = Family::<One, Counter>::default();
        let mut all = Self {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            routes: RwLock::default(),
            requests_in_flight: Gauge::default(),
            connections: Gauge::default(),
            searches: Family::default(),
            streams: Family::default(),
            known_solutions: cache_hits.get_or_create_owned(&[("kind", "solve")]),
            known_counts: cache_hits.get_or_create_owned(&[("kind", "count")]),
            known_try_counts: cache_hits.get_or_create_owned(&[("kind", "count_try")]),
            searches_running: Gauge::default(),
            searches_waiting: Gauge::default(),
            jobs: Family::default(),
            tasks: Family::default(),
            tasks_done: Family::default(),
            storage_usable: Gauge::default(),
        };
        all.register("http_requests", "Requests by matched route, method and status", all.requests.clone());
        let about = "From a request's arrival to the end of its answer";
        all.register("http_request_duration_seconds", about, all.durations.clone());
        all.register("http_requests_in_flight", "Requests that are being answered", all.requests_in_flight.clone());
        all.register("http_connections", "Open connections", all.connections.clone());
        all.register("nqueens_searches", "Searches that ended, by outcome", all.searches.clone());
        all.register("nqueens_searches_running", "Searches that run on the pool", all.searches_running.clone());
        let about = "Searches that wait for a worker, begun or not";
        all.register("nqueens_searches_waiting", about, all.searches_waiting.clone());
        all.register("nqueens_stream_ends", "Streams that ended, by reason", all.streams.clone());
        let about = "Answers that were known before they were asked for, by kind";
        all.register("nqueens_cache_hits", about, cache_hits);
        all.register("nqueens_jobs", "Long counts by state", all.jobs.clone());
        all.register("nqueens_job_tasks", "All tasks of a long count", all.tasks.clone());
        all.register("nqueens_job_tasks_done", "Finished tasks of a long count", all.tasks_done.clone());
        let about = "1 if the data directory can be used or there is none, else 0";
        all.register("nqueens_storage_usable", about, all.storage_usable.clone());
        let build = Family::<One, Gauge>::default();
        build.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
        all.register("nqueens_build_info", "1, with the version as label", build);
        all.registry.register_collector(Box::new(Process));
        all
    }
}

fn durations() -> Histogram {
    Histogram::new([0.000_1, 0.000_5, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

impl Metrics {
    fn register(&mut self, name: &'static str, about: &'static str, metric: impl Metric) {
        self.registry.register(name, about, metric);
    }

    /// All metrics in the Prometheus text format, with how busy the pool is and how the jobs are now.
    #[must_use]
    pub fn render(&self, running: usize, waiting: usize, jobs: &Jobs) -> String {
        self.searches_running.set(running as i64);
        self.searches_waiting.set(waiting as i64);
        for &(state, number) in &jobs.by_state {
            self.jobs.get_or_create(&[("state", state)]).set(number);
        }
        for &(n, done, all) in &jobs.tasks {
            self.tasks_done.get_or_create(&[("n", n)]).set(done as i64);
            self.tasks.get_or_create(&[("n", n)]).set(all as i64);
        }
        self.storage_usable.set(jobs.storage_usable.into());
        let mut text = String::new();
        let _ = encode(&mut text, &self.registry); // writing to memory does not fail
        if let Some(cluster) = &jobs.cluster {
            let _ = encode(&mut text, &registry_of(cluster, &jobs.audited));
        }
        text
    }

    /// Counts a request that has ended. `route` is the matched route's pattern, never a raw path.
    pub fn request_ended(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let route = self.route(route);
        route.durations.observe(took.as_secs_f64());
        let known = |ended: &[(&'static str, u16, Counter)]| {
            let same = ended.iter().find(|(its_method, its_status, _)| (*its_method, *its_status) == (method, status));
            same.map(|(.., counter)| counter.inc()).is_some()
        };
        if !known(&route.ended.read().unwrap_or_else(PoisonError::into_inner)) {
            let labels =
                [("route", route.name.clone()), ("method", method.into()), ("status", status.to_string().into())];
            let counter = self.requests.get_or_create_owned(&labels);
            counter.inc();
            route.ended.write().unwrap_or_else(PoisonError::into_inner).push((method, status, counter));
        }
    }

    fn route(&self, name: &str) -> Arc<Route> {
        let known = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone);
        known.unwrap_or_else(|| {
            let label: Arc<str> = name.into();
            let durations = self.durations.get_or_create_owned(&[("route", label.clone())]);
            let route = Arc::new(Route { name: label, durations, ended: RwLock::default() });
            let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(routes.entry(name.to_owned()).or_insert(route))
        })
    }

    /// A search begins; it counts as one whose caller left unless it is told how else it ended.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        Search { metrics: self, outcome: Outcome::Left }
    }

    /// A stream has ended; the reason is the one that its last line gives.
    pub fn stream_ended(&self, reason: &'static str) {
        self.streams.get_or_create(&[("reason", reason)]).inc();
    }
}

/// What there is only in processes that share jobs, so that others do not have it.
fn registry_of(cluster: &Cluster, audited: &[(u32, u64)]) -> Registry {
    let mut registry = Registry::default();
    let mut gauge = |name, about, value: i64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, about, gauge);
    };
    gauge("nqueens_cluster_usable", "1 if NATS can be used, else 0", cluster.trouble.is_none().into());
    gauge("nqueens_cluster_workers", "Workers that are connected", cluster.workers.into());
    gauge("nqueens_cluster_threads", "Ranges that they compute at a time", cluster.threads.into());
    let left = i64::try_from(cluster.left).unwrap_or(i64::MAX);
    gauge("nqueens_cluster_ranges_left", "Ranges of open jobs that are left to do, about", left);
    gauge("nqueens_cluster_planner", "1 if this process plans the jobs, else 0", cluster.is_planner.into());
    let mut counter = |name, about, value| {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        registry.register(name, about, counter);
    };
    counter("nqueens_cluster_ranges", "Ranges that this process has done", cluster.ranges);
    let about = "Ranges that this process has done after another one";
    counter("nqueens_cluster_duplicates", about, cluster.duplicates);
    let tasks = Family::<[(&'static str, u32); 1], Gauge>::default();
    for &(n, number) in audited {
        tasks.get_or_create(&[("n", n)]).set(number as i64);
    }
    registry.register("nqueens_job_tasks_audited", "Tasks of a shared long count that were computed again", tasks);
    registry
}

/// A search that has begun; counted when this is dropped.
pub struct Search<'a> {
    metrics: &'a Metrics,
    outcome: Outcome,
}

impl Search<'_> {
    /// It has ended so.
    pub fn ended(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        self.metrics.searches.get_or_create(&[("outcome", self.outcome.name())]).inc();
    }
}

/// The process's own use of CPU, memory and descriptors, under the names that Prometheus gives them.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let used = metrics_process::collector::collect();
        if let Some(seconds) = used.cpu_seconds_total {
            let counter = ConstCounter::new(seconds);
            let about = "Processor time, user and system";
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", about, None, MetricType::Counter)?)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory", used.resident_memory_bytes),
            ("process_virtual_memory_bytes", "Virtual memory", used.virtual_memory_bytes),
            ("process_open_fds", "Open file descriptors", used.open_fds),
            ("process_max_fds", "Most file descriptors there may be", used.max_fds),
            ("process_threads", "Threads", used.threads),
            ("process_start_time_seconds", "When the process began, since 1970", used.start_time_seconds),
        ];
        for (name, about, value) in gauges {
            if let Some(value) = value {
                let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
                gauge.encode(encoder.encode_descriptor(name, about, None, MetricType::Gauge)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(metrics: &Metrics) -> String {
        let jobs =
            Jobs { by_state: vec![("done", 2)], tasks: vec![(20, 3, 7)], storage_usable: true, ..Jobs::default() };
        metrics.render(1, 2, &jobs)
    }

    #[test]
    fn everything_is_told_in_the_text_format() {
        let metrics = Metrics::default();
        metrics.request_ended("/solve/{n}", "GET", 200, Duration::from_millis(2));
        metrics.request_ended("/solve/{n}", "GET", 200, Duration::from_millis(2));
        metrics.request_ended("/solve/{n}", "GET", 422, Duration::from_millis(2));
        drop(metrics.search());
        metrics.search().ended(Outcome::TimeLimit);
        metrics.stream_ended("limit");
        metrics.known_solutions.inc();
        let text = text(&metrics);
        for line in [
            "http_requests_total{route=\"/solve/{n}\",method=\"GET\",status=\"200\"} 2",
            "http_requests_total{route=\"/solve/{n}\",method=\"GET\",status=\"422\"} 1",
            "http_request_duration_seconds_bucket{route=\"/solve/{n}\",le=\"0.005\"} 3",
            "# TYPE http_request_duration_seconds histogram",
            "nqueens_searches_total{outcome=\"left\"} 1",
            "nqueens_searches_total{outcome=\"time_limit\"} 1",
            "nqueens_searches_running 1",
            "nqueens_searches_waiting 2",
            "nqueens_stream_ends_total{reason=\"limit\"} 1",
            "nqueens_cache_hits_total{kind=\"solve\"} 1",
            "nqueens_jobs{state=\"done\"} 2",
            "nqueens_job_tasks_done{n=\"20\"} 3",
            "nqueens_job_tasks{n=\"20\"} 7",
            "nqueens_storage_usable 1",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is not in:\n{text}");
        }
        assert!(text.contains("nqueens_build_info{version=\""), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_process_is_measured() {
        let text = text(&Metrics::default());
        for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"] {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            assert!(value.is_some_and(|value| value >= 0.0), "{name} is not in:\n{text}");
        }
    }
}
