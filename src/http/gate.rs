//! The gate before the router: it lets a request through, unless HTTP itself, the service's end or one connection too many
//! forbids it, and applies to the answer what its headers say whatever the route is: conditions and content coding.
//! Behind it is a net: a handler that panics is answered for. All this is within the cross-origin rules, so that a page's
//! script can read why.

use crate::http::request::{Arrival, Conditions, Current, Unmet, framing};
use crate::http::response::Problem;
use crate::http::response::coding;
use crate::http::state::App;
use crate::telemetry::panic_message;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower::Service;

/// See the module.
#[derive(Clone)]
pub struct Gate {
    app: App,
    router: Router,
}

impl Service<Request> for Gate {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // What is about the service itself goes on to its end, and depends on no coding.
        let about_itself = matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics");
        let refused = framing::fault(&request).or_else(|| if about_itself { None } else { self.closed_to(&request) });
        if let Some(problem) = refused {
            return Answering::Refused(ready(Ok(problem.into_response())));
        }
        let headers = request.headers();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        Answering::LetThrough {
            conditions: reads.then(|| Conditions::of(request.method(), headers)).filter(|those| !those.is_empty()),
            coding: (!about_itself).then(|| coding::coded_from(headers)),
            answer: self.router.call(request),
        }
    }
}

impl Gate {
    /// The gate before a router.
    pub fn new(app: App, router: Router) -> Self {
        Self { app, router }
    }

    fn closed_to(&self, request: &Request) -> Option<Problem> {
        let beyond = |request: &Request| request.extensions().get::<Arrival>().is_some_and(|arrival| arrival.beyond);
        match () {
            () if self.app.is_ending() => Some(Problem::ShuttingDown),
            () if beyond(request) => Some(Problem::TooManyConnections),
            () => None,
        }
    }
}

/// The answer to a request, on its way out through the gate.
#[expect(clippy::large_enum_variant, reason = "few requests are refused, and a box is a cost to all others")]
pub enum Answering {
    /// That it is not let through.
    Refused(Ready<Result<Response, Infallible>>),
    /// That of its route.
    LetThrough {
        /// What the route answers.
        answer: RouteFuture<Infallible>,
        /// The conditions of a request that only reads.
        conditions: Option<Conditions>,
        /// How the answer is coded, if at all; see [`coding::code`].
        coding: Option<Option<u64>>,
    },
}

impl Future for Answering {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Refused(problem) => Pin::new(problem).poll(cx),
            Self::LetThrough { answer, conditions, coding } => {
                let mut response = match catch_unwind(AssertUnwindSafe(|| Pin::new(answer).poll(cx))) {
                    Ok(answer) => ready!(answer)?,
                    Err(panic) => Problem::Internal { message: panic_message(panic.as_ref()) }.into_response(),
                };
                if let Some(conditions) = conditions
                    && response.status().is_success()
                {
                    response = under(conditions, response);
                }
                Poll::Ready(Ok(match coding {
                    Some(from) => coding::code(response, *from),
                    None => response,
                }))
            }
        }
    }
}

/// The answer to a request that only reads, under its conditions. Its body is made as it is sent, so dropping it costs
/// nothing; answers that take a search have looked before it.
fn under(conditions: &Conditions, response: Response) -> Response {
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    match conditions.unmet(tag.map_or(Current::Untagged, Current::Tagged)) {
        None => response,
        Some(Unmet::Failed) => Problem::PreconditionFailed.into_response(),
        Some(Unmet::NotModified) => {
            let (mut parts, _) = response.into_parts();
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(CONTENT_TYPE);
            parts.headers.remove(CONTENT_LENGTH);
            Response::from_parts(parts, Body::empty())
        }
    }
}
