//! Fronts and workers.

use crate::nats::Nats;
use crate::service::{QUIET, Service, program};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Short ranges, and soon given to others.
const KNOBS: [&str; 4] = ["--range", "100ms", "--redelivery", "2s"];

pub fn front(nats: &Nats, words: &[&str]) -> Service {
    front_by(&nats.url(), &[&KNOBS[..], words].concat())
}

/// Without short ranges, unless asked for.
pub fn front_by(url: &str, words: &[&str]) -> Service {
    Service::start(&[&["--nats-url", url], words].concat())
}

pub fn worker(nats: &Nats) -> Service {
    worker_by(&nats.url(), &[])
}

/// With variables.
pub fn worker_by(url: &str, variables: &[(&str, &str)]) -> Service {
    let words = [&["worker", "--nats-url", url, "--threads", "1"], &QUIET[..]].concat();
    Service::of(program(&words).envs(variables.iter().copied()))
}

/// Waits until something is so.
pub fn until<T>(what: &str, mut so: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(so) = so() {
            return so;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks for a job as soon as that can be.
pub fn put(front: &Service, n: u32) -> Value {
    until("the job is taken", || Some(front.json("PUT", &format!("/jobs/{n}"))).filter(|job| !job["state"].is_null()))
}

/// The job once it is as it should be; until NATS can be used there is none.
pub fn job(front: &Service, n: u32, so: impl Fn(&Value) -> bool) -> Value {
    let last = std::cell::RefCell::new(Value::Null);
    until("the job is so", || {
        let job = front.json("GET", &format!("/jobs/{n}"));
        last.replace(job.clone());
        so(&job).then_some(job)
    })
}

pub fn done(front: &Service, n: u32) -> Value {
    let job = job(front, n, |job| matches!(job["state"].as_str(), Some("done" | "failed")));
    assert_eq!(job["state"], "done", "{job}");
    job
}

/// A number in the metrics.
pub fn metric(service: &Service, name: &str) -> Option<u64> {
    let text = service.get("/metrics");
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// How many ranges a worker has done, and how many of them after another one.
pub fn ranges(worker: &Service) -> (u64, u64) {
    let number = |name| metric(worker, name).unwrap_or_default();
    (number("nqueens_cluster_ranges_total"), number("nqueens_cluster_duplicates_total"))
}

pub const COUNTS: [(u32, u64); 5] =
    [(16, 14_772_512), (17, 95_815_104), (18, 666_090_624), (19, 4_968_057_848), (20, 39_029_188_884)];

pub fn count(n: u32) -> u64 {
    COUNTS.iter().find(|(of, _)| *of == n).expect("a count").1
}
