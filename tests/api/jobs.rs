//! Long counts.

use crate::client::{Answer, Service, config};
use http_body_util::BodyExt as _;
use hyper::Method;
use nqueens::config::Config;
use nqueens::queens::Size;
use nqueens::queens::count::Plan;
use nqueens::runs::State;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

impl Service {
    async fn put(&self, n: u32) -> Answer {
        self.send(Method::PUT, &format!("/jobs/{n}"), &[], "").await
    }

    async fn cancel(&self, n: u32) -> Answer {
        self.send(Method::DELETE, &format!("/jobs/{n}"), &[], "").await
    }

    /// The job once it is final.
    async fn job(&self, n: u32) -> Value {
        let answer = self.get(&format!("/jobs/{n}?wait=60")).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.json()
    }

    /// Every event of a job, until the stream ends.
    async fn events(&self, n: u32) -> Vec<(String, Value)> {
        let answer = self.get(&format!("/jobs/{n}/events")).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!((answer.header("x-accel-buffering"), answer.header("content-encoding")), (Some("no"), None));
        let text = answer.text();
        let events = text.split_terminator("\n\n").filter(|event| !event.starts_with(':'));
        let parts = events.map(|event| event.strip_prefix("id: ").and_then(|event| event.split_once("\ndata: ")));
        let parts = parts.map(|parts| parts.expect("an id and data"));
        parts.map(|(id, data)| (id.to_owned(), serde_json::from_str(data).expect("JSON"))).collect()
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("nqueens-api-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[tokio::test]
async fn from_put_to_done_and_on_to_count() {
    let service = Service::start(Config { max_count: 8, ..config() }).await;
    service.get("/jobs/16").await.is_problem(404, "no-such-job");
    assert_eq!(service.get("/count/16").await.is_problem(422, "size-out-of-range")["job"], "../jobs/16");
    assert!(service.get("/count/23").await.is_problem(422, "size-out-of-range").get("job").is_none());
    let accepted = service.put(16).await;
    assert_eq!((accepted.status.as_u16(), accepted.header("location")), (202, Some("../jobs/16")));
    let text = accepted.text();
    let total = Plan::new(Size::new(16).expect("a size")).expect("a plan").all_tasks();
    assert!(text.starts_with(r#"{"n":16,"state":""#), "{text}");
    assert!(text.contains(&format!(r#","tasks_total":{total},"progress":0."#)), "{text}");
    let rest = r#""count":null,"count_text":null,"fundamental":null,"fundamental_text":null,"symmetric":null}"#;
    assert!(text.contains(r#""durable":false,"reason":null,"started_at":"#) && text.ends_with(rest), "{text}");
    let events = service.events(16).await;
    let mut last = 0.0;
    for (id, job) in &events {
        let progress = job["progress"].as_f64().expect("a number");
        assert!(progress >= last && (progress < 1.0 || job["state"] == "done"));
        assert!(job["eta_seconds"].is_null() || job["eta_seconds"].as_u64().is_some_and(|seconds| seconds < 60));
        assert_eq!(id == "done", job["state"] == "done");
        last = progress;
    }
    let done = events.last().expect("an event").1.clone();
    assert_eq!(
        done,
        json!({
            "n": 16, "state": "done", "tasks_done": total, "tasks_total": total, "progress": 1.0, "eta_seconds": null,
            "durable": false, "reason": null, "started_at": done["started_at"], "finished_at": done["finished_at"],
            "cpu_seconds": done["cpu_seconds"], "plan": Plan::VERSION, "audited": 0, "count": 14_772_512, "count_text": "14772512",
            "fundamental": 1_846_955, "fundamental_text": "1846955",
            "symmetric": {"half_turn": 3000, "quarter_turn": 64}
        })
    );
    let times = ["started_at", "finished_at"].map(|time| done[time].as_str().expect("a time").to_owned());
    assert!(times[0] <= times[1] && times.iter().all(|time| time.len() == 20 && time.ends_with('Z')), "{times:?}");
    assert!(done["cpu_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0 && seconds < 60.0));
    assert_eq!(service.job(16).await, done);
    let again = service.put(16).await;
    assert_eq!((again.status.as_u16(), again.json()), (200, done));
    let count = service.get("/count/16").await;
    assert_eq!((count.status.as_u16(), &count.json()["method"]), (200, &json!("search")));
    let problem = service.cancel(16).await.is_problem(409, "job-is-final");
    assert_eq!((&problem["n"], &problem["state"]), (&json!(16), &json!("done")));
}

#[tokio::test]
async fn a_count_that_a_request_finished_is_a_done_job() {
    let service = Service::default().await;
    assert_eq!(service.get("/jobs").await.json(), json!({"jobs": []}));
    assert_eq!(service.get("/count/8").await.status, 200);
    let job = service.job(8).await;
    assert_eq!((&job["state"], &job["count"], &job["progress"]), (&json!("done"), &json!(92), &json!(1.0)));
    assert_eq!(service.events(8).await.len(), 1);
    service.cancel(8).await.is_problem(409, "job-is-final");
    assert_eq!(service.put(8).await.status, 200);
    assert_eq!(service.get("/jobs").await.json()["jobs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn cancelled_at_once_idle_soon_and_resumed() {
    let service = Service::start(Config { max_job: 27, ..config() }).await;
    assert_eq!(service.put(20).await.status, 202);
    // Some tasks are finished when the second event comes.
    let mut events = service.open(Method::GET, "/jobs/20/events", &[], "").await.into_body();
    let mut text = String::new();
    while text.matches("data:").count() < 4 {
        let frame = events.frame().await.expect("goes on").expect("whole");
        text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
    }
    let cancelled = service.cancel(20).await;
    assert_eq!((cancelled.status.as_u16(), &cancelled.json()["state"]), (200, &json!("cancelled")));
    let begun = Instant::now();
    service.idle().await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    let job = service.job(20).await;
    assert_eq!(job["state"], "cancelled");
    assert!(job["reason"].as_str().is_some_and(|reason| reason.contains("PUT")) && job["eta_seconds"].is_null());
    assert!(job["tasks_done"].as_u64() >= Some(3));
    assert_eq!(service.cancel(20).await.status, 200);
    // The final event has been the stream's last, and a client that has seen it is told so.
    let rest = events.collect().await.expect("it ends").to_bytes();
    assert!(String::from_utf8_lossy(&rest).contains("id: cancelled"));
    let seen = [("last-event-id", "cancelled")];
    assert_eq!(service.get_with("/jobs/20/events", &seen).await.status, 204);
    let resumed = service.put(20).await;
    assert_eq!(resumed.status, 202);
    assert!(resumed.json()["tasks_done"].as_u64() >= job["tasks_done"].as_u64());
    assert_eq!(service.open(Method::GET, "/jobs/20/events", &seen, "").await.status(), 200);
    service.cancel(20).await;
}

#[tokio::test]
async fn questions_are_answered_while_a_job_runs() {
    let service = Service::start(Config { max_job: 27, workers: Some(1), ..config() }).await;
    assert_eq!(service.put(25).await.status, 202);
    for n in 10..13 {
        assert_eq!(service.get(&format!("/count/{n}")).await.status, 200);
        assert_eq!(
            service.send(Method::POST, "/verify", &[("content-type", "application/json")], r#"{"b":[1]}"#).await.status,
            200
        );
    }
    assert_eq!(service.job(25).await["state"], "running");
    service.cancel(25).await;
}

#[tokio::test]
async fn count_has_its_turn_though_a_job_of_the_same_size_waits_for_requests() {
    let config = Config { workers: Some(1), time_limit: Duration::from_secs(20), ..config() };
    let service = Service::start(config).await;
    // There is always a request that waits, so no task of a job ever runs.
    let busy = |first: u64| {
        let service = &service;
        async move {
            for seed in first.. {
                assert_eq!(service.get(&format!("/estimate/30?probes=20000&seed={seed}")).await.status, 200);
            }
        }
    };
    let asked = async {
        while service.metric("nqueens_searches_waiting").await < 2.0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.put(12).await.status, 202);
        service.get("/count/12").await
    };
    tokio::select! {
        answer = asked => assert_eq!(answer.json()["count"], 14_200),
        _ = async { tokio::join!(busy(0), busy(1_000_000), busy(2_000_000), busy(3_000_000)) } => {}
    }
}

#[tokio::test]
async fn a_request_and_a_job_wait_for_one_run_whoever_came_first() {
    let service = Service::start(Config { time_limit: Duration::from_secs(60), ..config() }).await;
    let (counted, job) = tokio::join!(service.get("/count/17"), async {
        while service.metric("nqueens_searches_running").await == 0.0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.put(17).await.status, 202);
        service.job(17).await
    });
    assert_eq!((counted.json()["count"].as_u64(), job["count"].as_u64()), (Some(95_815_104), Some(95_815_104)));
    let other = Service::start(Config { time_limit: Duration::from_secs(60), ..config() }).await;
    assert_eq!(other.put(17).await.status, 202);
    assert_eq!(other.get("/count/17").await.json()["count"], 95_815_104);
    assert_eq!(other.job(17).await["state"], "done");
}

#[tokio::test]
async fn above_the_cap_count_joins_a_job_that_ends_in_time() {
    let service = Service::start(Config { max_count: 8, time_limit: Duration::from_secs(60), ..config() }).await;
    service.get("/count/17").await.is_problem(422, "size-out-of-range");
    assert_eq!(service.put(17).await.status, 202);
    let answer = loop {
        let answer = service.get("/count/17").await;
        let job = service.get("/jobs/17").await.json();
        if answer.status == 200 {
            break answer;
        }
        // Nothing was known of it, then.
        assert_eq!(answer.status, 422);
        assert_ne!(job["state"], "done", "it has never been joined");
        tokio::task::yield_now().await;
    };
    assert_eq!(answer.json()["count"], 95_815_104);
}

#[tokio::test]
async fn several_jobs_share_and_a_wait_ends_in_time() {
    let service = Service::start(Config { max_job: 27, ..config() }).await;
    for n in [22, 16, 15] {
        assert_eq!(service.put(n).await.status, 202);
    }
    assert_eq!(service.job(15).await["count"], 2_279_184);
    assert_eq!(service.job(16).await["count"], 14_772_512);
    let begun = Instant::now();
    let waited = service.get("/jobs/22?wait=1").await;
    assert_eq!(waited.json()["state"], "running");
    assert!(begun.elapsed() >= Duration::from_secs(1) && begun.elapsed() < Duration::from_secs(3));
    let states: Vec<_> = service.get("/jobs").await.json()["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| (job["n"].as_u64(), job["state"].as_str().map(str::to_owned)))
        .collect();
    let name = |state: State| Some(state.name().to_owned());
    assert_eq!(
        states,
        [(Some(15), name(State::Done)), (Some(16), name(State::Done)), (Some(22), name(State::Running))]
    );
    service.cancel(22).await;
}

#[tokio::test]
async fn a_token_guards_what_changes() {
    let service = Service::start(Config { api_token: Some("s3cret".into()), ..config() }).await;
    let wrong = [("authorization", "Bearer s3cres")];
    for (method, headers) in
        [(Method::PUT, &[][..]), (Method::PUT, &wrong), (Method::DELETE, &[("authorization", "s3cret")])]
    {
        let answer = service.send(method, "/jobs/9", headers, "").await;
        answer.is_problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    let right = [("authorization", "bearer s3cret")];
    assert_eq!(service.send(Method::PUT, "/jobs/9", &right, "").await.status, 202);
    assert_eq!(service.job(9).await["count"], 352);
    service.send(Method::DELETE, "/jobs/9", &right, "").await.is_problem(409, "job-is-final");
}

#[tokio::test]
async fn a_token_may_have_any_letters() {
    let service = Service::start(Config { api_token: Some("pässword ♛".into()), ..config() }).await;
    let right = [("authorization", "Bearer pässword ♛")];
    assert_eq!(service.send(Method::PUT, "/jobs/9", &right, "").await.status, 202);
    service.send(Method::PUT, "/jobs/9", &[("authorization", "Bearer♛")], "").await.is_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_job_above_the_cap_is_looked_at_but_not_worked_on_until_the_cap_is_raised() {
    let folder = folder("above");
    let start = |max_job| Service::start(Config { data_dir: Some(folder.clone()), max_job, ..config() });
    let service = start(22).await;
    assert_eq!(service.put(10).await.status, 202);
    assert_eq!(service.job(10).await["count"], 724);
    assert_eq!(service.put(20).await.status, 202);
    while service.get("/jobs/20").await.json()["tasks_done"].as_u64() < Some(3) {
        tokio::task::yield_now().await;
    }
    service.shut_down();
    service.ended().await;
    let service = start(8).await;
    assert_eq!(service.get("/jobs").await.json()["jobs"][0]["n"], 10);
    assert_eq!(service.job(10).await["count"], 724);
    assert_eq!(service.events(10).await.len(), 1);
    let waiting = service.get("/jobs/20").await.json();
    assert_eq!((&waiting["state"], &waiting["durable"]), (&json!("queued"), &json!(true)), "{waiting}");
    assert!(waiting["reason"].as_str().is_some_and(|reason| reason.contains("above the largest n")), "{waiting}");
    for path in ["/jobs/9", "/jobs/9/events", "/jobs/29"] {
        assert_eq!(service.get(path).await.is_problem(422, "size-out-of-range")["max"], 8);
    }
    service.put(10).await.is_problem(422, "size-out-of-range");
    // A whole count of another size goes by, and not a task of it has been done.
    assert_eq!(service.get("/count/14").await.status, 200);
    assert_eq!(service.get("/jobs/20").await.json(), waiting);
    service.shut_down();
    service.ended().await;
    let service = start(20).await;
    while service.get("/jobs/20").await.json()["tasks_done"].as_u64() <= waiting["tasks_done"].as_u64() {
        tokio::task::yield_now().await;
    }
    assert_eq!(service.cancel(20).await.status, 200);
    service.shut_down();
    service.ended().await;
    let service = start(8).await;
    service.cancel(10).await.is_problem(409, "job-is-final");
    assert_eq!(service.cancel(20).await.json()["state"], "cancelled");
    service.cancel(9).await.is_problem(422, "size-out-of-range");
    service.shut_down();
    service.ended().await;
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn a_count_that_a_request_finished_is_kept_with_how_it_came_about() {
    let folder = folder("kept");
    let start = || Service::start(Config { data_dir: Some(folder.clone()), ..config() });
    let service = start().await;
    assert_eq!(service.get("/count/14").await.status, 200);
    let before = loop {
        let job = service.job(14).await;
        if job["durable"] == true {
            break job;
        }
        tokio::task::yield_now().await;
    };
    assert!(before["finished_at"].is_string() && before["cpu_seconds"].as_f64() > Some(0.0), "{before}");
    service.shut_down();
    service.ended().await;
    let service = start().await;
    assert_eq!(service.get("/jobs/14").await.json(), before);
    service.shut_down();
    service.ended().await;
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn what_is_refused() {
    let service = Service::default().await;
    for (path, status, name) in [
        ("/jobs/23", 422, "size-out-of-range"),
        ("/jobs/0", 422, "size-out-of-range"),
        ("/jobs/abc", 400, "invalid-parameter"),
        ("/jobs/8?x=1", 400, "unknown-parameter"),
        ("/jobs/8?wait=0", 422, "value-out-of-range"),
        ("/jobs/8?wait=61", 422, "value-out-of-range"),
        ("/jobs/8?wait=soon", 400, "invalid-parameter"),
        ("/jobs/8", 404, "no-such-job"),
        ("/jobs/8/events", 404, "no-such-job"),
        ("/jobs/23/events", 422, "size-out-of-range"),
        ("/jobs?x=1", 400, "unknown-parameter"),
    ] {
        service.get(path).await.is_problem(status, name);
    }
    service.cancel(8).await.is_problem(404, "no-such-job");
    let no_json = [("accept", "application/json;q=0")];
    let problem = service.get_with("/jobs/8", &no_json).await.is_problem(406, "not-acceptable");
    assert!(!problem["detail"].to_string().contains("format="), "there is no such parameter here");
    service.send(Method::PUT, "/jobs/8", &no_json, "").await.is_problem(406, "not-acceptable");
    service.send(Method::PUT, "/jobs/8", &[], "{}").await.is_problem(400, "unexpected-body");
    let answer = service.send(Method::POST, "/jobs/8", &[], "").await;
    answer.is_problem(405, "method-not-allowed");
    assert_eq!(answer.header("allow"), Some("GET,HEAD,PUT,DELETE"));
    let head = service.send(Method::HEAD, "/jobs", &[], "").await;
    assert_eq!((head.status.as_u16(), head.header("cache-control")), (200, Some("no-store")));
    assert_eq!(service.send(Method::HEAD, "/jobs/8", &[], "").await.status, 404);
}

#[tokio::test]
async fn it_goes_on_after_a_restart_and_done_stays_done() {
    let data_dir = folder("restart");
    let start = |workers| {
        let config = Config { data_dir: Some(data_dir.clone()), max_job: 27, workers: Some(workers), ..config() };
        Service::start(config)
    };
    let service = start(2).await;
    service.put(20).await;
    service.put(9).await;
    assert_eq!(service.job(9).await["durable"], true);
    while service.get("/jobs/20").await.json()["tasks_done"].as_u64() < Some(5) {
        tokio::task::yield_now().await;
    }
    let watched = service.open(Method::GET, "/jobs/20/events", &[], "").await;
    let before = service.get("/jobs/20").await.json();
    service.shut_down();
    watched.into_body().collect().await.expect("the events end");
    service.ended().await;
    let service = start(1).await;
    let after = service.get("/jobs/20").await.json();
    assert!(matches!(after["state"].as_str(), Some("queued" | "running")), "{after}");
    assert!(after["tasks_done"].as_u64() >= before["tasks_done"].as_u64(), "{before} {after}");
    assert_eq!(service.job(9).await["count"], 352);
    assert_eq!(service.get("/count/9").await.json()["method"], "search");
    service.cancel(20).await;
    service.shut_down();
    service.ended().await;
    let service = start(2).await;
    assert_eq!(service.get("/jobs/20").await.json()["state"], "cancelled");
    service.shut_down();
    service.ended().await;
    std::fs::remove_dir_all(data_dir).expect("removed");
}

#[tokio::test]
async fn a_data_directory_that_is_in_use_is_told_on_every_route() {
    let data_dir = folder("in-use");
    let config = Config { data_dir: Some(data_dir.clone()), ..config() };
    let first = Service::start(config.clone()).await;
    assert_eq!(first.get("/jobs").await.status, 200);
    let second = Service::start(config).await;
    for path in ["/jobs", "/jobs/8", "/jobs/8/events"] {
        let answer = second.get(path).await;
        let problem = answer.is_problem(503, "storage-unavailable");
        let again = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
        assert!(again.is_some_and(|seconds: u64| (1..=15).contains(&seconds)));
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("another process holds it open")));
    }
    second.put(8).await.is_problem(503, "storage-unavailable");
    second.cancel(8).await.is_problem(503, "storage-unavailable");
    assert_eq!(second.get("/count/8").await.status, 200);
    assert!(matches!(first.put(8).await.status.as_u16(), 200 | 202));
    assert_eq!(first.put(20).await.status, 202);
    first.shut_down();
    first.ended().await;
    // The other one takes it over by itself, and goes on.
    while second.get("/jobs/20").await.json()["tasks_done"].as_u64() < Some(3) {
        tokio::task::yield_now().await;
    }
    assert_eq!(second.get("/jobs/8").await.json()["durable"], true);
    second.shut_down();
    second.ended().await;
    std::fs::remove_dir_all(data_dir).expect("removed");
}
