//! Requests without a body. No content is no body, however it is framed: proxies and clients send lengths of 0 and
//! empty chunks. Only a byte is refused.

use crate::http::response::Problem;
use crate::http::state::App;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::time::timeout;

/// That a request has no body. Looked at by the routes that take none, so that a wrong path or method is told first.
pub struct NoBody;

impl FromRequest<App> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Self::of(request.into_body(), app).await
    }
}

impl NoBody {
    /// That this body is none. A length says so at once; else it is waited for no longer than for a header.
    ///
    /// # Errors
    /// 400 where it has a byte, 408 where neither a byte nor its end comes.
    pub async fn of(mut body: Body, app: &App) -> Result<Self, Problem> {
        if body.is_end_stream() {
            return Ok(Self);
        }
        if body.size_hint().lower() > 0 {
            return Err(Problem::UnexpectedBody);
        }
        let limit = app.config.header_timeout;
        let ends = async {
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|_| Problem::broken_body())?;
                if frame.data_ref().is_some_and(|data| !data.is_empty()) {
                    return Err(Problem::UnexpectedBody);
                }
            }
            Ok(Self)
        };
        timeout(limit, ends).await.unwrap_or(Err(Problem::BodyTimeout { limit }))
    }
}
