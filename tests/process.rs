//! The program as a process: exit codes, signals, the health check, its log.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nqueens"));
    command.args(words).env("RUST_LOG", "info");
    command
}

fn output(words: &[&str]) -> Output {
    program(words).output().expect("it runs")
}

/// A running service and the rest of its log.
struct Service {
    child: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

impl Service {
    /// On a free port, which it tells in its first line.
    fn start(words: &[&str]) -> Self {
        let words = [&["--listen", "127.0.0.1:0", "--log", "json"], words].concat();
        let mut child = program(&words).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        log.read_line(&mut line).expect("a line");
        let line: serde_json::Value = serde_json::from_str(&line).expect("a JSON line");
        assert_eq!(line["message"], "listening");
        Self { child, log, address: line["address"].as_str().expect("an address").to_owned() }
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().expect("kill");
        assert!(kill.success());
    }

    /// Sends a request on a connection of its own, which is left open.
    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("written");
        stream
    }

    fn answer(&self, path: &str) -> String {
        let mut answer = String::new();
        self.ask(path).read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// The exit code, within the given time.
    fn exit_code(&mut self, within: Duration) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status.code();
            }
            assert!(begun.elapsed() < within, "still running after {within:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn rest_of_log(&mut self) -> Vec<serde_json::Value> {
        let mut text = String::new();
        self.log.read_to_string(&mut text).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for words in [["--help"], ["--version"]] {
        let output = output(&words);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains("nqueens"));
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn a_bad_value_is_one_line_and_exit_code_2_by_flag_and_by_environment() {
    let by_flag = output(&["--time-limit", "soon"]);
    let by_environment = program(&[]).env("NQUEENS_TIME_LIMIT", "soon").output().expect("it runs");
    for output in [by_flag, by_environment] {
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("--time-limit") && text.contains("soon"), "{text}");
    }
}

#[test]
fn counting_from_the_command_line() {
    let json = |words: &[&str]| -> serde_json::Value {
        let output = output(words);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty(), "no progress bar where nobody watches");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let expected = serde_json::json!({
        "n": 15, "count": 2_279_184, "count_text": "2279184", "fundamental": 285_053, "fundamental_text": "285053",
        "symmetric": {"half_turn": 1240, "quarter_turn": 0}, "method": "search"
    });
    for words in [&["--threads", "1"][..], &["--threads", "3"], &["--portable"], &[]] {
        assert_eq!(json(&[&["count", "15", "--json"], words].concat()), expected);
    }
    assert_eq!(json(&["count", "1", "--json"])["fundamental"], 1);
    let text = output(&["count", "8"]).stdout;
    assert!(String::from_utf8_lossy(&text).starts_with("n = 8\nsolutions     92\nfundamental   12\n"));
    for n in ["0", "28", "x", "-1"] {
        let output = output(&["count", n]);
        assert_eq!((output.status.code(), output.stderr.iter().filter(|&&byte| byte == b'\n').count()), (Some(2), 1));
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("the device");
    for words in [&["count", "8"][..], &["openapi"], &["--help"]] {
        let output = program(words).stdout(full()).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
        assert!(text.starts_with("cannot write: "), "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_without_colours_where_nobody_watches() {
    let output = output(&["count", "8", "--data-dir", "/dev/null"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("data directory") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_count_that_was_interrupted_goes_on_from_its_folder() {
    let folder = std::env::temp_dir().join(format!("nqueens-count-{}", std::process::id()));
    let folder_text = folder.to_str().expect("text");
    let words = ["count", "17", "--json", "--threads", "1", "--data-dir", folder_text];
    // Ended by a signal as soon as there is a ledger, and by the hardest one a little later.
    for (signal, work) in [("INT", Duration::ZERO), ("KILL", Duration::from_millis(300))] {
        let child = program(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        while !folder.join("nqueens.redb").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(work);
        let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().expect("kill");
        let ended = child.wait_with_output().expect("it ends");
        if killed.success() && signal == "INT" {
            assert_eq!(ended.status.code(), Some(1));
            assert!(String::from_utf8_lossy(&ended.stderr).contains("goes on from here"));
        }
    }
    for words in [&words[..], &["count", "17", "--json", "--data-dir", folder_text]] {
        let counted: serde_json::Value = serde_json::from_slice(&output(words).stdout).expect("JSON");
        assert_eq!((&counted["count"], &counted["fundamental"]), (&95_815_104.into(), &11_977_939.into()));
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn an_address_in_use_is_one_line_and_exit_code_1() {
    let service = Service::start(&[]);
    let output = output(&["--listen", &service.address]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.lines().count() == 1 && text.contains(&service.address), "{text}");
}

#[test]
fn the_environment_sets_what_no_flag_does() {
    let output = program(&["healthcheck"]).env("NQUEENS_LISTEN", "127.0.0.1:9").output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("127.0.0.1:9"));
}

#[test]
fn the_health_check_tells_by_its_exit_code() {
    let mut service = Service::start(&[]);
    let check = |address: &str| output(&["healthcheck", "--listen", address]).status.code();
    assert_eq!(check(&service.address), Some(0));
    let port = service.address.rsplit(':').next().expect("a port").to_owned();
    assert_eq!(check(&format!("0.0.0.0:{port}")), Some(0));
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
    assert_eq!(check(&service.address), Some(1));
}

#[test]
fn either_signal_ends_a_heavy_count_in_order() {
    for signal in ["TERM", "INT"] {
        let mut service = Service::start(&["--max-count", "27"]);
        let mut heavy = service.ask("/count/27");
        while service.answer("/metrics").contains("nqueens_searches_running 0") {}
        service.signal(signal);
        assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
        let mut answer = String::new();
        heavy.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("urn:nqueens:problem:shutting-down"), "{answer}");
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let mut service = Service::start(&["--drain", "1m"]);
    // A reader that does not read keeps the drain waiting.
    let mut slow = service.ask("/solve/1000000");
    let mut byte = [0];
    slow.read_exact(&mut byte).expect("it begins");
    service.signal("TERM");
    while !service.answer("/readyz").starts_with("HTTP/1.1 503") {}
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(1)), Some(128 + 15));
}

#[test]
fn one_access_line_a_request_however_it_ends() {
    let mut service = Service::start(&["--max-count", "27"]);
    assert!(service.answer("/solve/8?method=try").starts_with("HTTP/1.1 200"));
    assert!(service.answer("/solve/%0a").starts_with("HTTP/1.1 400"));
    let heavy = service.ask("/count/27");
    while service.answer("/metrics").contains("nqueens_searches_running 0") {}
    drop(heavy);
    while !service.answer("/metrics").contains("nqueens_searches_running 0") {}
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
    let log = service.rest_of_log();
    let lines =
        |path: &str| log.iter().filter(|line| line["target"] == "access" && line["path"] == path).collect::<Vec<_>>();
    for (path, status) in [("/solve/8?method=try", 200), ("/solve/%0a", 400), ("/count/27", 499)] {
        let lines = lines(path);
        assert_eq!(lines.len(), 1, "{path}");
        assert_eq!(lines[0]["status"], status);
        assert_eq!(lines[0]["method"], "GET");
        assert!(lines[0]["ms"].is_f64() && lines[0]["request_id"].is_string());
    }
    assert!(log.iter().all(|line| line["level"] == "INFO"), "{log:?}");
}

#[test]
fn access_lines_can_be_turned_off() {
    let mut service = Service::start(&["--access-log", "off"]);
    assert!(service.answer("/solve/8").starts_with("HTTP/1.1 200"));
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
    assert!(service.rest_of_log().iter().all(|line| line["target"] != "access"));
}
