//! Every error of the service, as `application/problem+json` (RFC 9457).

use crate::compute::Failure;
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
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
        /// How long a request may take.
        limit: Duration,
    },
    /// The body is too large.
    BodyTooLarge {
        /// The most bytes that the route takes.
        max_bytes: usize,
    },
    /// The body's media type is not the route's.
    UnsupportedMediaType,
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
        /// The path of the job that would do it, if one would be accepted.
        job: Option<String>,
    },
    /// The data directory cannot be used.
    StorageUnavailable {
        /// Why, in plain words.
        reason: String,
    },
    /// A bug. What went wrong is for the log, not for the caller.
    Internal {
        /// For the log.
        message: String,
    },
    /// No worker is free and the line is full.
    Overloaded,
    /// The request's time is up.
    TimeLimit {
        /// How long a request may take.
        limit: Duration,
    },
    /// The service is ending.
    ShuttingDown,
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

    /// The last part of the problem's type, its title and its status.
    fn kind(&self) -> (&'static str, &'static str, StatusCode) {
        match self {
            Self::InvalidParameter { .. } => ("invalid-parameter", "Invalid parameter", StatusCode::BAD_REQUEST),
            Self::UnknownParameter { .. } => ("unknown-parameter", "Unknown parameter", StatusCode::BAD_REQUEST),
            Self::RepeatedParameter { .. } => ("repeated-parameter", "Repeated parameter", StatusCode::BAD_REQUEST),
            Self::UnexpectedBody => ("unexpected-body", "Unexpected body", StatusCode::BAD_REQUEST),
            Self::InvalidBody { .. } => ("invalid-body", "Invalid body", StatusCode::BAD_REQUEST),
            Self::NotFound => ("not-found", "Not found", StatusCode::NOT_FOUND),
            Self::NoSuchJob { .. } => ("no-such-job", "No such job", StatusCode::NOT_FOUND),
            Self::JobIsFinal { .. } => ("job-is-final", "The job is final", StatusCode::CONFLICT),
            Self::Unauthorized => ("unauthorized", "Unauthorized", StatusCode::UNAUTHORIZED),
            Self::MethodNotAllowed => ("method-not-allowed", "Method not allowed", StatusCode::METHOD_NOT_ALLOWED),
            Self::NotAcceptable { .. } => ("not-acceptable", "Not acceptable", StatusCode::NOT_ACCEPTABLE),
            Self::BodyTimeout { .. } => ("body-timeout", "Body too slow", StatusCode::REQUEST_TIMEOUT),
            Self::BodyTooLarge { .. } => ("body-too-large", "Body too large", StatusCode::PAYLOAD_TOO_LARGE),
            Self::UnsupportedMediaType => {
                ("unsupported-media-type", "Unsupported media type", StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::ValueOutOfRange { .. } => {
                ("value-out-of-range", "Value out of range", StatusCode::UNPROCESSABLE_ENTITY)
            }
            Self::OffBoard { .. } => ("off-board", "Off the board", StatusCode::UNPROCESSABLE_ENTITY),
            Self::AttackingQueens { .. } => ("attacking-queens", "Attacking queens", StatusCode::UNPROCESSABLE_ENTITY),
            Self::QueenOnBlocked { .. } => {
                ("queen-on-blocked", "Queen on a blocked square", StatusCode::UNPROCESSABLE_ENTITY)
            }
            Self::SizeOutOfRange { .. } => ("size-out-of-range", "Size out of range", StatusCode::UNPROCESSABLE_ENTITY),
            Self::StorageUnavailable { .. } => {
                ("storage-unavailable", "Storage unavailable", StatusCode::SERVICE_UNAVAILABLE)
            }
            Self::Internal { .. } => ("internal", "Internal error", StatusCode::INTERNAL_SERVER_ERROR),
            Self::Overloaded => ("overloaded", "Overloaded", StatusCode::SERVICE_UNAVAILABLE),
            Self::TimeLimit { .. } => ("time-limit", "Time limit reached", StatusCode::SERVICE_UNAVAILABLE),
            Self::ShuttingDown => ("shutting-down", "Shutting down", StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::InvalidParameter { parameter, detail } => format!("'{parameter}' {detail}"),
            Self::UnknownParameter { parameter, known: [] } => {
                format!("There is no parameter '{parameter}' here; this route has none.")
            }
            Self::UnknownParameter { parameter, known } => {
                format!("There is no parameter '{parameter}' here; this route has: {}.", known.join(", "))
            }
            Self::RepeatedParameter { parameter } => format!("'{parameter}' is given more than once."),
            Self::UnexpectedBody => "This request takes no body.".to_owned(),
            Self::NotFound => "There is nothing at this path; GET / lists the routes.".to_owned(),
            Self::NoSuchJob { n } => format!("Nobody has asked for the count of size {n}; PUT does."),
            Self::JobIsFinal { state, .. } => format!("The job is {state}; only one that is not can be cancelled."),
            Self::Unauthorized => {
                "Starting and cancelling jobs takes the service's token, as 'Authorization: Bearer TOKEN'.".to_owned()
            }
            Self::StorageUnavailable { reason } => format!("The data directory cannot be used: {reason}."),
            Self::MethodNotAllowed => {
                "This path does not take this method; the Allow header lists those it takes.".to_owned()
            }
            Self::NotAcceptable { detail, .. }
            | Self::SizeOutOfRange { detail, .. }
            | Self::InvalidBody { detail, .. }
            | Self::OffBoard { detail, .. } => detail.clone(),
            Self::BodyTimeout { limit } => format!("The body did not come within {limit:?}."),
            Self::BodyTooLarge { max_bytes } => format!("This route takes bodies of at most {max_bytes} bytes."),
            Self::UnsupportedMediaType => {
                "The body must be JSON, uncompressed; send it with 'Content-Type: application/json'.".to_owned()
            }
            Self::ValueOutOfRange { parameter, min, max } => format!("'{parameter}' takes {min} to {max}."),
            Self::AttackingQueens { total: 1, .. } => "Two of the given queens attack each other.".to_owned(),
            Self::AttackingQueens { total, .. } => format!("{total} pairs of the given queens attack each other."),
            Self::QueenOnBlocked { row, column } => {
                format!("The given queen in row {row}, column {column} stands on a blocked square.")
            }
            Self::Internal { .. } => "Something went wrong in the service; the log has the details.".to_owned(),
            Self::Overloaded => "All workers are busy and the line for them is full; try again soon.".to_owned(),
            Self::TimeLimit { limit } => {
                format!("The answer was not found within the {limit:?} that a request may take.")
            }
            Self::ShuttingDown => "The service is shutting down; try again soon.".to_owned(),
        }
    }

    /// The problem's fields of its own.
    fn fields(&self) -> Map<String, Value> {
        let fields = match self {
            Self::InvalidParameter { parameter, .. } | Self::RepeatedParameter { parameter } => {
                json!({ "parameter": parameter })
            }
            Self::UnknownParameter { parameter, known } => json!({ "parameter": parameter, "known": known }),
            Self::NotAcceptable { available, .. } => json!({ "available": available }),
            Self::SizeOutOfRange { n: Some(n), min, max, job: Some(job), .. } => {
                json!({ "n": n, "min": min, "max": max, "job": job })
            }
            Self::SizeOutOfRange { n: Some(n), min, max, .. } => json!({ "n": n, "min": min, "max": max }),
            Self::SizeOutOfRange { n: None, min, max, .. } => json!({ "min": min, "max": max }),
            Self::InvalidBody { path, .. } | Self::OffBoard { path, .. } => json!({ "path": path }),
            Self::NoSuchJob { n } => json!({ "n": n }),
            Self::JobIsFinal { n, state } => json!({ "n": n, "state": state }),
            Self::BodyTooLarge { max_bytes } => json!({ "max_bytes": max_bytes }),
            Self::ValueOutOfRange { parameter, min, max } => json!({ "parameter": parameter, "min": min, "max": max }),
            Self::AttackingQueens { conflicts, total } => json!({ "conflicts": conflicts, "conflicts_total": total }),
            Self::QueenOnBlocked { row, column } => json!({ "row": row, "column": column }),
            Self::UnexpectedBody
            | Self::NotFound
            | Self::Unauthorized
            | Self::StorageUnavailable { .. }
            | Self::MethodNotAllowed
            | Self::BodyTimeout { .. }
            | Self::UnsupportedMediaType
            | Self::Internal { .. }
            | Self::Overloaded
            | Self::TimeLimit { .. }
            | Self::ShuttingDown => Value::Null,
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// For how many seconds a caller should leave it, where trying again can help.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Overloaded | Self::ShuttingDown => Some(1),
            Self::TimeLimit { limit } => Some(limit.as_secs().max(1)),
            Self::StorageUnavailable { .. } => Some(60),
            Self::InvalidParameter { .. }
            | Self::UnknownParameter { .. }
            | Self::RepeatedParameter { .. }
            | Self::UnexpectedBody
            | Self::NotFound
            | Self::NoSuchJob { .. }
            | Self::JobIsFinal { .. }
            | Self::Unauthorized
            | Self::MethodNotAllowed
            | Self::NotAcceptable { .. }
            | Self::InvalidBody { .. }
            | Self::BodyTimeout { .. }
            | Self::BodyTooLarge { .. }
            | Self::UnsupportedMediaType
            | Self::ValueOutOfRange { .. }
            | Self::OffBoard { .. }
            | Self::AttackingQueens { .. }
            | Self::QueenOnBlocked { .. }
            | Self::SizeOutOfRange { .. }
            | Self::Internal { .. } => None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (name, title, status) = self.kind();
        let mut body = Map::new();
        body.insert("type".to_owned(), format!("urn:nqueens:problem:{name}").into());
        body.insert("title".to_owned(), title.into());
        body.insert("status".to_owned(), status.as_u16().into());
        body.insert("detail".to_owned(), self.detail().into());
        body.extend(self.fields());
        let headers = [(CONTENT_TYPE, MEDIA_TYPE), (CACHE_CONTROL, "no-store")];
        let mut response = (status, headers, Value::Object(body).to_string()).into_response();
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        match self {
            Self::Internal { message } => {
                response.extensions_mut().insert(InternalMessage(message));
            }
            Self::Unauthorized => {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The rest of the request is not read, so the connection cannot be used again.
            Self::UnexpectedBody
            | Self::BodyTimeout { .. }
            | Self::BodyTooLarge { .. }
            | Self::UnsupportedMediaType
            | Self::ShuttingDown => {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
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
