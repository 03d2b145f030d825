//! The listener: a cap on connections, deadlines on silent ones, and an orderly end.
//!
//! A connection goes through phases (`phase`), from which follows what it may wait for: a request's header, the next
//! request, a reader that takes nothing. The HTTP library has one timeout for the first and the second of these, so
//! the deadlines are kept here, around its connection (`connection`), from what its socket sees (`socket`). A caller
//! whose body is refused while it still sends it is listened to a little longer, so that it reads why. One that closes
//! its sending side is answered if that is soon, and else taken for gone.

mod alarm;
mod connection;
mod phase;
mod places;
mod socket;

use crate::config::Config;
use crate::http::{self, App, Service};
use crate::telemetry::AccessLog;
use connection::Connection;
use phase::{Limits, Shared};
use places::{Place, Places};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// When a service is to end. A plain token is one that asks only once.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// In order.
    pub first: CancellationToken,
    /// Without waiting for requests under way.
    pub second: CancellationToken,
}

impl From<CancellationToken> for Shutdown {
    fn from(first: CancellationToken) -> Self {
        Self { first, second: CancellationToken::new() }
    }
}

/// What is finished has at least so long to be written at the end, however short the drain.
const KEEP: Duration = Duration::from_secs(1);

/// Serves on `listener` until `shutdown`, then ends in order: new requests are turned away and every search is stopped
/// at once; requests under way, and the data directory, have the drain time to end; what is left then is cut off.
pub async fn run(listener: TcpListener, config: Config, access_log: AccessLog, shutdown: impl Into<Shutdown>) {
    let shutdown = shutdown.into();
    let places = Places::new(config.max_connections as usize);
    let app = http::open(config, access_log);
    let server = Server {
        places,
        service: http::service(app.clone()),
        app,
        ending: CancellationToken::new(),
        cut_off: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    tokio::select! {
        () = server.accept(&listener) => {}
        () = shutdown.first.cancelled() => {}
    }
    tracing::info!("shutting down");
    let deadline = Instant::now() + server.app.config.drain;
    server.app.end().await;
    server.ending.cancel();
    server.tasks.close();
    let drain = async {
        // Whoever still connects is answered that the service is ending.
        let drained = tokio::select! {
            () = server.accept(&listener) => false,
            drained = timeout_at(deadline.into(), server.tasks.wait()) => drained.is_ok(),
            () = shutdown.second.cancelled() => false,
        };
        if !drained {
            tracing::warn!(connections = server.tasks.len(), "the drain is over; open connections are cut off");
        }
        server.cut_off.cancel();
    };
    let ((), lost) = tokio::join!(drain, server.app.kept(deadline.max(Instant::now() + KEEP)));
    if lost > 0 {
        tracing::error!(
            tasks = lost,
            "the data directory did not take all that is finished in time; so many tasks are lost"
        );
    }
}

struct Server {
    app: App,
    service: Service,
    places: Arc<Places>,
    /// Connections should end after the request under way.
    ending: CancellationToken,
    /// Connections should end now.
    cut_off: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Accepts connections for ever. Those for which there is no place, not even beyond the cap, wait in the kernel's
    /// backlog.
    async fn accept(&self, listener: &TcpListener) {
        let mut pause = Duration::ZERO;
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    pause = Duration::ZERO;
                    let place = self.places.enter().await;
                    self.spawn(stream, peer, place);
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    // Out of file descriptors or memory: trying again at once would only spin.
                    pause = (pause * 2).clamp(Duration::from_millis(10), Duration::from_secs(1));
                    tracing::warn!(%error, "cannot accept connections; trying again in {pause:?}");
                    sleep(pause).await;
                }
            }
        }
    }

    fn spawn(&self, stream: TcpStream, peer: SocketAddr, place: Place) {
        // One that came when the service was ending already is answered so, but not waited for.
        let late = self.ending.is_cancelled();
        let please_end = if late { CancellationToken::new() } else { self.ending.child_token() };
        let (app, service, cut_off) = (self.app.clone(), self.service.clone(), self.cut_off.clone());
        let places = Arc::clone(&self.places);
        app.metrics.connections.inc();
        let task = async move {
            let connection = async {
                let place = places.settle(place).await;
                let (phase, beyond) = (Shared::opened(), place.beyond);
                let _registered = places.register(phase.clone(), please_end.clone());
                let limits = limits(&app.config, beyond);
                Connection { stream, peer, phase, limits, beyond, please_end }.serve(service).await;
                drop(place);
            };
            tokio::select! {
                () = connection => {}
                () = cut_off.cancelled() => {}
            }
            app.metrics.connections.dec();
        };
        if late {
            tokio::spawn(task);
        } else {
            self.tasks.spawn(task);
        }
    }
}

/// A place beyond the cap is wanted by the next one, so whoever has it must ask at once.
const HEADER_TIMEOUT_BEYOND: Duration = Duration::from_secs(1);

fn limits(config: &Config, beyond: bool) -> Limits {
    let header = config.header_timeout;
    Limits {
        header: if beyond { header.min(HEADER_TIMEOUT_BEYOND) } else { header },
        keep_alive: config.keep_alive,
        stall: config.stream_time_limit,
    }
}

/// Whether accepting failed for the sake of one connection alone, which was gone before it was accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
