//! The `nqueens` program: command line, runtime, signals, exit code.

use nqueens::config::{self, Command, Config};
use nqueens::{cli, server, telemetry};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    match config::parse(std::env::args_os()) {
        Ok(Command::Serve(config)) => serve(*config),
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

fn serve(config: Config) -> ExitCode {
    let logs = telemetry::start(&config);
    let runtime = match runtime(config.workers()) {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}"), 1),
    };
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(config.listen).await.map_err(|error| (config.listen, error))?;
        let address = listener.local_addr().unwrap_or(config.listen);
        tracing::info!(%address, workers = config.workers(), version = env!("CARGO_PKG_VERSION"), "listening");
        let shutdown = CancellationToken::new();
        tokio::spawn(watch_signals(shutdown.clone()));
        server::run(listener, config, logs.access(), shutdown).await;
        Ok(())
    });
    // Searches have been told to end; a thread that has not noticed yet does not hold the process.
    runtime.shutdown_background();
    match served {
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
    Builder::new_multi_thread().max_blocking_threads(2 * workers + 4).enable_all().build()
}

/// Watches for SIGTERM and SIGINT from now on; the future waits for the first. Within a runtime.
fn first_signal() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        match signals {
            (Ok(mut terminate), Ok(mut interrupt)) => drop(either(&mut terminate, &mut interrupt).await),
            _ => std::future::pending().await, // they end the process by themselves, then
        }
    }
}

/// The first SIGTERM or SIGINT asks for an orderly end, the second ends at once.
async fn watch_signals(shutdown: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return tracing::error!("cannot watch for signals; only a kill ends this process");
    };
    either(&mut terminate, &mut interrupt).await;
    shutdown.cancel();
    let number = either(&mut terminate, &mut interrupt).await;
    std::process::exit(128 + number);
}

/// Waits for one of both signals and gives its number.
async fn either(terminate: &mut Signal, interrupt: &mut Signal) -> i32 {
    tokio::select! {
        _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
        _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
    }
}

#[expect(clippy::print_stderr, reason = "a program's last line, also where there is no log yet")]
fn fail(line: &str, code: u8) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
