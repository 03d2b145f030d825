//! Every knob: its flag, its environment variable, its default, its hard range and why.
//!
//! A flag wins over the environment. The hard ranges keep every cap safe: no setting makes a search recurse too
//! deep, a table overflow or an answer outgrow memory. A bad value ends the program with one line and exit code 2.

mod nats;
mod origin;
mod reading;

pub use nats::Nats;
pub use reading::parse;

use crate::queens::count::Plan;
use crate::queens::count::memory_needed;
use crate::queens::{Size, backtrack, published};
use crate::surroundings;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use secrecy::{ExposeSecret as _, SecretString};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use subtle::ConstantTimeEq as _;

/// The largest n for which `/solve` runs the lecture's search by itself (`method=auto`). Up to here the first
/// solution takes at most a fraction of a second; n = 30 alone takes twenty times as long.
pub const AUTO_TRY_MAX: u32 = 29;
/// The largest n that `/count?method=try` runs to its end: a few hundredths of a second.
pub const COUNT_TRY_MAX: u32 = 12;
/// The default of `--max-count`: the largest n that a quiet machine with two cores counts in about two seconds.
pub const MAX_COUNT_DEFAULT: u32 = 18;
/// The default of `--max-job`: the largest n that such a machine counts within hours.
pub const MAX_JOB_DEFAULT: u32 = 22;

/// The command line.
#[derive(Parser, Debug)]
#[command(name = "nqueens", version, about, args_conflicts_with_subcommands = true, allow_negative_numbers = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Config,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Serve HTTP (the default)
    #[command(allow_negative_numbers = true)]
    Serve(Box<Config>),
    /// Count the solutions of one size
    #[command(allow_negative_numbers = true)]
    Count(Count),
    /// Work on the jobs that services share over NATS
    #[command(allow_negative_numbers = true)]
    Worker(Box<Worker>),
    /// Ask a running service on this machine for its health; exit code 0 if it is well, else 1
    Healthcheck(Healthcheck),
    /// Print the OpenAPI document as YAML
    Openapi,
}

/// What to count, and how.
#[derive(Args, Debug)]
pub struct Count {
    /// The size to count
    #[arg(value_name = "N", value_parser = number(1, published::MAX))]
    pub n: u32,
    /// Threads [default: this process's share of the CPUs, rounded up]
    #[arg(long, value_name = "T", value_parser = number(1, 1024))]
    pub threads: Option<u32>,
    /// Use only instructions that every processor has
    #[arg(long)]
    pub portable: bool,
    /// Print one line of JSON, as /count/N answers
    #[arg(long)]
    pub json: bool,
    /// Keep what is finished in this folder, and go on from it the next time
    // Not by the variable: that is the folder of a service, which holds it while it runs.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

impl Count {
    /// The number of threads to count with.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(surroundings::cpus, |threads| threads as usize)
    }
}

/// How a worker is set up.
#[derive(Args, Clone, Debug)]
pub struct Worker {
    /// Where the jobs are.
    #[command(flatten)]
    pub nats: Nats,
    /// Ranges that are computed at once [default: this process's share of the CPUs, rounded up]
    #[arg(long, env = "NQUEENS_THREADS", value_name = "T", value_parser = number(1, 1024))]
    pub threads: Option<u32>,
    /// Let all other processes of the machine go first
    #[arg(long, env = "NQUEENS_NICE", num_args = 0..=1, require_equals = true, default_missing_value = "on", default_value = "off", value_parser = on_off, action = ArgAction::Set)]
    pub nice: bool,
    /// Address and port for /healthz, /readyz and /metrics
    #[arg(long, env = "NQUEENS_LISTEN", default_value = DEFAULT_LISTEN, value_name = "ADDRESS", value_parser = listen_address)]
    pub listen: SocketAddr,
    /// How long handing back what is under way may take after a signal to stop
    #[arg(long, env = "NQUEENS_DRAIN", value_name = "TIME", default_value = "2s", value_parser = duration("0s", "5m"))]
    pub drain: Duration,
    /// The form of the log on standard error [default: text on a terminal, else json]
    #[arg(long, env = "NQUEENS_LOG", value_name = "FORM")]
    pub log: Option<LogForm>,
}

impl Worker {
    /// How many ranges are computed at once.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(surroundings::cpus, |threads| threads as usize)
    }
}

/// What the health check needs to know.
#[derive(Args, Debug)]
pub struct Healthcheck {
    /// The address the service listens on
    #[arg(long, env = "NQUEENS_LISTEN", default_value = DEFAULT_LISTEN, value_name = "ADDRESS", value_parser = asked_address)]
    pub listen: SocketAddr,
    /// How long to wait for the answer
    #[arg(long, default_value = "2s", value_parser = duration("100ms", "1m"))]
    pub timeout: Duration,
}

const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// How the service is set up.
#[derive(Args, Clone, Debug)]
pub struct Config {
    /// Address and port to listen on
    #[arg(long, env = "NQUEENS_LISTEN", default_value = DEFAULT_LISTEN, value_name = "ADDRESS", value_parser = listen_address)]
    pub listen: SocketAddr,
    /// Searches that run at once [default: this process's share of the CPUs, rounded up]
    #[arg(long, env = "NQUEENS_WORKERS", value_name = "N", value_parser = number(1, 1024))]
    pub workers: Option<u32>,
    /// Questions that may be unfinished without running; one more is answered 503
    #[arg(long, env = "NQUEENS_QUEUE", value_name = "N", default_value = "64", value_parser = number(0, 100_000))]
    pub queue: u32,
    /// How long a request may take from its arrival, waiting included
    #[arg(long, env = "NQUEENS_TIME_LIMIT", value_name = "TIME", default_value = "10s", value_parser = duration("50ms", "1h"))]
    pub time_limit: Duration,
    /// How long a stream may take, and how long a reader may take nothing at all
    #[arg(long, env = "NQUEENS_STREAM_TIME_LIMIT", value_name = "TIME", default_value = "60s", value_parser = duration("100ms", "24h"))]
    pub stream_time_limit: Duration,
    /// The largest n of /solve
    #[arg(long, env = "NQUEENS_MAX_SOLVE", value_name = "N", default_value = "1000000", value_parser = number(1, Size::MAX))]
    pub max_solve: u32,
    /// The largest n of /solve?method=try
    #[arg(long, env = "NQUEENS_MAX_TRY", value_name = "N", default_value = "29", value_parser = number(AUTO_TRY_MAX, backtrack::MAX))]
    pub max_try: u32,
    /// The largest n that /count computes
    #[arg(long, env = "NQUEENS_MAX_COUNT", value_name = "N", default_value_t = MAX_COUNT_DEFAULT, value_parser = number(1, published::MAX))]
    pub max_count: u32,
    /// The largest n of /jobs
    #[arg(long, env = "NQUEENS_MAX_JOB", value_name = "N", default_value_t = MAX_JOB_DEFAULT, value_parser = number(1, Plan::MAX))]
    pub max_job: u32,
    /// Connections at once; one more takes the place of an idle one, or is answered 503
    #[arg(long, env = "NQUEENS_MAX_CONNECTIONS", value_name = "N", default_value = "1024", value_parser = number(1, 100_000))]
    pub max_connections: u32,
    /// How long a connection may take to send a request's header, from its opening or the header's first byte
    #[arg(long, env = "NQUEENS_HEADER_TIMEOUT", value_name = "TIME", default_value = "10s", value_parser = duration("100ms", "5m"))]
    pub header_timeout: Duration,
    /// How long an idle connection is kept for its next request
    #[arg(long, env = "NQUEENS_KEEP_ALIVE", value_name = "TIME", default_value = "75s", value_parser = duration("100ms", "1h"))]
    pub keep_alive: Duration,
    /// How long open requests may take to end after a signal to stop
    #[arg(long, env = "NQUEENS_DRAIN", value_name = "TIME", default_value = "2s", value_parser = duration("0s", "5m"))]
    pub drain: Duration,
    /// The folder in which jobs and finished counts are kept [default: none, they end with the process]
    #[arg(long, env = "NQUEENS_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Where jobs lie that several services and workers share, instead of in a folder.
    #[command(flatten)]
    pub nats: Nats,
    /// The part of a shared job's ranges that is computed again by another worker, to check them
    #[arg(long, env = "NQUEENS_AUDIT", value_name = "PART", default_value = "0.01", value_parser = part)]
    pub audit: f64,
    /// How long a worker is to take for a range of a shared job, about
    #[arg(long, env = "NQUEENS_RANGE", value_name = "TIME", default_value = "10s", value_parser = duration("100ms", "1m"))]
    pub range: Duration,
    /// When a worker that gives no sign of progress has lost its range to another one
    #[arg(long, env = "NQUEENS_REDELIVERY", value_name = "TIME", default_value = "30s", value_parser = duration("1s", "10m"))]
    pub redelivery: Duration,
    /// What callers must present, as `Authorization: Bearer TOKEN`, to start or cancel jobs [default: none, all may]
    #[arg(long, env = "NQUEENS_API_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = secret)]
    pub api_token: Option<SecretString>,
    /// An origin whose pages may call this service (repeatable, `*` for any) [default: none]
    #[arg(long, env = "NQUEENS_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin::parse)]
    pub cors_origin: Vec<String>,
    /// The form of the log on standard error [default: text on a terminal, else json]
    #[arg(long, env = "NQUEENS_LOG", value_name = "FORM")]
    pub log: Option<LogForm>,
    /// Whether each request is logged, one line each
    #[arg(long, env = "NQUEENS_ACCESS_LOG", value_name = "on|off", default_value = "on", value_parser = on_off, action = ArgAction::Set)]
    pub access_log: bool,
}

/// The form of a log line.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// The number of searches that run at once.
    ///
    /// Unless set, this is the process's [share of the machine](surroundings::cpus).
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers.map_or_else(surroundings::cpus, |workers| workers as usize)
    }

    /// The largest n of `/solve?method=try`: never more than `/solve` takes at all.
    #[must_use]
    pub fn max_try(&self) -> u32 {
        self.max_try.min(self.max_solve)
    }

    /// Lowers the largest n of `/count` to what all workers together can count in so many bytes, and says so.
    #[must_use]
    pub fn fit(&mut self, memory: Option<u64>) -> Option<String> {
        let (limit, workers, asked) = (memory?, self.workers(), self.max_count);
        let needed = |n| Size::new(n).and_then(|n| memory_needed(n, workers)).unwrap_or_default() as u64;
        self.max_count = (1..=asked).take_while(|&n| needed(n) <= limit).last().unwrap_or(1);
        (self.max_count < asked).then(|| {
            format!(
                "counting n = {asked} takes about {} MB of memory, and there are {} MB: the largest n of /count is {} \
                 (fewer workers need less)",
                needed(asked) >> 20,
                limit >> 20,
                self.max_count
            )
        })
    }

    /// Whether `given` is the configured token. How long that takes tells at most whether the length is right.
    #[must_use]
    pub fn token_is(&self, given: &[u8]) -> bool {
        let token = self.api_token.as_ref().map(|token| token.expose_secret().as_bytes());
        token.is_some_and(|token| bool::from(token.ct_eq(given)))
    }
}

impl Default for Config {
    /// The defaults, whatever the environment says.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            workers: None,
            queue: 64,
            time_limit: Duration::from_secs(10),
            stream_time_limit: Duration::from_secs(60),
            max_solve: Size::MAX,
            max_try: AUTO_TRY_MAX,
            max_count: MAX_COUNT_DEFAULT,
            max_connections: 1024,
            header_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(75),
            drain: Duration::from_secs(2),
            max_job: MAX_JOB_DEFAULT,
            data_dir: None,
            nats: Nats::default(),
            audit: 0.01,
            range: Duration::from_secs(10),
            redelivery: Duration::from_secs(30),
            api_token: None,
            cors_origin: Vec::new(),
            log: None,
            access_log: true,
        }
    }
}

fn number(min: u32, max: u32) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(min)..=i64::from(max))
}

/// Parses `10s`, `500ms`, `1m 30s` within a range.
fn duration(min: &'static str, max: &'static str) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let value = humantime::parse_duration(text).map_err(|error| format!("{error}, write it as 10s or 500ms"))?;
        let bound = |text| humantime::parse_duration(text).map_err(|error| error.to_string());
        if value < bound(min)? || value > bound(max)? {
            return Err(format!("{text} is not in {min} to {max}"));
        }
        Ok(value)
    }
}

/// Parses a part of a whole.
fn part(text: &str) -> Result<f64, &'static str> {
    let part: f64 = text.parse().map_err(|_| "write a number from 0 to 1")?;
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err("it is not in 0 to 1") }
}

/// Files with secrets often end in a line feed. One within a secret cannot be sent in a header.
fn secret(text: &str) -> Result<SecretString, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        Err("it is empty")
    } else if text.contains(char::is_control) {
        Err("it has a line feed or another control character in it")
    } else {
        Ok(text.into())
    }
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; write address:port, as 0.0.0.0:8080"))?;
    found.next().ok_or_else(|| "it names no address".to_owned())
}

/// A service on port 0 is on one that only its log tells.
fn asked_address(text: &str) -> Result<SocketAddr, String> {
    let address = listen_address(text)?;
    if address.port() == 0 {
        Err("port 0 cannot be asked; write the port that the service has".to_owned())
    } else {
        Ok(address)
    }
}

#[cfg(test)]
mod tests;
