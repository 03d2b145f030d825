//! Every error of the service, as `application/problem+json` (RFC 9457).

use crate::compute::Failure;
use crate::runs::Refusal;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What can go wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A path segment or a query parameter is not spelled as one can be.
    InvalidParameter {
        /// The parameter's name.
        parameter: String,
        /// What is wrong and what is expected.
        detail: String,
    },
    /// A query parameter that the route does not have.
    UnknownParameter {
        /// The name it came under.
        parameter: String,
        /// The names the route has.
        known: &'static [&'static str],
    },
    /// A query parameter is given more than once.
    RepeatedParameter {
        /// The parameter's name.
        parameter: String,
    },
    /// The Host header is missing, repeated or no host.
    InvalidHost {
        /// Which of these.
        detail: &'static str,
    },
    /// A body came where none belongs.
    UnexpectedBody,
    /// The body is not JSON, or not of the route's form.
    InvalidBody {
        /// What is wrong, and where.
        detail: String,
        /// The place in the body, as `b[3]`; empty where there is none.
        path: String,
    },
    /// There is no such route or file.
    NotFound,
    /// Nobody has asked for this job.
    NoSuchJob {
        /// The size it would count.
        n: u32,
    },
    /// A job that is done or has failed cannot be cancelled.
    JobIsFinal {
        /// The size it counts.
        n: u32,
        /// Its state.
        state: &'static str,
    },
    /// The route needs the configured token.
    Unauthorized,
    /// The route exists, but not with this method.
    MethodNotAllowed,
    /// None of the formats that the request accepts can be had.
    NotAcceptable {
        /// Why.
        detail: String,
        /// The media types that can be had.
        available: Vec<&'static str>,
    },
    /// The body did not come in time.
    BodyTimeout {
        /// How long it, or its next part, may take.
        limit: Duration,
    },
    /// The request was to be carried out only under a condition that does not hold.
    PreconditionFailed,
    /// The body is too large.
    BodyTooLarge {
        /// The most bytes that the route takes.
        max_bytes: usize,
    },
    /// The body's media type is not the route's.
    UnsupportedMediaType,
    /// The body is coded, mostly compressed.
    UnsupportedContentCoding,
    /// The message is coded for its transfer otherwise than in chunks.
    UnsupportedTransferCoding,
    /// A number is understood but outside the parameter's range.
    ValueOutOfRange {
        /// The parameter's name.
        parameter: &'static str,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// A list of columns is no board of its size, or a square is not on it.
    OffBoard {
        /// Which square or list, and what the board has.
        detail: String,
        /// Its place in the body, or the parameter's name.
        path: String,
    },
    /// Queens that were to be kept attack each other.
    AttackingQueens {
        /// The pairs, the first thousand by rows, as they are listed by `/verify`.
        conflicts: Value,
        /// How many pairs there are.
        total: u64,
    },
    /// A queen that was to be kept stands on a blocked square.
    QueenOnBlocked {
        /// The queen's row.
        row: u32,
        /// The queen's column.
        column: u32,
    },
    /// n is understood but outside the route's range.
    SizeOutOfRange {
        /// n, where it fits a JSON number that every client reads exactly.
        n: Option<u64>,
        /// The smallest n of the route.
        min: u32,
        /// The largest n of the route.
        max: u32,
        /// What the limit is for.
        detail: String,
        /// The job that would do it, relative to the route's path, if one would be accepted.
        job: Option<String>,
    },
    /// Where jobs are kept cannot be used.
    StorageUnavailable {
        /// What that is.
        place: &'static str,
        /// Why, in plain words.
        reason: String,
        /// When asking again may help.
        again: Duration,
    },
    /// Counting takes more memory than this process has.
    TooLittleMemory {
        /// The size.
        n: u32,
        /// How many bytes it takes about.
        needed: u64,
        /// How many there are.
        limit: u64,
    },
    /// A bug. What went wrong is for the log, not for the caller.
    Internal {
        /// For the log.
        message: String,
    },
    /// No worker is free and the line is full.
    Overloaded,
    /// The request came over one connection more than there may be.
    TooManyConnections,
    /// The bodies that other requests are sending take all the room there is for them.
    NoBodyRoom,
    /// The request's time is up.
    TimeLimit {
        /// How long a request may take.
        limit: Duration,
    },
    /// The service is ending.
    ShuttingDown,
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Storage { place, reason, again } => Self::StorageUnavailable { place, reason, again },
            Refusal::Memory { n, needed, limit } => Self::TooLittleMemory { n: n.get(), needed, limit },
            Refusal::Ending => Self::ShuttingDown,
        }
    }
}

/// Rides on a 500 response to the log.
#[derive(Clone, Debug)]
pub struct InternalMessage(pub String);

/// The media type of every error.
pub const MEDIA_TYPE: &str = "application/problem+json";

impl Problem {
    /// The problem that a failed search is, given how long a request may take.
    #[must_use]
    pub fn of_failure(failure: Failure, limit: Duration) -> Self {
        match failure {
            Failure::Overloaded => Self::Overloaded,
            Failure::TimeLimit => Self::TimeLimit { limit },
            Failure::ShuttingDown => Self::ShuttingDown,
            Failure::Panicked(message) => Self::Internal { message },
        }
    }

    /// The problem that a body is which ended before its end, or is not framed as announced.
    #[must_use]
    pub fn broken_body() -> Self {
        Self::InvalidBody { detail: "The body broke off, or its framing is broken.".to_owned(), path: String::new() }
    }

    /// What there is to say of each kind of problem.
    fn told(self) -> Told {
        let told = |name, title, status, detail: &str| Told::new(name, title, status, detail.to_owned());
        match self {
            Self::InvalidParameter { parameter, detail } => {
                told("invalid-parameter", "Invalid parameter", 400, &format!("'{parameter}' {detail}"))
                    .with(json!({ "parameter": parameter }))
            }
            Self::UnknownParameter { parameter, known } => {
                let has = if known.is_empty() { "has none".to_owned() } else { format!("has: {}", known.join(", ")) };
                let detail = format!("There is no parameter '{parameter}' here; this route {has}.");
                told("unknown-parameter", "Unknown parameter", 400, &detail)
                    .with(json!({ "parameter": parameter, "known": known }))
            }
            Self::RepeatedParameter { parameter } => {
                let detail = format!("'{parameter}' is given more than once.");
                told("repeated-parameter", "Repeated parameter", 400, &detail).with(json!({ "parameter": parameter }))
            }
            Self::InvalidHost { detail } => told("invalid-host", "Invalid Host header", 400, detail).closing(),
            Self::UnexpectedBody => {
                told("unexpected-body", "Unexpected body", 400, "This request takes no body.").closing()
            }
            Self::InvalidBody { detail, path } => {
                told("invalid-body", "Invalid body", 400, &detail).with(json!({ "path": path }))
            }
            Self::NotFound => {
                told("not-found", "Not found", 404, "There is nothing at this path; GET / lists the routes.")
            }
            Self::NoSuchJob { n } => {
                let detail = format!("Nobody has asked for the count of size {n}; PUT does.");
                told("no-such-job", "No such job", 404, &detail).with(json!({ "n": n }))
            }
            Self::JobIsFinal { n, state } => {
                let detail = format!("The job is {state}; only one that is not can be cancelled.");
                told("job-is-final", "The job is final", 409, &detail).with(json!({ "n": n, "state": state }))
            }
            Self::Unauthorized => {
                let detail =
                    "Starting and cancelling jobs takes the service's token, as 'Authorization: Bearer TOKEN'.";
                told("unauthorized", "Unauthorized", 401, detail)
                    .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            Self::MethodNotAllowed => {
                let detail = "This path does not take this method; the Allow header lists those it takes.";
                told("method-not-allowed", "Method not allowed", 405, detail)
            }
            Self::NotAcceptable { detail, available } => {
                told("not-acceptable", "Not acceptable", 406, &detail).with(json!({ "available": available }))
            }
            Self::BodyTimeout { limit } => {
                told("body-timeout", "Body too slow", 408, &format!("The body did not come within {limit:?}."))
                    .closing()
            }
            Self::PreconditionFailed => {
                let detail = "The condition in If-Match or If-None-Match does not hold, so nothing was done.";
                told("precondition-failed", "Precondition failed", 412, detail)
            }
            Self::BodyTooLarge { max_bytes } => {
                let detail = format!("This route takes bodies of at most {max_bytes} bytes.");
                told("body-too-large", "Body too large", 413, &detail).with(json!({ "max_bytes": max_bytes })).closing()
            }
            Self::UnsupportedMediaType => {
                let detail = "The body must be JSON; send it with 'Content-Type: application/json'.";
                told("unsupported-media-type", "Unsupported media type", 415, detail)
                    .header(ACCEPT, HeaderValue::from_static("application/json"))
                    .closing()
            }
            Self::UnsupportedContentCoding => {
                let detail = "The body must be sent as it is, neither compressed nor coded otherwise.";
                told("unsupported-content-coding", "Unsupported content coding", 415, detail)
                    .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
                    .closing()
            }
            Self::UnsupportedTransferCoding => {
                let detail = "The only transfer coding that is understood is 'chunked', once.";
                told("unsupported-transfer-coding", "Unsupported transfer coding", 501, detail).closing()
            }
            Self::ValueOutOfRange { parameter, min, max } => {
                let detail = format!("'{parameter}' takes {min} to {max}.");
                told("value-out-of-range", "Value out of range", 422, &detail)
                    .with(json!({ "parameter": parameter, "min": min, "max": max }))
            }
            Self::OffBoard { detail, path } => {
                told("off-board", "Off the board", 422, &detail).with(json!({ "path": path }))
            }
            Self::AttackingQueens { conflicts, total } => {
                let detail = match total {
                    1 => "Two of the given queens attack each other.".to_owned(),
                    _ => format!("{total} pairs of the given queens attack each other."),
                };
                told("attacking-queens", "Attacking queens", 422, &detail)
                    .with(json!({ "conflicts": conflicts, "conflicts_total": total }))
            }
            Self::QueenOnBlocked { row, column } => {
                let detail = format!("The given queen in row {row}, column {column} stands on a blocked square.");
                told("queen-on-blocked", "Queen on a blocked square", 422, &detail)
                    .with(json!({ "row": row, "column": column }))
            }
            Self::SizeOutOfRange { n, min, max, detail, job } => {
                let told = told("size-out-of-range", "Size out of range", 422, &detail);
                let told = if let Some(n) = n { told.with(json!({ "n": n })) } else { told };
                let told = told.with(json!({ "min": min, "max": max }));
                if let Some(job) = job { told.with(json!({ "job": job })) } else { told }
            }
            Self::Internal { message } => {
                let detail = "Something went wrong in the service; the log has the details.";
                Told { for_the_log: Some(message), ..told("internal", "Internal error", 500, detail) }
            }
            Self::StorageUnavailable { place, reason, again } => {
                let place = place.replacen("the ", "The ", 1);
                let detail = format!("{place} cannot be used: {reason}.");
                told("storage-unavailable", "Storage unavailable", 503, &detail).again_in(again.as_secs().max(1))
            }
            Self::TooLittleMemory { n, needed, limit } => {
                let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
                let (needed, limit) = (megabytes(needed), megabytes(limit));
                let detail =
                    format!("Counting n = {n} takes about {needed} MB of memory, and this service has {limit} MB.");
                told("too-little-memory", "Too little memory", 422, &detail)
                    .with(json!({ "n": n, "needed_mb": needed, "limit_mb": limit }))
            }
            Self::Overloaded => {
                let detail = "All workers are busy and the line for them is full; try again soon.";
                told("overloaded", "Overloaded", 503, detail).again_in(1)
            }
            Self::TooManyConnections => {
                let detail = "There are as many connections as there may be, and none of them is idle; try again soon.";
                told("overloaded", "Overloaded", 503, detail).again_in(1).closing()
            }
            Self::NoBodyRoom => {
                let detail = "The bodies of other requests take all the memory there is for them; try again soon.";
                told("no-body-room", "No room for the body", 503, detail).again_in(1).closing()
            }
            Self::TimeLimit { limit } => {
                let detail = format!("The answer was not found within the {limit:?} that a request may take.");
                told("time-limit", "Time limit reached", 503, &detail).again_in(limit.as_secs().max(1))
            }
            Self::ShuttingDown => {
                told("shutting-down", "Shutting down", 503, "The service is shutting down; try again soon.")
                    .again_in(1)
                    .closing()
            }
        }
    }
}

/// All that there is to say of one problem.
struct Told {
    /// The last part of its type.
    name: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// Fields of its own.
    fields: Map<String, Value>,
    headers: HeaderMap,
    for_the_log: Option<String>,
}

impl Told {
    fn new(name: &'static str, title: &'static str, status: u16, detail: String) -> Self {
        Self { name, title, status, detail, fields: Map::new(), headers: HeaderMap::new(), for_the_log: None }
    }

    /// With the fields of this object.
    fn with(mut self, fields: Value) -> Self {
        if let Value::Object(fields) = fields {
            self.fields.extend(fields);
        }
        self
    }

    fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Trying again after so many seconds can help.
    fn again_in(self, seconds: u64) -> Self {
        self.header(RETRY_AFTER, seconds.into())
    }

    /// The rest of the request is not read, so the connection cannot be used again.
    fn closing(self) -> Self {
        self.header(CONNECTION, HeaderValue::from_static("close"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Told { name, title, status, detail, fields, headers, for_the_log } = self.told();
        let mut body = Map::new();
        body.insert("type".to_owned(), format!("urn:nqueens:problem:{name}").into());
        body.insert("title".to_owned(), title.into());
        body.insert("status".to_owned(), status.into());
        body.insert("detail".to_owned(), detail.into());
        body.extend(fields);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let about = [(CONTENT_TYPE, MEDIA_TYPE), (CACHE_CONTROL, "no-store")];
        let mut response = (status, about, headers, Value::Object(body).to_string()).into_response();
        if let Some(message) = for_the_log {
            response.extensions_mut().insert(InternalMessage(message));
        }
        response
    }
}

/// The answer to a path that does not exist.
pub async fn not_found() -> Problem {
    Problem::NotFound
}

/// The answer to a method that a path does not take. The router adds `Allow`.
pub async fn method_not_allowed() -> Problem {
    Problem::MethodNotAllowed
}
