//! One connection from its opening to its end.

use super::alarm::Alarm;
use super::phase::{Limits, Shared};
use super::socket::Socket;
use crate::http::{Arrival, Service, Watch, Watched};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// How many bytes of a request's header, and of an answer that its reader does not take, a connection may hold.
const BUFFER: usize = 64 << 10;

/// A connection that was accepted.
pub(super) struct Connection {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    pub phase: Shared,
    pub limits: Limits,
    /// It has one of the places beyond the cap: it is answered once, and only about the service itself.
    pub beyond: bool,
    /// When to end after the request under way.
    pub please_end: CancellationToken,
}

impl Connection {
    /// Serves it to its end: the caller's, the service's, or the one that its deadline sets.
    pub(super) async fn serve(self, its_service: Service) {
        let Self { stream, peer, phase, limits, beyond, please_end } = self;
        let socket = Socket::new(stream, phase.clone());
        let its_phase = phase.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (with_body, at) = (!request.body().is_end_stream(), Instant::now());
            phase.lock().asked(with_body, at);
            let answering = Answering(phase.clone());
            let asking = with_body.then(|| Asking(phase.clone()));
            let mut request: Request = request.map(|body| match asking {
                Some(asking) => Body::new(Watched::new(body, asking)),
                None => Body::empty(),
            });
            request.extensions_mut().insert(Arrival { at, peer, beyond });
            let answer = its_service.answer(request);
            async move {
                let mut response = answer.await;
                if beyond {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response.map(|body| Watched::new(body, answering)))
            }
        });
        let connection = http1::Builder::new()
            .half_close(true) // who has closed its sending side may still be reading; see `Socket`
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(socket), service);
        let (mut connection, mut please_end) = (pin!(connection), pin!(please_end.cancelled()));
        let (mut told, mut alarm) = (false, Alarm::default());
        // All that moves the phase happens within this poll, so its deadline is right after it.
        poll_fn(|cx| {
            if !told && please_end.as_mut().poll(cx).is_ready() {
                told = true;
                connection.as_mut().graceful_shutdown(); // at once where idle, else after the request under way
            }
            // An error is the caller's: it left, or did not speak HTTP. Its access line tells enough.
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let deadline = its_phase.lock().deadline(&limits);
            match deadline {
                Some(deadline) if alarm.rings(deadline, cx) => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}

/// Watches a request's body.
struct Asking(Shared);

impl Watch<Incoming> for Asking {
    fn sees(&mut self, body: &Incoming, frame: Option<&Frame<Bytes>>) {
        if frame.is_none() || body.is_end_stream() {
            self.0.lock().body_ended();
        }
    }
}

/// While this lives, a request is being answered: to the end of the answer's body.
struct Answering(Shared);

impl<B: hyper::body::Body> Watch<B> for Answering {}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.lock().answered();
    }
}
