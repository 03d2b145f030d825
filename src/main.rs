//! The `nqueens` program: command line, runtime, signals, exit code.

use nqueens::config::{self, Command, Config};
use nqueens::server::{self, Shutdown};
use nqueens::{cli, surroundings, telemetry, worker};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

fn main() -> ExitCode {
    match config::parse(std::env::args_os()) {
        Ok(Command::Serve(config)) => serve(*config),
        Ok(Command::Worker(config)) => work(&config),
        Ok(Command::Healthcheck(settings)) => match runtime(1) {
            Ok(runtime) => runtime.block_on(cli::healthcheck(&settings)),
            Err(error) => fail(&format!("cannot start: {error}"), 1),
        },
        Ok(Command::Count(settings)) => count(&settings),
        Ok(Command::Openapi) => print(&cli::openapi()),
        Err((text, 0)) => print(text.as_bytes()),
        Err((text, code)) => fail(text.trim_end(), code as u8),
    }
}

fn count(settings: &config::Count) -> ExitCode {
    telemetry::warnings_only();
    match runtime(settings.threads()) {
        Ok(runtime) => match runtime.block_on(async { cli::count(settings, first_signal()).await }) {
            Ok(text) => print(text.as_bytes()),
            Err(line) => fail(&line, 1),
        },
        Err(error) => fail(&format!("cannot start: {error}"), 1),
    }
}

fn serve(mut config: Config) -> ExitCode {
    let logs = match telemetry::start(config.log, config.access_log) {
        Ok(logs) => logs,
        Err(line) => return fail(&line, 2),
    };
    if let Some(line) = config.fit(surroundings::memory()) {
        tracing::warn!("{line}");
    }
    let runtime = match runtime(config.workers()) {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}"), 1),
    };
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(config.listen).await.map_err(|error| (config.listen, error))?;
        let address = listener.local_addr().unwrap_or(config.listen);
        // Before anybody can know that it runs, and end it.
        let ends = Ends::watch();
        tracing::info!(%address, workers = config.workers(), version = env!("CARGO_PKG_VERSION"), "listening");
        let shutdown = Shutdown::default();
        let signals = tokio::spawn(watch_signals(ends, shutdown.clone()));
        server::run(listener, config, logs.access(), shutdown.clone()).await;
        Ok(if shutdown.second.is_cancelled() { signals.await.ok() } else { None })
    });
    // Searches have been told to end; a thread that has not noticed yet does not hold the process.
    runtime.shutdown_background();
    match served {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(number)) => ExitCode::from(128 + number as u8),
        Err((address, error)) => fail(&format!("cannot listen on {address}: {error}"), 1),
    }
}

fn work(config: &config::Worker) -> ExitCode {
    let _logs = match telemetry::start(config.log, false) {
        Ok(logs) => logs,
        Err(line) => return fail(&line, 2),
    };
    if config.nice {
        worker::let_others_go_first();
    }
    let runtime = match runtime(config.threads()) {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}"), 1),
    };
    let worked = runtime.block_on(async {
        let listener = TcpListener::bind(config.listen).await.map_err(|error| (config.listen, error))?;
        let address = listener.local_addr().unwrap_or(config.listen);
        let ends = Ends::watch();
        tracing::info!(%address, threads = config.threads(), version = env!("CARGO_PKG_VERSION"), "listening");
        let shutdown = Shutdown::default();
        tokio::spawn(watch_signals(ends, shutdown.clone()));
        worker::run(listener, config, shutdown).await;
        Ok::<_, (_, std::io::Error)>(())
    });
    runtime.shutdown_background();
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err((address, error)) => fail(&format!("cannot listen on {address}: {error}"), 1),
    }
}

fn print(text: &[u8]) -> ExitCode {
    match std::io::stdout().write_all(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::FAILURE, // its reader has seen enough
        Err(error) => fail(&format!("cannot write: {error}"), 1),
    }
}

/// The runtime: threads for requests and timers as the machine has CPUs, and room for blocking work: two threads for
/// each search the pool lets run (one may have to wait on its thread while another runs), and a few for storage.
fn runtime(workers: usize) -> std::io::Result<Runtime> {
    let runtime = Builder::new_multi_thread().max_blocking_threads(2 * workers + 4).enable_all().build()?;
    let within = runtime.enter();
    // Once it is handled, a limit on the sizes of files is an error of whoever writes, not the end of the process.
    let _ = signal(SignalKind::from_raw(SIGXFSZ));
    drop(within);
    Ok(runtime)
}

/// A file would become larger than it may.
const SIGXFSZ: i32 = 25;

/// The signals that ask for an orderly end.
struct Ends([Option<Signal>; 3]);

impl Ends {
    /// Watches for SIGTERM, SIGINT and SIGHUP from now on. Within a runtime.
    fn watch() -> Result<Self, std::io::Error> {
        // `nohup` starts what shall outlive its terminal with the hang-up ignored.
        let hangup = Some(SignalKind::hangup()).filter(|kind| !surroundings::ignores(kind.as_raw_value()));
        let watch = |kind: Option<SignalKind>| kind.map(signal).transpose();
        Ok(Self([watch(Some(SignalKind::terminate()))?, watch(Some(SignalKind::interrupt()))?, watch(hangup)?]))
    }

    /// Waits for one of them and gives its number.
    async fn next(&mut self) -> i32 {
        let [terminate, interrupt, hangup] = &mut self.0;
        let number = |kind: SignalKind| kind.as_raw_value();
        tokio::select! {
            () = received(terminate) => number(SignalKind::terminate()),
            () = received(interrupt) => number(SignalKind::interrupt()),
            () = received(hangup) => number(SignalKind::hangup()),
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Watches from now on; the future waits for the first signal to end. Within a runtime.
fn first_signal() -> impl Future<Output = ()> {
    let ends = Ends::watch();
    async move {
        match ends {
            Ok(mut ends) => drop(ends.next().await),
            Err(_) => std::future::pending().await, // they end the process by themselves, then
        }
    }
}

/// The first signal asks for an orderly end, the second for one that waits for nobody but the data directory, the third
/// ends at once. Gives the number of the second.
async fn watch_signals(ends: Result<Ends, std::io::Error>, shutdown: Shutdown) -> i32 {
    let mut ends = match ends {
        Ok(ends) => ends,
        Err(error) => {
            tracing::error!(%error, "cannot watch for signals; only a kill ends this process");
            return std::future::pending().await;
        }
    };
    ends.next().await;
    shutdown.first.cancel();
    let number = ends.next().await;
    shutdown.second.cancel();
    tokio::spawn(async move { std::process::exit(128 + ends.next().await) });
    number
}

#[expect(clippy::print_stderr, reason = "a program's last line, also where there is no log yet")]
fn fail(line: &str, code: u8) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
