//! The subcommands that do not serve.

use crate::compute::Pool;
use crate::config::{self, Config, Healthcheck};
use crate::http;
use crate::queens::Size;
use crate::queens::count::Kernel;
use crate::runs::{self, Access, Count, Refusal, Runs, Snapshot, Worked};
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
    let settings_of_runs = runs::Settings {
        data_dir: settings.data_dir.clone(),
        jobs: Worked::Only(n),
        memory: surroundings::memory(),
        kernel: if settings.portable { Kernel::Portable } else { Kernel::Best },
    };
    let runs = Runs::open(pool, &settings_of_runs);
    let refused = |refusal| match refusal {
        Refusal::Storage { place, reason, .. } => format!("{place} cannot be used: {reason}"),
        Refusal::Memory { needed, limit, .. } => {
            let [needed, limit] = [needed, limit].map(|bytes| bytes.div_ceil(1 << 20));
            format!("it needs about {needed} MB of memory, and there are {limit} MB")
        }
        Refusal::Ending => "it ends already".to_owned(),
    };
    let bar = progress_bar();
    let counted = async {
        while runs.access() == Access::Opening {
            runs.opened(Instant::now() + PATIENCE).await;
        }
        let mut watch = runs.watch(n);
        let mut now = runs.put(n, Instant::now() + PATIENCE).await.map_err(refused)?;
        while !now.state.is_final() {
            bar.set_position((now.progress * BAR).round() as u64);
            bar.set_message(now.eta_seconds.map_or_else(String::new, |seconds| {
                format!(", about {} to go", humantime::format_duration(Duration::from_secs(seconds)))
            }));
            watch.changed().await;
            now = runs.get(n).map_err(refused)?.ok_or("there is no such job")?;
        }
        Ok::<_, String>(now)
    };
    let last = tokio::select! {
        last = counted => Some(last),
        _ = interrupted => None,
    };
    bar.finish_and_clear();
    runs.close().await;
    let lost = runs.end(Instant::now() + PATIENCE).await;
    if lost > 0 {
        tracing::error!(tasks = lost, "the data directory did not take all that is finished");
    }
    match last.transpose()? {
        Some(Snapshot { count: Some(count), .. }) => Ok(printed(settings, n, count, begun.elapsed())),
        Some(failed) => Err(failed.reason.unwrap_or_else(|| "it was cancelled".to_owned())),
        None if settings.data_dir.is_some() => Err("interrupted; the same command goes on from here".to_owned()),
        None => Err("interrupted".to_owned()),
    }
}

/// How long a disk may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The progress bar's length.
const BAR: f64 = 1e4;

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
    let bar = ProgressBar::new(BAR as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% in {elapsed}{msg}") {
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
