//! Origins, as browsers send them.

use std::net::{Ipv4Addr, Ipv6Addr};

const FORM: &str = "write it as https://example.org, without a path, or *";

/// An origin is `*`, or a scheme and a host and perhaps a port, without a path. It is compared letter by letter, so it
/// is kept as browsers send it: in small letters, addresses in their shortest form, and without the port that its scheme
/// has anyway. Lists often have spaces or a comma too many; of nothing, nothing is left.
pub fn parse(text: &str) -> Result<String, &'static str> {
    let text = text.trim().to_ascii_lowercase();
    if text.is_empty() || text == "*" {
        return Ok(text);
    }
    let (scheme, authority) = text.split_once("://").ok_or(FORM)?;
    let scheme_is_one = scheme.starts_with(|first: char| first.is_ascii_lowercase()) && consists_of(scheme, b"+-.");
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let (host, port) = (host_as_sent(host)?, port_as_sent(scheme, port)?);
    if scheme_is_one { Ok(format!("{scheme}://{host}{port}")) } else { Err(FORM) }
}

fn host_as_sent(host: &str) -> Result<String, &'static str> {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().map(|address| format!("[{address}]")).map_err(|_| "its address is none");
    }
    if !host.is_ascii() {
        return Err("write its host as browsers send it, beginning with xn--");
    }
    let is_address = host.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if host.is_empty() || !consists_of(host, b"-._") {
        Err(FORM)
    } else if is_address && host.parse::<Ipv4Addr>().is_err() {
        Err("its address is none")
    } else {
        Ok(host.to_owned())
    }
}

fn port_as_sent(scheme: &str, port: &str) -> Result<String, &'static str> {
    if port.is_empty() {
        return Ok(String::new());
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = port.parse().ok().filter(|_| digits).ok_or("its port is none")?;
    let usual = matches!((scheme, port), ("http", 80) | ("https", 443));
    Ok(if usual { String::new() } else { format!(":{port}") })
}

fn consists_of(text: &str, more: &[u8]) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_as_browsers_send_them() {
        for (written, sent) in [
            ("*", "*"),
            (" https://a.test\t", "https://a.test"),
            ("HTTPS://A.Test", "https://a.test"),
            ("https://b.test:443", "https://b.test"),
            ("https://b.test:0443", "https://b.test"),
            ("https://b.test:", "https://b.test"),
            ("http://b.test:80", "http://b.test"),
            ("http://b.test:443", "http://b.test:443"),
            ("https://b.test:80", "https://b.test:80"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[0:0::1]:8080", "http://[::1]:8080"),
            ("http://[::1]:80", "http://[::1]"),
            ("capacitor://localhost", "capacitor://localhost"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
            ("", ""),
            (" ", ""),
        ] {
            assert_eq!(parse(written).as_deref(), Ok(sent), "{written}");
        }
    }

    #[test]
    fn what_no_browser_sends_is_refused() {
        for text in [
            "example.org",
            "https://",
            "://a",
            "https://a.test/",
            "https://a.test/x",
            "https://me@a.test",
            "https://a test",
            "https://a.test:x",
            "https://a.test:65536",
            "https://a.test:+80",
            "https://[::g]",
            "https://[::1",
            "http://127.1",
            "https://bücher.test",
            "*.a.test",
            "https://*.a.test",
            "1http://a.test",
            "null",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
