//! A board in a request's body, parsed without a word that only a programmer would understand.

use crate::http::request::call::shortened;
use crate::http::request::number::whole;
use crate::http::response::Problem;
use crate::queens::{Board, BoardError};
use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};
use std::fmt;

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
pub fn parse(text: &[u8], fields: &'static [&'static str], max: u32, what: &str) -> Result<Question, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let mut track = serde_path_to_error::Track::new();
    let parsed = Fields(fields).deserialize(serde_path_to_error::Deserializer::new(&mut reader, &mut track));
    let parsed = parsed.and_then(|parsed| reader.end().map(|()| parsed)).map_err(|error| {
        let path = place(&track.path(), fields);
        let place = if path.is_empty() { String::new() } else { format!("'{path}': ") };
        let kind = if error.is_data() { "The body is not what this route takes" } else { "The body is not JSON" };
        let words = match text {
            [] => "it is empty".to_owned(),
            [0xef, 0xbb, 0xbf, ..] => "it begins with a byte order mark".to_owned(),
            _ => words(&error),
        };
        Problem::InvalidBody { detail: format!("{kind}: {place}{words}."), path }
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

/// The place of a fault in the body, as `b[3]`, as far as it is one: a field of the caller's own making is none, and
/// neither is what the reader could not name.
fn place(path: &Path, fields: &[&str]) -> String {
    let mut place = String::new();
    for segment in path {
        match segment {
            Segment::Map { key } if fields.contains(&key.as_str()) => place.push_str(key),
            Segment::Seq { index } => place.push_str(&format!("[{index}]")),
            Segment::Map { .. } | Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    place
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

/// A whole number; see [`whole`]. One that no board has is so refused as off the board and not as unreadable.
#[derive(Clone, Copy)]
struct Number;

impl<'de> DeserializeSeed<'de> for Number {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let found = match text.as_bytes().first() {
            Some(b'"') => "a string",
            Some(b'[') => "a list",
            Some(b'{') => "an object",
            _ => text, // true, false, null or a number
        };
        let number = Some(text).filter(|_| is_number).and_then(whole);
        number.ok_or_else(|| D::Error::custom(format_args!("{}, expected a whole number", shortened(found))))
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

    fn parse(text: impl AsRef<[u8]>) -> Result<Question, Problem> {
        super::parse(text.as_ref(), &["b", "blocked"], 100, "this")
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
            ("{\"b\":[1,1e-400]}", "b[1]", "1e-400, expected a whole number"),
            ("{\"b\":[true]}", "b[0]", "a whole number"),
            ("{\"b\":[[1]]}", "b[0]", "a whole number"),
            ("{\"b\":[1],\"b\":[1]}", "", "given twice"),
            ("{\"b\":[1],\"colour\":1}", "", "unknown field `colour`"),
            ("{\"b\":[1],\"blocked\":[1]}", "blocked[0]", "a square as [row, column]"),
            ("{\"b\":[1],\"blocked\":[[1]]}", "blocked[0]", "two numbers"),
            ("{\"b\":[1],\"blocked\":[[1,2,3]]}", "blocked[0]", "two numbers"),
            (&format!("{{\"b\":{deep}"), "b[0]", "not JSON"),
            (&format!("{{\"b\":{deep}{}}}", "]".repeat(100_000)), "b[0]", "a list, expected a whole number"),
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
                    assert_eq!(told, path, "{text:.40}");
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
            "{\"b\":[1e400]}",
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
