//! What the OpenAPI document says of errors: their shape, and which statuses a group of routes may answer with.

use super::problem::MEDIA_TYPE;
use std::collections::BTreeMap;
use utoipa::openapi::{Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// The body of every error (RFC 9457). Some problems have more fields, which their detail explains.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ProblemBody {
    /// What kind of problem this is.
    #[schema(pattern = "^urn:nqueens:problem:[a-z-]+$")]
    r#type: String,
    /// The kind in words.
    title: String,
    /// The answer's status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What went wrong this time.
    detail: String,
}

/// The errors of a route with a size in its path.
pub struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[404, 406, 422])
    }
}

/// The errors of a route with a board in its body.
pub struct BodyProblems;

impl IntoResponses for BodyProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[406, 413, 415, 422])
    }
}

/// The errors of a job's routes.
pub struct JobProblems;

impl IntoResponses for JobProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[404, 406, 422])
    }
}

/// The errors of the routes that change a job.
pub struct JobChangeProblems;

impl IntoResponses for JobChangeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[401, 404, 406, 409, 422])
    }
}

/// The errors of a route without parameters.
pub struct PlainProblems;

impl IntoResponses for PlainProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[])
    }
}

/// The errors of a route of files.
pub struct FileProblems;

impl IntoResponses for FileProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[404])
    }
}

/// What any request may be answered with.
const ANY: [u16; 7] = [400, 405, 408, 412, 500, 501, 503];

/// These statuses, and those of any request.
fn problems(statuses: &[u16]) -> BTreeMap<String, RefOr<Response>> {
    let description = |status| match status {
        400 => "Not understood: spelling, an unknown or repeated parameter, a body where none belongs, no valid Host",
        401 => "The token is missing or wrong",
        404 => "There is nothing at this path, or nobody has asked for this job",
        405 => "The path does not take this method; see Allow",
        406 => "None of the acceptable formats can be had",
        409 => "The job is done or has failed",
        408 => "The body did not come in time",
        413 => "The body is too large",
        412 => "The condition in If-Match or If-None-Match does not hold",
        415 => "The body is not JSON, or is coded; see Accept and Accept-Encoding",
        422 => "Understood, but outside a fixed limit or impossible as asked",
        501 => "A transfer coding other than chunked",
        503 => {
            "No room in the line or for the body, the time limit was reached, the data directory cannot be used, or the service is \
             ending; see Retry-After"
        }
        _ => "A bug in the service",
    };
    let response = |status| {
        let content = utoipa::openapi::ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        ResponseBuilder::new().description(description(status)).content(MEDIA_TYPE, content).build()
    };
    ANY.iter().chain(statuses).map(|&status| (status.to_string(), RefOr::T(response(status)))).collect()
}
