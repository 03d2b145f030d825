//! The listener: a cap on connections, deadlines on silent ones, and an orderly end.
//!
//! A connection goes through phases. From its opening, or from the first byte of a further request, its header must
//! be complete within the header timeout; while a request is answered there is no deadline on reading, since the
//! handlers have theirs; then it may be idle for the keep-alive time. The HTTP library has one timeout for the first
//! and the last of these, so the deadlines are kept here, around the socket. A reader that takes no byte of its
//! answer for the whole of the stream time limit is given up too. A caller whose body is refused while it still sends it
//! is listened to a little longer, so that it reads why.

mod deadlines;

use crate::config::Config;
use crate::http::{self, App, Peer, router};
use crate::telemetry::AccessLog;
use axum::Router;
use axum::extract::Request;
use deadlines::Guarded;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// Serves on `listener` until `shutdown` is cancelled, then ends in order: new requests are turned away and every
/// search is stopped at once; requests under way have the drain time to end; what is left then is cut off.
pub async fn run(listener: TcpListener, config: Config, access_log: AccessLog, shutdown: CancellationToken) {
    let connections = Arc::new(Semaphore::new(config.max_connections as usize));
    let app = http::open(config, access_log).await;
    let server = Server {
        connections,
        router: router(app.clone()),
        app,
        make_room: Arc::default(),
        ending: CancellationToken::new(),
        cut_off: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    tokio::select! {
        () = server.accept(&listener) => {}
        () = shutdown.cancelled() => {}
    }
    tracing::info!("shutting down");
    server.app.end().await;
    server.ending.cancel();
    server.tasks.close();
    // Whoever still connects is answered that the service is ending.
    let drained = tokio::select! {
        () = server.accept(&listener) => false,
        drained = timeout(server.app.config.drain, server.tasks.wait()) => drained.is_ok(),
    };
    if !drained {
        tracing::warn!(connections = server.tasks.len(), "the drain time is over; open connections are cut off");
    }
    server.cut_off.cancel();
}

struct Server {
    app: App,
    router: Router,
    connections: Arc<Semaphore>,
    /// Idle connections should make room for one that waits to be accepted.
    make_room: Arc<Notify>,
    /// Connections should end after the request under way.
    ending: CancellationToken,
    /// Connections should end now.
    cut_off: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Accepts connections for ever. At the cap, idle ones are closed, and new ones wait in the kernel's backlog until
    /// there is room.
    async fn accept(&self, listener: &TcpListener) {
        let mut pause = Duration::ZERO;
        loop {
            let permit = self.room().await;
            match listener.accept().await {
                Ok((stream, peer)) => {
                    pause = Duration::ZERO;
                    let _ = stream.set_nodelay(true); // answers are written whole; waiting for more helps nobody
                    self.spawn(stream, peer, permit);
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

    /// Waits until there may be one more connection.
    async fn room(&self) -> OwnedSemaphorePermit {
        loop {
            let room = Arc::clone(&self.connections).acquire_owned();
            // The semaphore is never closed, so all that can go wrong is that it takes too long.
            if let Ok(Ok(permit)) = timeout(MAKE_ROOM_EVERY, room).await {
                return permit;
            }
            self.make_room.notify_waiters();
        }
    }

    fn spawn(&self, stream: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        // One that came when the service was ending already is answered so, but not waited for.
        let late = self.ending.is_cancelled();
        let ending = if late { CancellationToken::new() } else { self.ending.clone() };
        let connection = serve(
            Guarded::new(stream, &self.app.config),
            peer,
            self.router.clone(),
            ending,
            Arc::clone(&self.make_room),
        );
        let (app, cut_off) = (self.app.clone(), self.cut_off.clone());
        app.metrics.connections.inc();
        let task = async move {
            tokio::select! {
                () = connection => {}
                () = cut_off.cancelled() => {}
            }
            app.metrics.connections.dec();
            drop(permit);
        };
        if late {
            tokio::spawn(task);
        } else {
            self.tasks.spawn(task);
        }
    }
}

/// How long a full house waits before it looks for idle connections to close.
const MAKE_ROOM_EVERY: Duration = Duration::from_millis(100);

/// How many bytes of a request's header, and of an answer that its reader does not take, a connection may hold.
const BUFFER: usize = 64 << 10;

/// Serves one connection to its end.
async fn serve(
    stream: Guarded<TcpStream>,
    peer: SocketAddr,
    router: Router,
    ending: CancellationToken,
    make_room: Arc<Notify>,
) {
    let (phase, its_phase) = (stream.phase(), stream.phase());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let answering = phase.answering();
        let mut request = request.map(|body| axum::body::Body::new(phase.noting_end_of(body)));
        request.extensions_mut().insert(Peer(peer));
        let answer = router.clone().oneshot(request as Request);
        async move { answer.await.map(|response| response.map(|body| answering.until_end_of(body))) }
    });
    let connection = http1::Builder::new()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // An error here is the caller's: it left, was too slow, or did not speak HTTP. Its access line tells enough.
    loop {
        tokio::select! {
            ended = connection.as_mut() => { let _ = ended; return; }
            () = ending.cancelled() => break,
            () = make_room.notified() => if its_phase.is_idle() { break },
        }
    }
    connection.as_mut().graceful_shutdown(); // at once where idle, else after the request under way
    let _ = connection.await;
}

/// Whether accepting failed for the sake of one connection alone, which was gone before it was accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
