//! The subcommands that do not serve.

use crate::compute::Pool;
use crate::config::{self, Config, Healthcheck};
use crate::counts::{Count, Counts};
use crate::http;
use crate::jobs::{self, Jobs, Refusal, Resume, Snapshot};
use crate::queens::Size;
use crate::queens::count::Kernel;
use crate::surroundings;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use indicatif::{ProgressBar, ProgressStyle};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// `nqueens count`: counts one size as a job of its own, with a progress bar where someone watches. With a data
/// directory the job goes on from what is finished there, and leaves what it finishes there for the next time. When
/// `interrupted` completes, it ends, and says so.
///
/// # Errors
/// What to say where there is no count.
pub async fn count(settings: &config::Count, interrupted: impl Future) -> Result<String, String> {
    let begun = Instant::now();
    let n = Size::new(settings.n).ok_or("there is no such size")?;
    let threads = settings.threads();
    let pool = Pool::new(threads, 0);
    let its_jobs = jobs::Settings {
        data_dir: settings.data_dir.clone(),
        resume: Resume::Only(n),
        memory: surroundings::memory(),
        kernel: if settings.portable { Kernel::Portable } else { Kernel::Best },
    };
    let jobs = Jobs::open(pool.clone(), Counts::new(pool), its_jobs).await;
    let refused = |refusal| match refusal {
        Refusal::Storage(reason) => format!("the data directory cannot be used: {reason}"),
        Refusal::Ending => "it ends already".to_owned(),
    };
    jobs.put(n).await.map_err(refused)?;
    let mut job = jobs.watch(n).ok_or("there is no such job")?;
    let bar = progress_bar();
    let last = tokio::select! {
        last = job.wait_for(|now| {
            bar.set_length(now.tasks_total);
            bar.set_position(now.tasks_done);
            bar.set_message(now.eta_seconds.map_or_else(String::new, |seconds| {
                format!(", about {} to go", humantime::format_duration(Duration::from_secs(seconds)))
            }));
            now.state.is_final()
        }) => last.map(|last| last.clone()).ok(),
        _ = interrupted => None,
    };
    bar.finish_and_clear();
    jobs.end().await;
    match last {
        Some(Snapshot { count: Some(count), .. }) => Ok(printed(settings, n, count, begun.elapsed())),
        Some(failed) => Err(failed.reason.unwrap_or_else(|| "it was cancelled".to_owned())),
        None if settings.data_dir.is_some() => Err("interrupted; the same command goes on from here".to_owned()),
        None => Err("interrupted".to_owned()),
    }
}

fn printed(settings: &config::Count, n: Size, count: Count, took: Duration) -> String {
    if settings.json {
        return format!("{}\n", http::counted_json(n, count));
    }
    let Count { all, fundamental, half_turn, quarter_turn } = count;
    let (took, threads) = (took.as_secs_f64(), settings.threads());
    format!(
        "n = {n}\nsolutions     {all}\nfundamental   {fundamental}\nhalf turn     {half_turn}\n\
         quarter turn  {quarter_turn}\n({took:.3} s, threads: {threads})\n"
    )
}

/// On standard error, and only where that is a terminal.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% of {len} tasks in {elapsed}{msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
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
    let ip = match listen.ip().to_canonical() {
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
