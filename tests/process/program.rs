//! Exit codes, signals, the health check, the log.

use crate::service::{Folder, QUIET, Service, program};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn output(words: &[&str]) -> Output {
    program(words).output().expect("it runs")
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
        let text = complaint(&output, 2);
        assert!(text.contains("--time-limit") && text.contains("soon"), "{text}");
    }
}

/// The one line on standard error of a program that ended with this code.
fn complaint(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), text.lines().count()), (Some(code), 1), "{text}");
    text
}

/// All variables of the program, as its help tells them.
fn variables() -> Vec<String> {
    let help = output(&["--help"]).stdout;
    let help = String::from_utf8_lossy(&help).into_owned();
    let names: Vec<_> =
        help.split("[env: ").skip(1).filter_map(|rest| rest.split('=').next()).map(str::to_owned).collect();
    assert!(names.len() > 10 && names.iter().all(|name| name.starts_with("NQUEENS_")), "{names:?}");
    names
}

#[test]
fn a_variable_that_is_set_but_empty_counts_as_unset() {
    let empty = || variables().into_iter().chain(["RUST_LOG".to_owned()]).map(|name| (name, ""));
    let service = Service::of(program(&QUIET).envs(empty())); // which reads its first line, so that is there
    assert!(service.get("/jobs").starts_with("HTTP/1.1 200"));
    let by_subcommand = Service::of(program(&[&["serve"], &QUIET[..]].concat()).envs(empty()));
    assert!(by_subcommand.get("/healthz").starts_with("HTTP/1.1 200"));
    for words in [&["count", "8"][..], &["healthcheck", "--listen", &service.address], &["openapi"]] {
        let output = program(words).envs(empty()).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_variable_that_cannot_be_read_is_named_in_one_line() {
    let no_text = OsStr::from_bytes(b"in\xfffo");
    for (name, value) in [
        ("NQUEENS_LISTEN", OsStr::new("nowhere")),
        ("NQUEENS_WORKERS", OsStr::new("two")),
        ("NQUEENS_WORKERS", no_text),
        ("NQUEENS_TIME_LIMIT", OsStr::new(" ")),
        ("NQUEENS_MAX_COUNT", OsStr::new("99")),
        ("NQUEENS_LOG", OsStr::new("xml")),
        ("NQUEENS_ACCESS_LOG", no_text),
        ("NQUEENS_API_TOKEN", OsStr::new("begin\nend")),
        ("NQUEENS_CORS_ORIGIN", OsStr::new("https://a.org https://b.org")),
        ("NQUEENS_CORS_ORIGIN", OsStr::new("https://a.org, https://b.org/x")),
        ("RUST_LOG", OsStr::new("nonsense!!")),
        ("RUST_LOG", OsStr::new("foo=bar=baz")),
        ("RUST_LOG", OsStr::new("warning")),
        ("RUST_LOG", no_text),
    ] {
        for words in [&["--workers=1"][..], &["serve"]] {
            let words = if name == "NQUEENS_WORKERS" { &["serve"] } else { words };
            let output = program(words).env(name, value).output().expect("it runs");
            let text = complaint(&output, 2);
            assert!(text.contains(name) && !text.contains("begin") && !text.contains("panicked"), "{text}");
        }
    }
    // A flag wins, and what is wrong with it is not the variable's fault.
    let wrong = program(&["--workers", "no"]).env("NQUEENS_WORKERS", "2").output().expect("it runs");
    assert!(!complaint(&wrong, 2).contains("NQUEENS_WORKERS"));
    drop(Service::of(program(&[&QUIET, &["--workers=2"][..]].concat()).env("NQUEENS_WORKERS", no_text)));
}

#[test]
fn a_subcommand_does_not_look_at_the_services_variables() {
    let folder = Folder::new("beside");
    let service = Service::start(&["--data-dir", folder.text()]);
    let broken = [("NQUEENS_DATA_DIR", folder.text()), ("NQUEENS_WORKERS", "many"), ("RUST_LOG", "nonsense!!")];
    for words in
        [&["count", "8"][..], &["openapi"], &["healthcheck", "--listen", &service.address], &["help"], &["--version"]]
    {
        let output = program(words).envs(broken).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let held = output(&["count", "8", "--data-dir", folder.text()]);
    let said = String::from_utf8_lossy(&held.stderr).into_owned();
    assert_eq!(held.status.code(), Some(1), "{said}");
    assert!(said.lines().last().is_some_and(|line| line.contains("data directory")), "{said}");
}

#[test]
fn a_list_of_origins_may_have_spaces_and_commas_too_many() {
    let service = Service::of(program(&QUIET).env("NQUEENS_CORS_ORIGIN", " https://a.test , https://B.test:443,"));
    for origin in ["https://a.test", "https://b.test"] {
        let mut stream = TcpStream::connect(&service.address).expect("a connection");
        write!(stream, "GET /healthz HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\nconnection: close\r\n\r\n")
            .expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}\r\n")), "{answer}");
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
    for all in ["0.0.0.0", "[::ffff:0.0.0.0]"] {
        let address = format!("{all}:{port}");
        assert_eq!(check(&address), Some(0));
        let by_variable = program(&["healthcheck"]).env("NQUEENS_LISTEN", address).output().expect("it runs");
        assert_eq!(by_variable.status.code(), Some(0));
    }
    let any_port = program(&["healthcheck"]).env("NQUEENS_LISTEN", "127.0.0.1:0").output().expect("it runs");
    let line = complaint(&any_port, 2);
    assert!(line.contains("port 0") && line.contains("NQUEENS_LISTEN"), "{line}");
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
    assert_eq!(check(&service.address), Some(1));
}

#[test]
fn either_signal_ends_a_heavy_count_in_order() {
    for signal in ["TERM", "INT"] {
        let mut service = Service::start(&["--max-count", "27"]);
        let mut heavy = service.ask("GET", "/count/27");
        while service.get("/metrics").contains("nqueens_searches_running 0") {}
        service.signal(signal);
        assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
        let mut answer = String::new();
        heavy.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("urn:nqueens:problem:shutting-down"), "{answer}");
    }
}

/// The program started by `starter`, which gives its process away.
fn started_by(starter: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(env!("CARGO_BIN_EXE_nqueens")).args(words).env("RUST_LOG", "info");
    command
}

#[test]
fn a_hang_up_is_an_orderly_end_unless_it_was_ignored_at_the_start() {
    // However the tests themselves were started.
    let mut service = Service::of(&mut started_by(&["env", "--default-signal=HUP"], &QUIET));
    service.signal("HUP");
    assert_eq!(service.exit_code(Duration::from_secs(10)), Some(0));
    assert!(service.rest_of_log().iter().any(|line| line["message"] == "shutting down"));

    for starter in [&["nohup"][..], &["env", "--ignore-signal=HUP"]] {
        let mut service = Service::of(&mut started_by(starter, &QUIET));
        service.signal("HUP");
        assert!(service.get("/readyz").starts_with("HTTP/1.1 200"));
        service.signal("TERM");
        assert_eq!(service.exit_code(Duration::from_secs(10)), Some(0));
    }
}

#[test]
fn a_count_that_its_terminal_leaves_says_so() {
    let words = ["count", "20", "--data-dir"];
    let folder = Folder::new("hang-up");
    let mut command = started_by(&["env", "--default-signal=HUP"], &[&words[..], &[folder.text()]].concat());
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    while !folder.path().join("nqueens.redb").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let hung_up = Command::new("kill").args(["-s", "HUP", &child.id().to_string()]).status().expect("kill");
    assert!(hung_up.success());
    assert!(complaint(&child.wait_with_output().expect("it ends"), 1).contains("goes on from here"));
}

/// A limit on the sizes of files, in blocks of 512 bytes or of a KB.
const SMALL_FILES: &[&str] = &["sh", "-c", "ulimit -f 4; exec \"$0\" \"$@\""];

#[test]
fn a_limit_on_the_sizes_of_files_makes_a_folder_unusable_and_no_more() {
    let folder = Folder::new("file-limit");
    let data = ["--data-dir", folder.text()];
    let mut service = Service::of(&mut started_by(SMALL_FILES, &[&QUIET, &data[..]].concat()));
    assert!(service.get("/solve/8").starts_with("HTTP/1.1 200"));
    assert!(service.get("/jobs").starts_with("HTTP/1.1 503"));
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(10)), Some(0));

    let counted = started_by(SMALL_FILES, &[&["count", "8"], &data[..]].concat()).output().expect("it runs");
    let text = String::from_utf8_lossy(&counted.stderr);
    assert!(counted.status.code() == Some(1) && text.contains("data directory"), "{text}");
}

#[test]
fn a_log_that_may_not_grow_ends_nothing() {
    let folder = Folder::new("full-log");
    std::fs::create_dir_all(folder.path()).expect("a folder");
    let log = folder.path().join("log");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let address = format!("127.0.0.1:{port}");
    let mut command = started_by(SMALL_FILES, &["--listen", &address, "--log", "json"]);
    let mut child = command.stderr(std::fs::File::create(&log).expect("made")).spawn().expect("it starts");
    let healthy = || output(&["healthcheck", "--listen", &address]).status.success();
    while !healthy() {
        assert!(child.try_wait().expect("it can be waited for").is_none(), "it has ended");
    }
    let length = || std::fs::metadata(&log).expect("a file").len();
    let mut before = length();
    // Lines of some hundred bytes: so many do not fit.
    for _ in 0..40 {
        assert!(healthy());
        before = length();
    }
    assert!((1024..=4096).contains(&before), "{before}");
    assert!(child.try_wait().expect("it can be waited for").is_none(), "it has ended");
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

/// So many KB of memory a process has.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

#[test]
fn a_log_that_nobody_reads_is_bounded_in_bytes_and_tells_what_it_lost() {
    let mut service = Service::start(&[]);
    let before = resident(service.child.id());
    let mut stream = TcpStream::connect(&service.address).expect("a connection");
    let mut answers = BufReader::new(stream.try_clone().expect("a second end"));
    // In JSON a quote is two letters.
    let request = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "\"".repeat(60_000));
    const REQUESTS: u64 = 9_000;
    for _ in 0..REQUESTS {
        stream.write_all(request.as_bytes()).expect("written");
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            answers.read_line(&mut line).expect("a line");
            length =
                line.strip_prefix("content-length: ").map_or(length, |text| text.trim().parse().expect("a number"));
        }
        answers.read_exact(&mut vec![0; length]).expect("a body");
    }
    let more = resident(service.child.id()).saturating_sub(before);
    assert!(more < 50 << 10, "{more} KB more");
    // The reader is back.
    let (mut kept, mut lost) = (0, 0);
    while kept + lost < REQUESTS {
        let mut line = String::new();
        assert!(service.log.read_line(&mut line).expect("a line") > 0);
        assert!(line.len() < 4096, "{} bytes", line.len());
        let line: serde_json::Value = serde_json::from_str(&line).expect("a JSON line");
        kept += u64::from(line["target"] == "access");
        lost += line["lost"].as_u64().unwrap_or_default();
    }
    assert!(kept > 1000 && lost > 100 && kept + lost == REQUESTS, "{kept} and {lost}");
}

/// What the program writes to a terminal, and to its log, until it is told to end.
fn on_a_terminal(settings: &[(&str, &str)]) -> String {
    // A terminal of its own, from a tool that every Debian has; `timeout` ends the service in order.
    let inner =
        format!("timeout --preserve-status 1 {} --listen 127.0.0.1:0 --log text", env!("CARGO_BIN_EXE_nqueens"));
    let mut command = Command::new("script");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLORTERM"] {
        command.env_remove(name);
    }
    let words = ["-qefc", &inner, "/dev/null"];
    let output = command
        .args(words)
        .env("TERM", "xterm")
        .env("RUST_LOG", "info")
        .envs(settings.iter().copied())
        .stdin(Stdio::null());
    String::from_utf8_lossy(&output.output().expect("script").stdout).into_owned()
}

#[test]
fn colours_are_as_terminals_agree_on() {
    for (settings, coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "")], true),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
        (&[("TERM", "dumb")], false),
        (&[("TERM", "dumb"), ("FORCE_COLOR", "1")], true),
        (&[("CLICOLOR", "0")], false),
        (&[("CLICOLOR", "0"), ("CLICOLOR_FORCE", "1")], true),
    ] {
        let text = on_a_terminal(settings);
        assert!(text.contains("listening"), "{text}");
        assert_eq!(text.contains("\u{1b}["), coloured, "{settings:?}: {text}");
    }
}

#[test]
fn colours_in_a_pipe_are_for_who_demands_them() {
    for (settings, coloured) in [
        (&[][..], false),
        (&[("CLICOLOR", "1")], false),
        (&[("CLICOLOR_FORCE", "")], false),
        (&[("FORCE_COLOR", "0")], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("FORCE_COLOR", "1")], true),
        (&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false),
    ] {
        let mut command = program(&["count", "8", "--data-dir", "/dev/null"]);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"] {
            command.env_remove(name);
        }
        let output = command.envs(settings.iter().copied()).output().expect("it runs");
        assert_eq!(
            output.stderr.contains(&0x1b),
            coloured,
            "{settings:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let mut service = Service::start(&["--drain", "1m"]);
    // A reader that does not read keeps the drain waiting.
    let mut slow = service.ask("GET", "/solve/1000000");
    let mut byte = [0];
    slow.read_exact(&mut byte).expect("it begins");
    service.signal("TERM");
    while !service.get("/readyz").starts_with("HTTP/1.1 503") {}
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(1)), Some(128 + 15));
}

#[test]
fn one_access_line_a_request_however_it_ends() {
    let mut service = Service::start(&["--max-count", "27"]);
    assert!(service.get("/solve/8?method=try").starts_with("HTTP/1.1 200"));
    assert!(service.get("/solve/%0a").starts_with("HTTP/1.1 400"));
    let heavy = service.ask("GET", "/count/27");
    // Each look is a line too, and nobody reads them yet: no more of them than the log keeps.
    let pause = || std::thread::sleep(Duration::from_millis(20));
    while service.get("/metrics").contains("nqueens_searches_running 0") {
        pause();
    }
    drop(heavy);
    while !service.get("/metrics").contains("nqueens_searches_running 0") {
        pause();
    }
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
    assert!(service.get("/solve/8").starts_with("HTTP/1.1 200"));
    service.signal("TERM");
    assert_eq!(service.exit_code(Duration::from_secs(3)), Some(0));
    assert!(service.rest_of_log().iter().all(|line| line["target"] != "access"));
}
