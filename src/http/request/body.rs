//! A body: read within limits of size, time and memory.

use crate::http::request::call::Call;
use crate::http::request::conditions::Current;
use crate::http::response::Problem;
use crate::http::response::preference::is_token;
use crate::http::state::App;
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

/// A body that has been read, and its part of the memory that all bodies together may take.
pub struct Text {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the whole body of a JSON request.
///
/// # Errors
/// 415 unless it says that it is JSON, uncoded; 413 over `max_bytes`; 412 under a condition that does not hold; 408 when
/// it does not come within the request's time, or nothing of it for as long as a header may take; 503 when there is no
/// room for what has come.
pub async fn read(app: &App, call: &Call, mut body: Body, max_bytes: usize) -> Result<Text, Problem> {
    if !call.header(&CONTENT_TYPE).is_some_and(is_json) {
        return Err(Problem::UnsupportedMediaType);
    }
    if !call.lines(&CONTENT_ENCODING).flat_map(|line| line.split(',')).all(is_uncoded) {
        return Err(Problem::UnsupportedContentCoding);
    }
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(Problem::BodyTooLarge { max_bytes });
    }
    // What is posted is a question: at its path there is nothing to be had.
    call.if_as_expected(Current::Nothing)?;
    let (limit, silence) = (app.config.time_limit, app.config.header_timeout);
    let deadline = call.deadline(limit);
    let mut text = Text { bytes: Vec::new(), room: None };
    loop {
        let silent_too_long = Instant::now() + silence;
        let late = Problem::BodyTimeout { limit: if deadline < silent_too_long { limit } else { silence } };
        let frame = timeout_at(deadline.min(silent_too_long).into(), body.frame()).await.map_err(|_| late)?;
        let Some(frame) = frame else { return Ok(text) };
        let Ok(data) = frame.map_err(|_| Problem::broken_body())?.into_data() else { continue }; // trailers
        if data.len() > max_bytes - text.bytes.len() {
            return Err(Problem::BodyTooLarge { max_bytes });
        }
        text.push(&data, max_bytes, &app.body_room)?;
    }
}

impl Text {
    /// Adds what has come, of which there are never more than `max_bytes`. Room is taken for it and not for what is
    /// announced, or callers that send nothing would keep out those who do; and whoever has some never waits for more,
    /// or a few could wait for each other.
    fn push(&mut self, data: &[u8], max_bytes: usize, room: &Arc<Semaphore>) -> Result<(), Problem> {
        let (needed, had) = (self.bytes.len() + data.len(), self.bytes.capacity());
        if needed > had {
            let wanted = needed.max(2 * had).min(max_bytes);
            let more = Arc::clone(room).try_acquire_many_owned((wanted - had) as u32);
            let more = more.map_err(|_| Problem::NoBodyRoom)?;
            match &mut self.room {
                Some(room) => room.merge(more),
                none => *none = Some(more),
            }
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

/// Whether a media type is JSON, or one that is written in it.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_type = essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    is_type && (essence == "application/json" || essence.ends_with("+json"))
}

fn is_uncoded(coding: &str) -> bool {
    let coding = coding.trim();
    coding.is_empty() || coding.eq_ignore_ascii_case("identity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_follows_what_has_come() {
        let room = Arc::new(Semaphore::new(100));
        let mut text = Text { bytes: Vec::new(), room: None };
        let mut taken = Vec::new();
        for data in [&[0; 10][..], &[1; 5], &[2; 20], &[3; 30]] {
            text.push(data, 80, &room).expect("room");
            taken.push(100 - room.available_permits());
        }
        // At most twice what has come, and never more than may come.
        assert_eq!(taken, [10, 20, 40, 80]);
        assert!(text.bytes.capacity() <= 80);
        assert_eq!(text.iter().map(|&byte| usize::from(byte)).sum::<usize>(), 5 + 40 + 90);
        let mut other = Text { bytes: Vec::new(), room: None };
        assert_eq!(other.push(&[0; 21], 80, &room), Err(Problem::NoBodyRoom));
        drop(text);
        assert_eq!(other.push(&[0; 21], 80, &room), Ok(()));
        drop(other);
        assert_eq!(room.available_permits(), 100);
    }

    #[test]
    fn media_types_that_are_json() {
        for media_type in
            ["application/json", "APPLICATION/JSON ; charset=utf-8", "application/vnd.x+json", "a/b+JSON;c=\"d;e\""]
        {
            assert!(is_json(media_type), "{media_type}");
        }
        for media_type in ["", "json", "text/json", "application/jsonp", "application/json/x", "x y/z+json", "/+json"] {
            assert!(!is_json(media_type), "{media_type}");
        }
    }
}
