//! Deadlines on silent connections, and the cap.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

fn impatient() -> Config {
    let (header_timeout, keep_alive) = (Duration::from_millis(300), Duration::from_millis(900));
    Config { header_timeout, keep_alive, ..config() }
}

/// Connects, sends, and tells how long the service then let the connection stand.
async fn stands_for(service: &Service, bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    service.raw(bytes).await;
    begun.elapsed()
}

#[tokio::test]
async fn silent_and_half_sent_headers_are_closed_at_the_header_timeout() {
    let service = Service::start(impatient()).await;
    for bytes in [&b""[..], b"GET /solve/8 HTTP/1.1\r\nhost: x\r\nx-a: ", b"PRI", b"GET", b"\r\n"] {
        let stood = stands_for(&service, bytes).await;
        assert!(stood >= Duration::from_millis(290) && stood < Duration::from_millis(1300), "{bytes:?}: {stood:?}");
    }
}

#[tokio::test]
async fn a_dribbled_header_is_closed_at_the_header_timeout_all_the_same() {
    let service = Service::start(impatient()).await;
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let begun = Instant::now();
    stream.write_all(b"GET /solve/8 HTTP/1.1\r\nx-a: ").await.expect("written");
    let dribble = async {
        while stream.write_all(b"a").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(5), dribble).await.expect("closed");
    assert!(begun.elapsed() < Duration::from_millis(1300));
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_the_keep_alive_time_and_not_longer() {
    let service = Service::start(impatient()).await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let mut buffer = [0; 4096];
    for _ in 0..3 {
        stream.write_all(request).await.expect("kept open");
        assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
        sleep(Duration::from_millis(500)).await; // longer than the header timeout
    }
    stream.write_all(request).await.expect("kept open");
    assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
    let begun = Instant::now();
    assert_eq!(stream.read(&mut buffer).await.expect("closed in order"), 0);
    let stood = begun.elapsed();
    assert!(stood >= Duration::from_millis(850) && stood < Duration::from_millis(1900), "{stood:?}");
}

#[tokio::test]
async fn a_further_header_has_the_header_timeout_too() {
    let service = Service::start(Config { keep_alive: Duration::from_secs(60), ..impatient() }).await;
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let mut buffer = [0; 4096];
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
    stream.write_all(b"GET /healthz HTT").await.expect("written");
    let begun = Instant::now();
    let closed = timeout(Duration::from_secs(5), stream.read(&mut buffer)).await.expect("closed");
    assert!(!closed.is_ok_and(|bytes| bytes > 0));
    assert!(begun.elapsed() < Duration::from_millis(1300));
}

#[tokio::test]
async fn a_search_may_take_longer_than_both_timeouts() {
    let (header_timeout, keep_alive) = (Duration::from_millis(100), Duration::from_millis(100));
    let config =
        Config { header_timeout, keep_alive, time_limit: Duration::from_millis(600), max_count: 27, ..config() };
    Service::start(config).await.get("/count/27").await.is_problem(503, "time-limit");
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_given_up() {
    let service = Service::start(Config { stream_time_limit: Duration::from_millis(300), ..config() }).await;
    let mut stream = small_reader(&service).await;
    for _ in 0..4 {
        let request = b"GET /solve/1000000 HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.expect("written");
    }
    let gone = async {
        while service.metric("http_connections").await > 1.0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(3), gone).await.expect("given up");
    let mut all = Vec::new();
    let ended = timeout(Duration::from_secs(5), stream.read_to_end(&mut all)).await.expect("ended");
    assert!(ended.is_err() || all.len() < 4 * 6_888_966, "the answers cannot be whole");
}

#[tokio::test]
async fn an_answer_that_is_read_late_is_whole_however_short_the_keep_alive_time() {
    let service = Service::start(Config { keep_alive: Duration::from_millis(200), ..config() }).await;
    // What an answer is cut short by is what the kernel has no room for and the HTTP library has. So among these sizes,
    // half a library's buffer apart, are some that just do not fit, be the kernel's room bounded or its own choice.
    let mut readers = Vec::new();
    for n in (10_000..90_000).step_by(4_000).chain((540_000..680_000).step_by(4_000)) {
        let mut stream = small_reader(&service).await;
        stream.write_all(format!("GET /solve/{n} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.expect("written");
        readers.push((n, stream));
    }
    sleep(Duration::from_secs(1)).await;
    for (n, mut stream) in readers {
        let mut answer = Vec::new();
        timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await.expect("ended").expect("in order");
        let header = answer.windows(4).position(|end| end == b"\r\n\r\n").expect("a header") + 4;
        let text = String::from_utf8_lossy(&answer[..header]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        assert_eq!(length.parse(), Ok(answer.len() - header), "{n} rows");
    }
}

/// A connection with room for few bytes on the reader's side.
async fn small_reader(service: &Service) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    socket.connect(service.address).await.expect("a connection")
}

/// The bytes that the kernel holds for each of these readers.
#[cfg(target_os = "linux")]
fn send_queues(service: &Service, readers: &[TcpStream]) -> Vec<usize> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's list");
    let port = |address: std::net::SocketAddr| format!(":{:04X}", address.port());
    let queue = |reader: &TcpStream| {
        let (near, far) = (port(service.address), port(reader.local_addr().expect("an address")));
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|line| line[1].ends_with(&near) && line[2].ends_with(&far)).expect("a connection");
        usize::from_str_radix(line[4].split(':').next().expect("a queue"), 16).expect("a number")
    };
    readers.iter().map(queue).collect()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_reader_that_does_not_read_costs_the_kernel_little() {
    let service = Service::default().await;
    let mut readers = Vec::new();
    for path in ["/solve/1000000", "/solutions/16?format=ndjson", "/solutions/16?format=ndjson"] {
        let mut stream = TcpStream::connect(service.address).await.expect("a connection");
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("written");
        readers.push(stream);
    }
    // Full when nothing more comes for half a second.
    let full = async {
        let (mut before, mut alike) = (Vec::new(), 0);
        while alike < 25 {
            let now = send_queues(&service, &readers);
            alike = if now == before && !now.contains(&0) { alike + 1 } else { 0 };
            before = now;
            sleep(Duration::from_millis(20)).await;
        }
        before
    };
    let queues = timeout(Duration::from_secs(60), full).await.expect("full");
    assert!(queues.iter().all(|&bytes| bytes < 400 << 10), "{queues:?}");
}

/// A connection that has asked something and read the answer.
async fn idle(service: &Service) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    assert!(is_kept(&mut stream).await);
    stream
}

/// Whether the connection answers and stays open.
async fn is_kept(stream: &mut TcpStream) -> bool {
    let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    asked.is_ok() && stream.read(&mut [0; 1024]).await.is_ok_and(|bytes| bytes > 0)
}

#[tokio::test]
async fn at_the_cap_a_newcomer_takes_the_place_of_the_one_that_is_idle_for_longest() {
    let service = Service::start(Config { max_connections: 3, ..config() }).await;
    let mut idle = [idle(&service).await, idle(&service).await, idle(&service).await];
    sleep(Duration::from_millis(300)).await;
    for place in [1, 0, 2] {
        assert!(is_kept(&mut idle[place]).await, "nobody waits for a place");
    }
    let answer = service.get("/solve/8").await;
    assert_eq!((answer.status.as_u16(), answer.header("connection")), (200, None));
    let closed = timeout(Duration::from_secs(20), idle[1].read(&mut [0; 1024])).await.expect("closed");
    assert_eq!(closed.expect("in order"), 0);
    assert!(is_kept(&mut idle[0]).await && is_kept(&mut idle[2]).await, "one newcomer needs one place");
}

#[tokio::test]
async fn at_the_cap_the_service_still_tells_how_it_is_and_others_to_come_again() {
    let service = Service::start(Config { max_connections: 2, ..config() }).await;
    let mut busy = Vec::new();
    for _ in 0..2 {
        busy.push(service.open(Method::GET, "/solutions/16?format=ndjson", &[], "").await);
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = timeout(Duration::from_secs(20), service.get(path)).await.expect("at once");
        assert_eq!((answer.status.as_u16(), answer.header("connection")), (200, Some("close")), "{path}");
    }
    let json = ("content-type", "application/json");
    for (method, path, body) in [(Method::GET, "/solve/8", ""), (Method::POST, "/verify", "{\"b\":[1]}")] {
        let turned_away = timeout(Duration::from_secs(20), service.send(method, path, &[json], body)).await;
        let turned_away = turned_away.expect("at once");
        turned_away.is_problem(503, "overloaded");
        assert_eq!(turned_away.header("connection"), Some("close"), "{path}");
        assert_eq!(turned_away.header("retry-after"), Some("1"), "{path}");
    }
    timeout(Duration::from_secs(5), service.raw(b"")).await.expect("who is silent there is closed soon");
    // More than there are places beyond the cap, so some of them wait to be accepted.
    let mut many = Vec::new();
    for _ in 0..30 {
        let mut stream = TcpStream::connect(service.address).await.expect("a connection");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
        many.push(stream);
    }
    for mut stream in many {
        let mut answer = String::new();
        let whole = timeout(Duration::from_secs(20), stream.read_to_string(&mut answer)).await.expect("in its turn");
        assert!(whole.is_ok() && answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    busy.clear();
    let served = async { while service.get("/solve/8").await.status != 200 {} };
    timeout(Duration::from_secs(20), served).await.expect("there are places again");
}

#[tokio::test]
async fn who_still_sends_a_refused_body_reads_why() {
    let service = Service::default().await;
    let json = "content-type: application/json\r\n";
    for (head, status) in [
        (format!("POST /verify HTTP/1.1\r\nhost: x\r\n{json}"), "413"),
        ("POST /verify HTTP/1.1\r\nhost: x\r\n".to_owned(), "415"),
        (format!("POST /verify?x=1 HTTP/1.1\r\nhost: x\r\n{json}"), "400"),
        ("POST /nothing HTTP/1.1\r\nhost: x\r\n".to_owned(), "404"),
        ("GET /solve/8 HTTP/1.1\r\nhost: x\r\n".to_owned(), "400"),
        ("PATCH /solve/8 HTTP/1.1\r\nhost: x\r\n".to_owned(), "405"),
    ] {
        let mut stream = TcpStream::connect(service.address).await.expect("a connection");
        stream.write_all(format!("{head}content-length: 20000000\r\n\r\n").as_bytes()).await.expect("written");
        for _ in 0..200 {
            stream.write_all(&[b' '; 100_000]).await.expect("taken to its end");
        }
        let mut answer = Vec::new();
        let whole = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await.expect("closed");
        assert!(whole.is_ok() && answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{head}: {whole:?}");
    }
    let idle = async {
        while service.metric("http_connections").await > 1.0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(3), idle).await.expect("all closed");
}

#[tokio::test]
async fn the_metrics_know_how_many_connections_are_open() {
    let service = Service::default().await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(TcpStream::connect(service.address).await.expect("a connection"));
    }
    // The one that asks is one of them.
    let mut asking = TcpStream::connect(service.address).await.expect("a connection");
    for closed in 0..=3 {
        let expected = format!("\nhttp_connections {}\n", 4 - closed);
        let settled = async {
            loop {
                asking.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
                let mut answer = [0; 65536];
                let mut length = 0;
                while !is_whole(&answer[..length]) {
                    length += asking.read(&mut answer[length..]).await.expect("an answer");
                }
                if String::from_utf8_lossy(&answer[..length]).contains(&expected) {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(5), settled).await.unwrap_or_else(|_| panic!("never {expected}"));
        open.pop();
    }
}

/// Whether these bytes are an answer to its end.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        length.is_some_and(|length: usize| body.len() >= length)
    })
}
