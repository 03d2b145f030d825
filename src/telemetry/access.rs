//! The one line about each request. There are many, so they are written by hand into the log's own buffer.

use super::lines::Lines;
use crate::config::LogForm;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

/// So many bytes of what a caller sent are in a line about it; whole, it may have tens of thousands.
const SHOWN: usize = 1024;

/// Writes one line for each request, or nothing.
#[derive(Clone)]
pub struct AccessLog {
    form: LogForm,
    lines: Option<Lines>,
}

/// What an access line tells.
#[derive(Debug)]
pub struct Access<'a> {
    /// The caller's address.
    pub peer: Option<SocketAddr>,
    /// The request's method.
    pub method: &'a str,
    /// The path and query as they came.
    pub path: &'a str,
    /// The answer's status; 499 when the caller left before there was one.
    pub status: u16,
    /// From the request's arrival to the end of the answer.
    pub took: Duration,
    /// The bytes of the answer's body that were handed to the connection.
    pub bytes: u64,
    /// The request's id.
    pub id: &'a str,
}

impl AccessLog {
    /// Writes nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { form: LogForm::Text, lines: None }
    }

    pub(super) fn to(lines: Lines, form: LogForm) -> Self {
        Self { form, lines: Some(lines) }
    }

    /// Writes a line about a request that has ended.
    pub fn write(&self, access: &Access<'_>) {
        let Some(lines) = &self.lines else { return };
        lines.add(|line| {
            // Writing to memory does not fail.
            let _ = match self.form {
                LogForm::Json => access.as_json(line),
                LogForm::Text => access.as_text(line),
            };
        });
    }
}

impl Access<'_> {
    fn as_json(&self, line: &mut Vec<u8>) -> std::io::Result<()> {
        line.extend_from_slice(b"{\"timestamp\":\"");
        now(line);
        line.extend_from_slice(b"\",\"level\":\"INFO\",\"target\":\"access\",\"method\":");
        serde_json::to_writer(&mut *line, &shown(self.method))?;
        line.extend_from_slice(b",\"path\":");
        serde_json::to_writer(&mut *line, &shown(self.path))?;
        line.extend_from_slice(b",\"status\":");
        digits(line, self.status.into(), 1);
        line.extend_from_slice(b",\"ms\":");
        milliseconds(line, self.took);
        line.extend_from_slice(b",\"bytes\":");
        digits(line, self.bytes, 1);
        line.extend_from_slice(b",\"request_id\":");
        serde_json::to_writer(&mut *line, self.id)?;
        line.extend_from_slice(b",\"peer\":");
        match self.peer {
            Some(peer) => write!(line, "\"{peer}\"")?,
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(b"}\n");
        Ok(())
    }

    fn as_text(&self, line: &mut Vec<u8>) -> std::io::Result<()> {
        now(line);
        let (method, path) = (shown(self.method), shown(self.path));
        write!(line, "  INFO access: {} {} {} ", method.escape_debug(), path.escape_debug(), self.status)?;
        milliseconds(line, self.took);
        write!(line, "ms {}B {} ", self.bytes, self.id)?;
        self.peer.map_or(Ok(()), |peer| write!(line, "{peer}"))?;
        line.push(b'\n');
        Ok(())
    }
}

/// Adds the time as RFC 3339 writes it, to the microsecond. All but that is the same for a second, and kept so long.
fn now(line: &mut Vec<u8>) {
    thread_local! {
        static SECOND: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    SECOND.with_borrow_mut(|(second, text)| {
        if *second != now.as_secs() || text.is_empty() {
            *second = now.as_secs();
            *text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(*second)).to_string();
        }
        line.extend_from_slice(text.trim_end_matches('Z').as_bytes());
    });
    line.push(b'.');
    digits(line, now.subsec_micros().into(), 6);
    line.push(b'Z');
}

/// Adds a time in milliseconds, to the microsecond.
pub fn milliseconds(text: &mut Vec<u8>, time: Duration) {
    digits(text, time.as_secs() * 1000 + u64::from(time.subsec_millis()), 1);
    text.push(b'.');
    digits(text, (time.subsec_micros() % 1000).into(), 3);
}

/// Adds a number in decimal digits, with zeros before it where there are fewer than `least`.
fn digits(text: &mut Vec<u8>, mut number: u64, least: usize) {
    let mut all = [b'0'; 20];
    let mut begin = all.len();
    while number > 0 {
        begin -= 1;
        all[begin] += (number % 10) as u8;
        number /= 10;
    }
    text.extend_from_slice(&all[begin.min(all.len() - least)..]);
}

/// A text that a caller sent, cut where it is long.
fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN {
        return text.into();
    }
    let shown = &text[..text.floor_char_boundary(SHOWN)];
    format!("{shown}… ({} bytes)", text.len()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(path: &str) -> Access<'_> {
        let took = Duration::from_nanos(61_002_003_999);
        let peer = Some(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 80)));
        Access { peer, method: "GET", path, status: 200, took, bytes: 0, id: "a-1" }
    }

    #[test]
    fn the_json_form_is_json_whatever_the_path() {
        let long = "é".repeat(3000);
        for path in ["/solve/8?method=try", "/\"\\\u{1}\u{7f}é", "", &long] {
            let mut line = Vec::new();
            access(path).as_json(&mut line).expect("written");
            assert!(line.ends_with(b"}\n") && line.len() < 2 * SHOWN);
            let line: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
            let timestamp = line["timestamp"].as_str().expect("a text");
            assert!(timestamp.len() == 27 && humantime::parse_rfc3339(timestamp).is_ok(), "{timestamp}");
            assert_eq!((&line["level"], &line["target"]), (&"INFO".into(), &"access".into()));
            assert_eq!((&line["method"], &line["path"]), (&"GET".into(), &shown(path).into()));
            assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &0.into()));
            assert_eq!((&line["request_id"], &line["peer"]), (&"a-1".into(), &"[::1]:80".into()));
            assert_eq!(line["ms"], 61_002.003);
        }
        let mut line = Vec::new();
        Access { peer: None, ..access("/") }.as_json(&mut line).expect("written");
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&line).expect("JSON")["peer"], serde_json::Value::Null);
    }

    #[test]
    fn the_text_form_is_one_line() {
        let mut line = Vec::new();
        access("/a\nb").as_text(&mut line).expect("written");
        let line = String::from_utf8(line).expect("text");
        assert!(line.ends_with("Z  INFO access: GET /a\\nb 200 61002.003ms 0B a-1 [::1]:80\n"), "{line}");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn numbers_as_digits() {
        for (number, least, expected) in
            [(0, 1, "0"), (0, 6, "000000"), (7, 3, "007"), (1234, 3, "1234"), (u64::MAX, 1, "18446744073709551615")]
        {
            let mut text = Vec::new();
            digits(&mut text, number, least);
            assert_eq!(text, expected.as_bytes());
        }
    }
}
