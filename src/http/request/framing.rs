//! What HTTP asks of every request, whatever it is about, and the HTTP library leaves to its user: one `Host` (RFC
//! 9112, 3.2), and no transfer coding that is not had (6.1).

use crate::http::response::Problem;
use axum::extract::Request;
use axum::http::header::{HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, Version};
use std::net::Ipv6Addr;

/// What is wrong with a request before it is known what it asks.
#[must_use]
pub fn fault(request: &Request) -> Option<Problem> {
    let headers = request.headers();
    let not_had = |value: &HeaderValue| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if codings.next().is_some_and(not_had) || codings.next().is_some() {
        return Some(Problem::UnsupportedTransferCoding);
    }
    host_fault(request.version(), headers).map(|detail| Problem::InvalidHost { detail })
}

fn host_fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => None,
        (None, _) => Some("The request has no Host header, which HTTP/1.1 demands."),
        (Some(_), Some(_)) => Some("The request has more than one Host header."),
        (Some(host), None) => {
            let valid = host.to_str().is_ok_and(is_host);
            (!valid).then_some("The Host header is not a host's name or address, with or without a port.")
        }
    }
}

/// Whether a text is `uri-host [":" port]` (RFC 3986, 3.2.2). A name may be empty, and so may a port.
fn is_host(text: &str) -> bool {
    let (host_is_valid, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => (is_literal(address), port),
            None => return false,
        },
        None => {
            let end = text.bytes().position(|byte| byte == b':').unwrap_or(text.len());
            (is_name(&text[..end]), &text[end..])
        }
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    host_is_valid && (port.is_empty() || port.starts_with(':')) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What may stand in brackets: an address of six's kind, or of one to come.
fn is_literal(text: &str) -> bool {
    let future = || {
        let (version, address) = text.strip_prefix(['v', 'V'])?.split_once('.')?;
        let version_is_valid = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        let plain = |byte: u8| is_plain(byte) || byte == b':';
        Some(version_is_valid && !address.is_empty() && address.bytes().all(plain))
    };
    text.parse::<Ipv6Addr>().is_ok() || future() == Some(true)
}

fn is_name(text: &str) -> bool {
    let mut pieces = text.as_bytes().split(|&byte| byte == b'%');
    let plain = |piece: &[u8]| piece.iter().all(|&byte| is_plain(byte));
    let encoded = |piece: &[u8]| piece.len() >= 2 && piece[..2].iter().all(u8::is_ascii_hexdigit);
    pieces.next().is_some_and(plain) && pieces.all(|piece| encoded(piece) && plain(piece))
}

/// The marks, letters and digits that stand for themselves.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for host in [
            "x",
            "",
            "x:",
            ":",
            ":80",
            "x:80",
            "x:00080",
            "x:99999",
            "EXAMPLE.org.",
            "a_b.test:8080",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:80",
            "[::1]:",
            "[::ffff:127.0.0.1]:1",
            "[v1.a:b]",
            "b%C3%BCcher.test",
            "a,b;c=d",
        ] {
            assert!(is_host(host), "{host:?}");
        }
        for host in [
            "a b",
            "a b/c@@",
            "u@x",
            "x/",
            "x?",
            "x#",
            "x:80:80",
            "x:-1",
            "x:http",
            "::1",
            "[::1",
            "::1]",
            "[]",
            "[x]",
            "[::1]80",
            "[::1]x:80",
            "[v.a]",
            "[v1.]",
            "%",
            "%4",
            "%zz",
            "a%2",
            "a\\b",
            "<x>",
            "\"x\"",
            "a\tb",
        ] {
            assert!(!is_host(host), "{host:?}");
        }
    }
}
