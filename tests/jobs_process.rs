//! Long counts through kills, stops and restarts of the process.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nqueens-process-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Service {
    child: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

impl Service {
    fn start(folder: &Path, workers: u64) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nqueens"));
        command.args(["--listen", "127.0.0.1:0", "--log", "json", "--access-log", "off", "--data-dir"]).arg(folder);
        command.args(["--workers", &workers.to_string()]).env("RUST_LOG", "info").stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        log.read_line(&mut line).expect("a line");
        let line: Value = serde_json::from_str(&line).expect("a JSON line");
        Self { child, log, address: line["address"].as_str().expect("an address").to_owned() }
    }

    fn ask(&self, method: &str, path: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("written");
        BufReader::new(stream)
    }

    fn answer(&self, method: &str, path: &str) -> Value {
        let mut answer = String::new();
        self.ask(method, path).read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer}"))
    }

    /// The job after each of the next `events` events, with when it came; fewer if it ends.
    fn watch(&self, n: u32, events: usize) -> Vec<(Instant, Value)> {
        let lines = self.ask("GET", &format!("/jobs/{n}/events")).lines().map(|line| line.expect("a line"));
        let data = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        data.map(|job| (Instant::now(), job)).take(events).collect()
    }

    fn end(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("text");
        (self.child.wait().expect("it ends").code(), log)
    }

    fn terminate(self) -> (Option<i32>, String) {
        let kill = Command::new("kill").args(["-s", "TERM", &self.child.id().to_string()]).status().expect("kill");
        assert!(kill.success());
        self.end()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn done(job: &Value) -> u64 {
    job["tasks_done"].as_u64().expect("a number")
}

#[test]
fn killed_at_random_moments_it_ends_with_the_exact_count() {
    // At NQUEENS_TEST_KILL_N=19 this is the long form of the test.
    let n = std::env::var("NQUEENS_TEST_KILL_N").map_or(18, |n| n.parse().expect("a size"));
    let expected = nqueens::queens::published::table().find(|row| row.n == n).expect("published").all;
    let folder = Folder::new("killed");
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(std::process::id()));
    let mut at_least = 0;
    for _ in 0..5 {
        let mut service = Service::start(&folder.0, 1 + random.next_u64() % 3);
        let found = service.answer("PUT", &format!("/jobs/{n}"));
        assert!(found["state"] == "done" || done(&found) >= at_least, "{found}, not {at_least}");
        let seen = service.watch(n, 2 + random.next_u64() as usize % 7);
        service.child.kill().expect("killed");
        // What was finished more than about a second ago has been written.
        let written = seen.iter().rfind(|(at, _)| at.elapsed() > Duration::from_millis(1800));
        at_least = written.map_or(0, |(_, job)| done(job)).max(done(&found)).max(at_least);
    }
    let service = Service::start(&folder.0, 2);
    let found = service.answer("PUT", &format!("/jobs/{n}"));
    assert!(found["state"] == "done" || done(&found) >= at_least, "{found}, not {at_least}");
    let (_, last) = service.watch(n, usize::MAX).pop().expect("an event");
    assert_eq!((&last["state"], last["count"].as_u64()), (&"done".into(), Some(expected)), "{last}");
    assert_eq!(service.answer("GET", &format!("/count/{n}"))["method"], "search");
    drop(service);
    let (code, log) = {
        let service = Service::start(&folder.0, 2);
        assert_eq!(service.answer("GET", &format!("/count/{n}"))["count"].as_u64(), Some(expected));
        service.terminate()
    };
    assert!(code == Some(0) && !log.contains("set aside"), "{log}");
}

#[test]
fn an_orderly_end_loses_nothing() {
    let folder = Folder::new("ended");
    let service = Service::start(&folder.0, 2);
    service.answer("PUT", "/jobs/20");
    let (_, seen) = service.watch(20, 4).pop().expect("an event");
    let before = service.answer("GET", "/jobs/20");
    let (code, log) = service.terminate();
    assert!(code == Some(0) && !log.contains("ERROR"), "{log}");
    let service = Service::start(&folder.0, 3);
    let after = service.answer("GET", "/jobs/20");
    assert!(done(&seen) > 0 && done(&after) >= done(&before), "{before} {after}");
    assert!(matches!(after["state"].as_str(), Some("queued" | "running")), "{after}");
}

#[test]
fn a_second_process_on_the_same_folder_starts_and_says_so() {
    let folder = Folder::new("held");
    let first = Service::start(&folder.0, 1);
    assert_eq!(first.answer("GET", "/jobs")["jobs"], Value::Array(Vec::new()));
    let second = Service::start(&folder.0, 1);
    assert_eq!(second.answer("PUT", "/jobs/12")["type"], "urn:nqueens:problem:storage-unavailable");
    assert_eq!(second.answer("GET", "/count/8")["count"], 92);
    let (code, log) = second.terminate();
    assert!(code == Some(0) && log.contains("another process holds it open"), "{log}");
    first.answer("PUT", "/jobs/12");
    assert_eq!(first.watch(12, usize::MAX).pop().expect("an event").1["count"], 14200);
}
