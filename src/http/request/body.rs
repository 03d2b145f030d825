//! A board in a request's body: read within limits of size and time, parsed without a word that only a programmer
//! would understand.

use crate::http::request::call::{Call, shortened};
use crate::http::response::Problem;
use crate::http::state::App;
use crate::queens::{Board, BoardError};
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use mediatype::MediaTypeBuf;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

/// A body that has been read, and its part of the memory that all bodies together may take.
pub struct Text {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

/// Reads the whole body of a JSON request.
///
/// # Errors
/// 415 unless it says that it is JSON, 413 over `max_bytes`, 408 when it does not come within the request's time, 503
/// when it finds no room in time.
pub async fn read(app: &App, call: &Call, body: Body, max_bytes: usize) -> Result<Text, Problem> {
    let json =
        call.header(&CONTENT_TYPE).and_then(|value| MediaTypeBuf::from_str(value).ok()).is_some_and(|media_type| {
            let suffix = media_type.suffix().map(|suffix| suffix.as_str().to_ascii_lowercase());
            media_type.essence().to_string().eq_ignore_ascii_case("application/json")
                || suffix.as_deref() == Some("json")
        });
    let encoded = call.header(&CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
    if !json || encoded {
        return Err(Problem::UnsupportedMediaType);
    }
    let announced = call.header(&CONTENT_LENGTH).and_then(|length| length.parse().ok());
    if announced.is_some_and(|length: usize| length > max_bytes) {
        return Err(Problem::BodyTooLarge { max_bytes });
    }
    let limit = app.config.time_limit;
    let deadline = call.deadline(limit);
    let room = Arc::clone(&app.body_room).acquire_many_owned(announced.unwrap_or(max_bytes) as u32);
    let room = match timeout_at(deadline.into(), room).await {
        Ok(Ok(room)) => room,
        Ok(Err(_)) | Err(_) => return Err(Problem::Overloaded),
    };
    match timeout_at(deadline.into(), Limited::new(body, max_bytes).collect()).await {
        Ok(Ok(collected)) => Ok(Text { bytes: collected.to_bytes(), _room: room }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::BodyTooLarge { max_bytes }),
        Ok(Err(_)) => Err(invalid("The body broke off.".to_owned(), String::new())),
        Err(_) => Err(Problem::BodyTimeout { limit }),
    }
}

fn invalid(detail: String, path: String) -> Problem {
    Problem::InvalidBody { detail, path }
}

/// A board and, where the route has them, blocked squares as (row, column), not yet known to be on the board.
#[derive(Debug)]
pub struct Question {
    /// The board.
    pub board: Board,
    /// The blocked squares.
    pub blocked: Vec<(u32, u32)>,
}

/// Parses a body `{"b":[…]}`, and `"blocked":[[row,column],…]` as well if it is among the route's `fields`, for boards
/// up to size `max`.
///
/// # Errors
/// 400 where it is not JSON of that form, 422 where it is no board or too large a one.
pub fn parse(text: &Text, fields: &'static [&'static str], max: u32, what: &str) -> Result<Question, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(&text.bytes);
    let mut track = serde_path_to_error::Track::new();
    let fields = Fields(fields);
    let parsed = fields.deserialize(serde_path_to_error::Deserializer::new(&mut reader, &mut track));
    let parsed = parsed.and_then(|parsed| reader.end().map(|()| parsed)).map_err(|error| {
        let path = track.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let place = if path.is_empty() { String::new() } else { format!("'{path}': ") };
        let kind = if error.is_data() { "The body is not what this route takes" } else { "The body is not JSON" };
        invalid(format!("{kind}: {place}{}.", words(&error)), path)
    })?;
    let length = parsed.b.len();
    if length == 0 || length > max as usize {
        let detail = format!("{what} takes boards of 1 to {max} rows; this one has {length}.");
        return Err(Problem::SizeOutOfRange { n: Some(length as u64), min: 1, max, detail, job: None });
    }
    let board = Board::new(parsed.b).map_err(|error| match error {
        BoardError::Length(_) => Problem::OffBoard { detail: format!("{error}."), path: "b".to_owned() },
        BoardError::Column { row, n, .. } => Problem::OffBoard {
            detail: format!("Row {row} names no column of this board; its columns are 1 to {n}, and 0 means no queen."),
            path: format!("b[{}]", row - 1),
        },
    })?;
    Ok(Question { board, blocked: parsed.blocked })
}

/// What is wrong, with JSON's own words for what was found, and without the text of a string, which may be as long as
/// the whole body.
fn words(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let found_string = words.strip_prefix("invalid type: string \"").and_then(|rest| rest.rsplit_once("\", expected "));
    match found_string {
        Some((_, expected)) => format!("a string, expected {expected}"),
        None => words.replace("invalid type: sequence", "a list").replace("invalid type: map", "an object"),
    }
}

struct Parsed {
    b: Vec<u32>,
    blocked: Vec<(u32, u32)>,
}

/// Visits the object with these fields and no others; `b` is required.
struct Fields(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field \"b\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let (mut b, mut blocked) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            let given_before = match self.0.iter().find(|field| **field == name) {
                Some(&"b") => b.replace(map.next_value_seed(ListOf(Number))?).is_some(),
                Some(_) => blocked.replace(map.next_value_seed(ListOf(Square))?).is_some(),
                None => {
                    return Err(A::Error::unknown_field(&shortened(&name), self.0));
                }
            };
            if given_before {
                return Err(A::Error::custom(format_args!("the field \"{name}\" is given twice")));
            }
        }
        let b = b.ok_or_else(|| A::Error::custom("the field \"b\" is missing"))?;
        Ok(Parsed { b, blocked: blocked.unwrap_or_default() })
    }
}

/// A list of what the seed reads.
#[derive(Clone, Copy)]
struct ListOf<T>(T);

impl<'de, T: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for ListOf<T> {
    type Value = Vec<T::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeSeed<'de> + Copy> Visitor<'de> for ListOf<T> {
    type Value = Vec<T::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(self.0)? {
            list.push(item);
        }
        Ok(list)
    }
}

/// A whole number, which JSON may write as 8 or as 8.0. One that no board has as a row or column, negative ones too,
/// becomes the largest there is, so that it is refused as off the board and not as unreadable.
#[derive(Clone, Copy)]
struct Number;

impl<'de> DeserializeSeed<'de> for Number {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_u64(self)
    }
}

impl Visitor<'_> for Number {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u32, E> {
        if number.fract() != 0.0 {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        // The conversion saturates, so what is too large stays too large.
        Ok(if number < 0.0 { u32::MAX } else { number as u32 })
    }
}

/// A square as `[row, column]`.
#[derive(Clone, Copy)]
struct Square;

impl<'de> DeserializeSeed<'de> for Square {
    type Value = (u32, u32);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(u32, u32), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Square {
    type Value = (u32, u32);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a square as [row, column]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(u32, u32), A::Error> {
        match (seq.next_element_seed(Number)?, seq.next_element_seed(Number)?, seq.next_element::<IgnoredAny>()?) {
            (Some(row), Some(column), None) => Ok((row, column)),
            _ => Err(A::Error::custom("a square is written as [row, column], two numbers")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    fn parse(text: &str) -> Result<Question, Problem> {
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("room");
        let text = Text { bytes: Bytes::from(text.to_owned()), _room: room };
        super::parse(&text, &["b", "blocked"], 100, "this")
    }

    #[test]
    fn boards_and_blocked_squares() {
        let question = parse(r#" {"blocked": [[1, 2], [3,4.0]], "b": [0, 2.0, 0, 0]} "#).expect("well formed");
        assert_eq!(question.board.columns(), [0, 2, 0, 0]);
        assert_eq!(question.blocked, [(1, 2), (3, 4)]);
    }

    #[test]
    fn what_is_not_of_the_form_is_told_where_and_in_plain_words() {
        let (deep, long) = ("[".repeat(100_000), "\\\", expected a ".repeat(10_000));
        for (text, path, words) in [
            ("", "", "not JSON"),
            ("{\"b\":[1", "b", "not JSON"),
            ("{\"b\":[1]} x", "", "not JSON"),
            ("null", "", "an object with the field \"b\""),
            ("[[1,2]]", "", "an object with the field \"b\""),
            ("{}", "", "the field \"b\" is missing"),
            ("{\"b\":null}", "b", "a list"),
            ("{\"b\":{\"0\":1}}", "b", "a list"),
            ("{\"b\":[\"8\"]}", "b[0]", "a whole number"),
            ("{\"b\":[1,8.5]}", "b[1]", "a whole number"),
            ("{\"b\":[1,1e400]}", "b[1]", "not JSON"),
            ("{\"b\":[true]}", "b[0]", "a whole number"),
            ("{\"b\":[[1]]}", "b[0]", "a whole number"),
            ("{\"b\":[1],\"b\":[1]}", "", "given twice"),
            ("{\"b\":[1],\"colour\":1}", "", "unknown field `colour`"),
            ("{\"b\":[1],\"blocked\":[1]}", "blocked[0]", "a square as [row, column]"),
            ("{\"b\":[1],\"blocked\":[[1]]}", "blocked[0]", "two numbers"),
            ("{\"b\":[1],\"blocked\":[[1,2,3]]}", "blocked[0]", "two numbers"),
            (&format!("{{\"b\":{deep}"), "b[0]", "a whole number"),
            (&format!("{{\"b\":[\"{long}\"]}}"), "b[0]", "a string, expected a whole number at line 1"),
            (&format!("{{\"b\":[],\"{long}\":1}}"), "", "unknown field"),
            (&format!("\"{long}\""), "", "a string, expected an object"),
        ] {
            match parse(text) {
                Err(Problem::InvalidBody { detail, path: told }) => {
                    assert!(detail.contains(words), "{text:.40}: {detail}");
                    assert!(detail.len() < 300, "{text:.40}: {} bytes", detail.len());
                    assert!(
                        !["u32", "u64", "i64", "sequence", "struct", "tuple"].iter().any(|word| detail.contains(word)),
                        "{detail}"
                    );
                    assert!(told == path || path.is_empty(), "{text:.40}: {told}");
                }
                other => panic!("{text:.40}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_off_the_board_is_understood_and_refused() {
        for text in [
            "{\"b\":[2]}",
            "{\"b\":[-1]}",
            "{\"b\":[-1.0]}",
            "{\"b\":[-1e30]}",
            "{\"b\":[1e30]}",
            "{\"b\":[99999999999999999999]}",
            "{\"b\":[4294967296]}",
            "{\"b\":[0,0,18446744073709551615]}",
        ] {
            assert!(matches!(parse(text), Err(Problem::OffBoard { .. })), "{text}");
        }
        let long = format!("{{\"b\":[0{}]}}", ",0".repeat(100));
        for (text, rows) in [("{\"b\":[]}", 0), (long.as_str(), 101)] {
            match parse(text) {
                Err(Problem::SizeOutOfRange { n, min: 1, max: 100, .. }) => assert_eq!(n, Some(rows)),
                other => panic!("{other:?}"),
            }
        }
    }
}
