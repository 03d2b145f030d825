//! The connection to NATS, and what is set up there.

use super::text;
use super::view::GONE;
use crate::config::Nats;
use crate::runs::home::Trouble;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context, context, kv};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use secrecy::ExposeSecret as _;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// An answer that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(5);
/// A connection on which nothing is heard is asked so often whether it is alive.
const PING: Duration = Duration::from_secs(5);
/// The pause between two attempts to connect is no longer than this.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// How the connection is.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Whether it is up.
    pub is_up: bool,
    /// How often it has come up.
    pub times: u64,
    /// What was last wrong with it.
    pub error: Option<String>,
}

/// What lies there, as it is used; clones share the connection.
#[derive(Clone)]
pub struct Link {
    /// The streams.
    pub context: Context,
    /// See [`text::COUNTS`].
    pub counts: kv::Store,
    /// See [`text::jobs`].
    pub jobs: kv::Store,
    /// See [`text::plans`].
    pub plans: kv::Store,
    /// See [`text::results`].
    pub results: kv::Store,
    /// See [`text::ALIVE`].
    pub alive: kv::Store,
    /// See [`text::tasks`].
    pub tasks: Stream,
}

/// What went wrong with NATS, in its words.
pub fn trouble(error: &impl Display) -> Trouble {
    Trouble { reason: error.to_string(), again: Duration::from_secs(1) }
}

/// Connects.
///
/// # Errors
/// Why it cannot be, in plain words. Nothing secret is in them.
pub async fn connect(nats: &Nats, name: &str) -> Result<(Client, watch::Receiver<Line>), Trouble> {
    let line = Arc::new(watch::Sender::new(Line::default()));
    let watched = line.subscribe();
    let mut options = ConnectOptions::new()
        .name(name)
        .connection_timeout(PATIENCE)
        .request_timeout(Some(PATIENCE))
        .ping_interval(PING)
        .reconnect_delay_callback(|attempts| RETRY_MOST.min(Duration::from_millis(100) * attempts as u32))
        .event_callback(move |event| {
            note(&line, &event);
            std::future::ready(())
        });
    if let Some(path) = &nats.credentials {
        let cannot =
            |error: io::Error| trouble(&format!("the credentials in {} cannot be read: {error}", path.display()));
        options = options.credentials_file(path).await.map_err(cannot)?;
    }
    if let Some(path) = &nats.ca {
        readable(path)?;
        options = options.add_root_certificates(path.clone());
    }
    if let Some(token) = &nats.token {
        options = options.token(token.expose_secret().to_owned());
    }
    if let Some((user, password)) = nats.login() {
        options = options.user_and_password(user.to_owned(), password.to_owned());
    }
    let client = options.connect(nats.servers()).await.map_err(|error| {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        trouble(&match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                "it does not let this service in: the credentials are wrong or missing".to_owned()
            }
            ConnectErrorKind::Dns => format!("its name cannot be resolved: {cause}"),
            ConnectErrorKind::TimedOut => "it does not answer".to_owned(),
            ConnectErrorKind::Tls => format!("there is no secure connection to it: {cause}"),
            ConnectErrorKind::Io => format!("it cannot be reached: {cause}"),
            ConnectErrorKind::ServerParse => "its address cannot be read".to_owned(),
            ConnectErrorKind::MaxReconnects => "it cannot be reached".to_owned(),
        })
    })?;
    Ok((client, watched))
}

/// So that a missing file is told as such, and not as a connection that cannot be secured.
fn readable(path: &Path) -> Result<(), Trouble> {
    let read = std::fs::File::open(path).map(drop);
    read.map_err(|error| trouble(&format!("the certificates in {} cannot be read: {error}", path.display())))
}

fn note(line: &watch::Sender<Line>, event: &Event) {
    line.send_modify(|line| match event {
        Event::Connected => {
            line.is_up = true;
            line.times += 1;
        }
        Event::Disconnected | Event::Closed => line.is_up = false,
        Event::ServerError(error) => line.error = Some(error.to_string()),
        Event::ClientError(error) => line.error = Some(error.to_string()),
        Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
    });
}

/// Opens what lies there, and makes what is missing.
///
/// # Errors
/// Why it cannot be, in plain words.
pub async fn open(client: &Client) -> Result<Link, Trouble> {
    let version = client.server_info().version;
    if !client.is_server_compatible(2, 10, 0) {
        return Err(trouble(&format!("it is version {version}, and 2.10 is the oldest that will do")));
    }
    let mut context = jetstream::new(client.clone());
    context.set_timeout(PATIENCE);
    if let Err(error) = context.query_account().await {
        return Err(match error.kind() {
            context::AccountErrorKind::JetStreamUnavailable => trouble(&"JetStream is not enabled there"),
            context::AccountErrorKind::JetStream(error) => trouble(&error),
            _ => trouble(&error),
        });
    }
    let (jobs, plans, results) = (text::jobs(), text::plans(), text::results());
    let tasks = stream::Config {
        name: text::tasks(),
        subjects: vec![text::subject(0).replace(".0", ".*")],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::File,
        num_replicas: 1,
        allow_direct: true,
        ..stream::Config::default()
    };
    Ok(Link {
        counts: bucket(&context, text::COUNTS, Duration::ZERO).await?,
        jobs: bucket(&context, &jobs, Duration::ZERO).await?,
        plans: bucket(&context, &plans, Duration::ZERO).await?,
        results: bucket(&context, &results, Duration::ZERO).await?,
        alive: bucket(&context, text::ALIVE, GONE).await?,
        tasks: context.get_or_create_stream(tasks).await.map_err(|error| trouble(&error))?,
        context,
    })
}

async fn bucket(context: &Context, name: &str, max_age: Duration) -> Result<kv::Store, Trouble> {
    if let Ok(store) = context.get_key_value(name).await {
        return Ok(store);
    }
    let config = kv::Config { bucket: name.to_owned(), history: 1, max_age, num_replicas: 1, ..kv::Config::default() };
    match context.create_key_value(config).await {
        Ok(store) => Ok(store),
        // Another one may have been faster.
        Err(error) => context.get_key_value(name).await.map_err(|_| trouble(&cause(&error))),
    }
}

/// The innermost cause, which says most.
pub fn cause(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

impl Link {
    /// Makes the consumer of a size, or makes it as it should be.
    ///
    /// # Errors
    /// What is wrong with NATS.
    pub async fn make_consumer(&self, n: u32, redelivery: Duration) -> Result<(), Trouble> {
        let config = pull::Config {
            durable_name: Some(text::consumer(n)),
            filter_subject: text::subject(n),
            ack_policy: AckPolicy::Explicit,
            ack_wait: redelivery,
            max_ack_pending: -1,
            max_waiting: 10_000,
            ..pull::Config::default()
        };
        self.tasks.create_consumer(config).await.map(drop).map_err(|error| trouble(&cause(&error)))
    }

    /// The consumer of a size.
    ///
    /// # Errors
    /// What is wrong with NATS, or that a planner has not made it yet.
    pub async fn consumer(&self, n: u32) -> Result<PullConsumer, Trouble> {
        self.tasks.get_consumer(&text::consumer(n)).await.map_err(|error| trouble(&error))
    }

    /// Takes all messages of a size out of the stream.
    ///
    /// # Errors
    /// What is wrong with NATS.
    pub async fn purge_tasks(&self, n: u32) -> Result<(), Trouble> {
        self.tasks.purge().filter(text::subject(n)).await.map(drop).map_err(|error| trouble(&error))
    }

    /// Takes results with these keys away, `>` standing for any end. No trace is left, so that not even traces pile up.
    ///
    /// # Errors
    /// What is wrong with NATS.
    pub async fn purge_results(&self, keys: &str) -> Result<(), Trouble> {
        let subject = format!("{}{keys}", self.results.prefix);
        self.results.stream.purge().filter(subject).await.map(drop).map_err(|error| trouble(&error))
    }
}
