//! What a handler needs to know of a request: its size, its parameters, its conditions. Parsed once, at the edge.

use crate::compute::Failure;
use crate::http::request::conditions::{Conditions, Current, Unmet};
use crate::http::request::no_body::NoBody;
use crate::http::response::Fact;
use crate::http::response::Problem;
use crate::http::response::negotiate::{self, Format};
use crate::http::state::App;
use crate::queens::{Board, Size, Stop, Stopped};
use crate::telemetry::metrics::Outcome;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse as _, Response};
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How a request came; the server adds it to each as an extension.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When its header was there; its time limit runs from here.
    pub at: Instant,
    /// The caller's address.
    pub peer: SocketAddr,
    /// Whether it came over a connection beyond the cap.
    pub beyond: bool,
}

/// A request, as far as the handlers of boards and counts look at it.
pub struct Call {
    head: bool,
    headers: HeaderMap,
    conditions: Conditions,
    query: String,
    arrival: Instant,
}

/// For routes that take no body.
impl FromRequest<App> for Call {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (call, body) = Self::with_body(request);
        NoBody::of(body, app).await?;
        Ok(call)
    }
}

impl Call {
    /// A request to a route that takes a body, and its body.
    pub fn with_body(request: Request) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        let call = Self {
            head: parts.method == Method::HEAD,
            conditions: Conditions::of(&parts.method, &parts.headers),
            headers: parts.headers,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            arrival: parts.extensions.get::<Arrival>().map_or_else(Instant::now, |arrival| arrival.at),
        };
        (call, body)
    }

    /// Whether only the headers of the answer are asked for.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.head
    }

    /// When the request's time is up.
    #[must_use]
    pub fn deadline(&self, limit: Duration) -> Instant {
        self.arrival + limit
    }

    /// The query's parameters, if all are among those in `known` and none is repeated.
    ///
    /// # Errors
    /// 400 that names the parameter.
    pub fn parameters(&self, known: &'static [&'static str]) -> Result<Parameters, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(self.query.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                return Err(Problem::UnknownParameter { parameter: shortened(&name), known });
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::RepeatedParameter { parameter: name.into_owned() });
            }
            pairs.push((name.into_owned(), value.into_owned()));
        }
        Ok(Parameters { pairs })
    }

    /// The format to answer in: the parameter `format` if given, else the best for the request's `Accept`.
    ///
    /// # Errors
    /// 400 for a format that the route does not have, 406 where `Accept` takes none of them.
    pub fn format(&self, parameters: &Parameters, offered: &'static [Format]) -> Result<Format, Problem> {
        match parameters.choice("format", offered, Format::name)? {
            Some(format) => Ok(format),
            None => negotiate::by_accept(self.headers.get_all(ACCEPT), offered),
        }
    }

    /// Whether the caller prefers a page to JSON, as browsers do.
    #[must_use]
    pub fn prefers_html(&self) -> bool {
        negotiate::prefers_html(self.headers.get_all(ACCEPT))
    }

    /// The text of a header, if it is there and is plain text.
    #[must_use]
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// All lines of a header; `?` for one that is not plain text.
    pub fn lines(&self, name: &HeaderName) -> impl Iterator<Item = &str> {
        self.headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("?"))
    }

    /// The bytes of a header, if it is there.
    #[must_use]
    pub fn header_bytes(&self, name: &HeaderName) -> Option<&[u8]> {
        self.headers.get(name).map(HeaderValue::as_bytes)
    }

    /// Runs a search of one caller's own on the pool, within the request's time. It goes on from where it was when it is
    /// called again.
    ///
    /// # Errors
    /// 503 when there is no room for it or its time is up, 500 when it panics.
    pub async fn search<T, F>(&self, app: &App, search: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnMut(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        self.found(app, app.pool.search(Some(self.deadline(app.config.time_limit)), search)).await
    }

    /// What a search for this call finds. How it ends is counted; it counts as left where this is dropped before that.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn found<T>(&self, app: &App, search: impl Future<Output = Result<T, Failure>>) -> Result<T, Problem> {
        let counted = app.metrics.search();
        let found = search.await;
        counted.ended(match &found {
            Ok(_) => Outcome::Answered,
            Err(Failure::Overloaded) => Outcome::Overloaded,
            Err(Failure::TimeLimit) => Outcome::TimeLimit,
            Err(Failure::ShuttingDown) => Outcome::Shutdown,
            Err(Failure::Panicked(_)) => Outcome::Failed,
        });
        found.map_err(|failure| Problem::of_failure(failure, app.config.time_limit))
    }

    /// The answer that needs no search, to a call whose answer is `fact`: 304 where the caller has it already, 412
    /// where it asks for another, or the headers alone for HEAD.
    #[must_use]
    pub fn without_body(&self, fact: &Fact) -> Option<Response> {
        match self.conditions.unmet(Current::Tagged(fact.tag())) {
            Some(Unmet::NotModified) => Some(fact.not_modified()),
            Some(Unmet::Failed) => Some(Problem::PreconditionFailed.into_response()),
            None => self.head.then(|| fact.headers_alone()),
        }
    }

    /// That a call which changes or computes something is to be carried out, its target being as it is. It would be
    /// answered with a success, so all else has been looked at.
    ///
    /// # Errors
    /// 412 where its conditions do not hold.
    pub fn if_as_expected(&self, current: Current<'_>) -> Result<(), Problem> {
        if self.conditions.unmet(current).is_none() { Ok(()) } else { Err(Problem::PreconditionFailed) }
    }
}

/// The query's parameters.
pub struct Parameters {
    pairs: Vec<(String, String)>,
}

impl Parameters {
    /// What parameter `name` says, if it is given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The choice that parameter `name` makes, if it is given.
    ///
    /// # Errors
    /// 400 that lists the choices.
    pub fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[T],
        spelling: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let chosen = choices.iter().copied().find(|&choice| spelling(choice) == value);
        chosen.map(Some).ok_or_else(|| no_choice(name, value, "one of", choices, spelling))
    }

    /// The choices that parameter `name` makes, with commas between, if it is given.
    ///
    /// # Errors
    /// 400 that lists the choices.
    pub fn choices<T: Copy>(
        &self,
        name: &str,
        choices: &[T],
        spelling: impl Fn(T) -> &'static str,
    ) -> Result<Option<Vec<T>>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let one = |part: &str| choices.iter().copied().find(|&choice| spelling(choice) == part);
        let chosen: Option<Vec<T>> = value.split(',').map(one).collect();
        let several = "one or, with commas between, several of";
        chosen.map(Some).ok_or_else(|| no_choice(name, value, several, choices, spelling))
    }
}

impl Parameters {
    /// The whole number that parameter `name` gives, or `default` where it is not given.
    ///
    /// # Errors
    /// 400 where it is not written in plain digits, 422 outside of `range`.
    pub fn number(&self, name: &'static str, range: RangeInclusive<u64>, default: u64) -> Result<u64, Problem> {
        let Some(text) = self.get(name) else { return Ok(default) };
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Problem::InvalidParameter {
                parameter: name.to_owned(),
                detail: format!("is {}, but it must be a whole number in plain digits.", quoted(text)),
            });
        }
        // Only a number too large for the type does not parse.
        text.parse().ok().filter(|number| range.contains(number)).ok_or(Problem::ValueOutOfRange {
            parameter: name,
            min: *range.start(),
            max: *range.end(),
        })
    }

    /// The board that parameter `name` gives as columns with commas between, if it is given: a queen in every row,
    /// of size `n`.
    ///
    /// # Errors
    /// 400 where it is not written so, 422 where it is no such board.
    pub fn full_board(&self, name: &'static str, n: Size) -> Result<Option<Board>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !text.split(',').all(digits) {
            return Err(Problem::InvalidParameter {
                parameter: name.to_owned(),
                detail: format!("is {}, but it must be a board as columns with commas between.", quoted(text)),
            });
        }
        let columns: Vec<u32> = text.split(',').map(|part| part.parse().unwrap_or(u32::MAX)).collect();
        let board = Board::new(columns).ok().filter(|board| board.size() == n && board.is_full());
        board.map(Some).ok_or_else(|| Problem::OffBoard {
            detail: format!("'{name}' must be {n} columns, each from 1 to {n}: a queen in every row."),
            path: name.to_owned(),
        })
    }

    /// Yes or no by parameter `name`; no where it is not given.
    ///
    /// # Errors
    /// 400 for anything but `true` and `false`.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        let spelling = |flag| if flag { "true" } else { "false" };
        Ok(self.choice(name, &[true, false], spelling)?.unwrap_or(false))
    }
}

fn no_choice<T: Copy>(
    name: &str,
    value: &str,
    how_many: &str,
    choices: &[T],
    spelling: impl Fn(T) -> &'static str,
) -> Problem {
    let choices = choices.iter().map(|&choice| spelling(choice)).collect::<Vec<_>>().join(", ");
    Problem::InvalidParameter {
        parameter: name.to_owned(),
        detail: format!("is {}, but it must be {how_many}: {choices}.", quoted(value)),
    }
}

/// A caller's text, short enough to stand in an error.
pub(super) fn shortened(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

/// A caller's text, short enough and plain enough to stand in an error.
fn quoted(text: &str) -> String {
    format!("\"{}\"", shortened(text).escape_debug())
}

/// The size in the path: spelled right, but not yet known to be in the route's range.
pub struct RequestedSize(Option<u64>);

impl FromStr for RequestedSize {
    type Err = Problem;

    /// A size is 0 or starts with 1 to 9, and has only digits, however many.
    fn from_str(text: &str) -> Result<Self, Problem> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits && (text == "0" || !text.starts_with('0')) {
            return Ok(Self(text.parse().ok()));
        }
        Err(Problem::InvalidParameter {
            parameter: "n".to_owned(),
            detail: format!("is {}, but it must be a whole number in plain digits, as 8.", quoted(text)),
        })
    }
}

impl RequestedSize {
    /// The size, if it is at most `max`.
    ///
    /// # Errors
    /// 422 with the range; `what` says what has that range.
    pub fn within(&self, max: u32, what: impl Display) -> Result<Size, Problem> {
        let small = self.0.and_then(|n| u32::try_from(n).ok());
        small.filter(|&n| n <= max).and_then(Size::new).ok_or_else(|| Problem::SizeOutOfRange {
            n: self.0.filter(|&n| n < 1 << 53),
            min: 1,
            max,
            detail: format!("{what} takes n from 1 to {max}."),
            job: None,
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestedSize {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Refused only where the percent-decoded segment is not UTF-8.
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| Problem::InvalidParameter {
            parameter: "n".to_owned(),
            detail: "is not text, but it must be a whole number in plain digits, as 8.".to_owned(),
        })?;
        params.iter().find(|(name, _)| *name == "n").map_or("", |(_, value)| value).parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spelled_in_plain_digits() {
        for text in ["", "-1", "+8", "08", "00", "8.0", "1e1", " 8", "8 ", "abc", "\u{1d7d6}", "٨", "0x8", "8/9", "\0"]
        {
            assert!(matches!(text.parse::<RequestedSize>(), Err(Problem::InvalidParameter { .. })), "{text:?}");
        }
    }

    #[test]
    fn sizes_outside_the_range_are_told_the_range() {
        for (text, given) in
            [("0", Some(0)), ("9", Some(9)), ("4294967296", Some(1 << 32)), ("99999999999999999999", None)]
        {
            match text.parse::<RequestedSize>().expect("well spelled").within(8, "this") {
                Err(Problem::SizeOutOfRange { n, min: 1, max: 8, .. }) => assert_eq!(n, given),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(
            "8".parse::<RequestedSize>().expect("well spelled").within(8, "this"),
            Ok(Size::new(8).expect("a size"))
        );
    }
}
