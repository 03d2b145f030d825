//! The service as a process of its own, on a free port, and a folder for it.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// The program with these words.
pub fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nqueens"));
    command.args(words).env("RUST_LOG", "info");
    command
}

/// On a free port, which is told in the first line of the log.
pub const QUIET: [&str; 4] = ["--listen", "127.0.0.1:0", "--log", "json"];

/// A folder that is gone at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// Not made yet. The name is that of the test.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nqueens-process-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn text(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running service and the rest of its log.
pub struct Service {
    pub child: Child,
    pub log: BufReader<ChildStderr>,
    pub address: String,
}

impl Service {
    pub fn start(words: &[&str]) -> Self {
        Self::of(&mut program(&[&QUIET, words].concat()))
    }

    /// The program with [`QUIET`] among its words, perhaps started by another that gives its process away.
    pub fn of(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        log.read_line(&mut line).expect("a line");
        let line: Value = serde_json::from_str(&line).expect("a JSON line");
        assert_eq!(line["message"], "listening");
        Self { child, log, address: line["address"].as_str().expect("an address").to_owned() }
    }

    pub fn signal(&self, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().expect("kill");
        assert!(kill.success());
    }

    /// Sends a request on a connection of its own, which is left open.
    pub fn ask(&self, method: &str, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("written");
        stream
    }

    /// The whole answer, with its status line and headers.
    pub fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        self.ask("GET", path).read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// The answer's body, which is JSON.
    pub fn json(&self, method: &str, path: &str) -> Value {
        let mut answer = String::new();
        self.ask(method, path).read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer}"))
    }

    /// The job after each of the next `events` events, with when it came; fewer if it ends.
    pub fn watch(&self, n: u32, events: usize) -> Vec<(Instant, Value)> {
        let lines = BufReader::new(self.ask("GET", &format!("/jobs/{n}/events"))).lines();
        let lines = lines.map(|line| line.expect("a line"));
        let data = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        data.map(|job| (Instant::now(), job)).take(events).collect()
    }

    /// The job once it is as it should be.
    pub fn until(&self, n: u32, what: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let job = self.json("GET", &format!("/jobs/{n}"));
            if what(&job) {
                return job;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "it never was so: {job}");
            std::thread::yield_now();
        }
    }

    /// The exit code, within the given time.
    pub fn exit_code(&mut self, within: Duration) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status.code();
            }
            assert!(begun.elapsed() < within, "still running after {within:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The log from here to its end, as it is written.
    pub fn text_of_log(&mut self) -> String {
        let mut text = String::new();
        self.log.read_to_string(&mut text).expect("text");
        text
    }

    /// The lines of the log from here to its end.
    pub fn rest_of_log(&mut self) -> Vec<Value> {
        let text = self.text_of_log();
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }

    /// Waits for its end: the exit code and the rest of the log.
    pub fn end(mut self) -> (Option<i32>, String) {
        let log = self.text_of_log();
        (self.child.wait().expect("it ends").code(), log)
    }

    /// Asks it to end, and waits for that.
    pub fn terminate(self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.end()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
