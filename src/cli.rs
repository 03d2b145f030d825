//! The subcommands that do not serve.

use crate::config::{self, Config, Healthcheck};
use crate::counts::Count;
use crate::http;
use crate::queens::count::{Kernel, Plan, run};
use crate::queens::{Size, Stop, Stopped, symmetry};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use indicatif::{ProgressBar, ProgressStyle};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// `nqueens count`: counts one size on threads of its own, with a progress bar where someone watches.
///
/// # Errors
/// What to say where there is no count.
pub fn count(settings: &config::Count) -> Result<String, String> {
    let n = Size::new(settings.n).ok_or("there is no such size")?;
    let plan = Plan::new(n).ok_or("there is no plan for this size")?;
    let threads = settings.threads.map_or_else(config::cpu_share, |threads| threads as usize);
    let kernel = if settings.portable { Kernel::Portable } else { Kernel::Best };
    let (begun, stop, next, over) = (Instant::now(), Stop::new(), AtomicU64::new(0), AtomicBool::new(false));
    let counted = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| show_progress(plan.tasks(), &next, &over));
        let all = run(&plan, threads, kernel, &stop, &next);
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        let half_turn = symmetry::count_half_turn(n, &stop)?;
        Ok(Count::new(n, all?, half_turn, symmetry::count_quarter_turn(n, &stop)?))
    });
    let count = counted.map_err(|Stopped| Stopped.to_string())?;
    if settings.json {
        return Ok(format!("{}\n", http::counted_json(n, count)));
    }
    let Count { all, fundamental, half_turn, quarter_turn } = count;
    let took = begun.elapsed().as_secs_f64();
    Ok(format!(
        "n = {n}\nsolutions     {all}\nfundamental   {fundamental}\nhalf turn     {half_turn}\n\
         quarter turn  {quarter_turn}\n({took:.3} s, threads: {threads})\n"
    ))
}

/// Draws a progress bar on standard error, if that is a terminal, until it is over.
fn show_progress(tasks: u64, next: &AtomicU64, over: &AtomicBool) {
    let bar = ProgressBar::new(tasks); // hides itself where there is no terminal
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% of {len} tasks, {elapsed}, {eta} to go") {
        bar.set_style(style);
    }
    while !over.load(Ordering::Relaxed) {
        bar.set_position(next.load(Ordering::Relaxed).min(tasks));
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}

/// `nqueens healthcheck`: asks the service on this machine whether it is alive.
pub async fn healthcheck(settings: &Healthcheck) -> ExitCode {
    let address = reachable(settings.listen);
    match tokio::time::timeout(settings.timeout, ask(address)).await {
        Ok(Ok(StatusCode::OK)) => ExitCode::SUCCESS,
        Ok(Ok(status)) => complain(&format!("http://{address}/healthz answered {status}")),
        Ok(Err(error)) => complain(&format!("http://{address}/healthz: {error}")),
        Err(_) => complain(&format!("http://{address}/healthz: no answer within {:?}", settings.timeout)),
    }
}

/// An address to listen on may mean "all of them"; one to connect to cannot.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn ask(address: SocketAddr) -> Result<StatusCode, Box<dyn std::error::Error>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get("/healthz").header("host", address.to_string());
    let response = sender.send_request(request.body(http_body_util::Empty::<Bytes>::new())?).await?;
    Ok(response.status())
}

#[expect(clippy::print_stderr, reason = "a command's one line of complaint")]
fn complain(line: &str) -> ExitCode {
    eprintln!("{line}");
    ExitCode::FAILURE
}

/// `nqueens openapi`: the OpenAPI document with the default caps, as YAML.
#[must_use]
pub fn openapi() -> Vec<u8> {
    http::document(&Config::default()).yaml.to_vec()
}
