//! Content coding: bodies of about 1 KB and up are compressed for callers who take that.
//!
//! A caller that refuses every coding there is, the uncoded form too, is answered uncoded: it gets what it asked for,
//! under its true status. One that refuses only the uncoded form gets small bodies coded as well (RFC 9110, 12.5.3).

use crate::http::response::preference::preferences;
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body as HttpBody, Frame};
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Below so many bytes the coded form is hardly smaller.
const WORTH_IT: u64 = 1024;
/// So many bytes are coded at a time.
const PIECE: usize = 64 << 10;

/// From how many bytes on a body is coded for a request with these headers; `None` for never.
#[must_use]
pub fn coded_from(headers: &HeaderMap) -> Option<u64> {
    let (mut gzip, mut uncoded, mut others) = (None, None, None);
    for preference in preferences(headers.get_all(ACCEPT_ENCODING)) {
        let is = |name: &str| preference.name.eq_ignore_ascii_case(name);
        let known = match () {
            () if is("gzip") || is("x-gzip") => &mut gzip,
            () if is("identity") => &mut uncoded,
            () if is("*") => &mut others,
            () => continue,
        };
        *known = (*known).max(Some(preference.weight));
    }
    let gzip = gzip.or(others).filter(|&weight| weight > 0)?;
    match uncoded {
        Some(uncoded) if uncoded > gzip => None,
        _ if uncoded.or(others) == Some(0) => Some(1),
        _ => Some(WORTH_IT),
    }
}

/// The answer, coded if its body has so many bytes. One of unknown length is a stream, whose lines an encoder would
/// hold back, or stands for the body that HEAD leaves out; both stay as they are.
#[must_use]
pub fn code(mut response: Response, from: Option<u64>) -> Response {
    let length = match response.body().size_hint().exact() {
        // The router has taken away the body that HEAD leaves out, but not its length.
        Some(0) => response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()),
        length => length,
    };
    let length = length.unwrap_or_default();
    if length == 0 || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let headers = response.headers_mut();
    // Whatever says it in this house says it last.
    let name = "accept-encoding";
    if !headers.get_all(VARY).iter().any(|names| names.as_bytes().ends_with(name.as_bytes())) {
        headers.append(VARY, HeaderValue::from_static(name));
    }
    if from.is_none_or(|from| length < from) {
        return response;
    }
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if response.body().is_end_stream() {
        return response;
    }
    response.map(|body| {
        let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        Body::new(Gzip { body, uncoded: Bytes::new(), encoder })
    })
}

/// A body as gzip.
struct Gzip {
    body: Body,
    /// What of it has come and is not coded yet.
    uncoded: Bytes,
    /// Missing when all is coded.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl HttpBody for Gzip {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        loop {
            let Some(encoder) = &mut this.encoder else { return Poll::Ready(None) };
            if this.uncoded.is_empty() {
                match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                    Some(Ok(frame)) => this.uncoded = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => {
                        let rest = this.encoder.take().map(GzEncoder::finish).transpose();
                        let rest = rest.map(Option::unwrap_or_default).map_err(axum::Error::new);
                        return Poll::Ready(Some(rest.map(|rest| Frame::data(rest.into()))));
                    }
                }
            }
            let piece = this.uncoded.split_to(this.uncoded.len().min(PIECE));
            if let Err(error) = encoder.write_all(&piece) {
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            }
            let coded = std::mem::take(encoder.get_mut());
            if !coded.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(coded.into()))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_callers_take() {
        for (lines, from) in [
            (&[][..], None),
            (&[""], None),
            (&["gzip"], Some(WORTH_IT)),
            (&["GZIP"], Some(WORTH_IT)),
            (&["x-gzip"], Some(WORTH_IT)),
            (&["br, gzip;q=0.1"], Some(WORTH_IT)),
            (&["*"], Some(WORTH_IT)),
            (&["gzip, deflate, br, zstd"], Some(WORTH_IT)),
            (&["compress;q=0.5", "gzip;q=1.0"], Some(WORTH_IT)),
            (&["gzip;q=1.0, identity; q=0.5, *;q=0"], Some(WORTH_IT)),
            (&["compress, br"], None),
            (&["identity"], None),
            (&["identity, gzip;q=0.5"], None),
            (&["gzip;q=0"], None),
            (&["gzip;q=0, *"], None),
            (&["gzip;q=0.0000, *;q=1"], None),
            (&["gzip;q=lots"], None),
            // Uncoded is refused: everything is coded.
            (&["gzip, identity;q=0"], Some(1)),
            (&["gzip, *;q=0"], Some(1)),
            (&["*, identity;q=0"], Some(1)),
            // Everything is refused: nothing is coded.
            (&["identity;q=0"], None),
            (&["*;q=0"], None),
            (&["gzip;q=0, identity;q=0"], None),
            (&["br, identity;q=0"], None),
            (&["gzip;q=0", "*;q=0.0"], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
            }
            assert_eq!(coded_from(&headers), from, "{lines:?}");
        }
    }
}
