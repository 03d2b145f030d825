//! Lists by which a caller says what it takes and how gladly: `Accept` and `Accept-Encoding` (RFC 9110, 12.4 and
//! 5.6). Read with what real clients send in mind; what cannot be read is passed over.

use axum::http::HeaderValue;

/// One member of such a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Preference<'a> {
    /// What it is about: a media range, or a coding.
    pub name: &'a str,
    /// Whether it has parameters besides its weight.
    pub narrowed: bool,
    /// How gladly it is taken, in thousandths; 0 is a refusal.
    pub weight: u16,
}

/// The members of all lines of a header.
pub fn preferences<'a>(lines: impl IntoIterator<Item = &'a HeaderValue>) -> impl Iterator<Item = Preference<'a>> {
    let texts = lines.into_iter().filter_map(|line| std::str::from_utf8(line.as_bytes()).ok());
    texts.flat_map(|text| parts(text, ',', Some('\\'))).filter_map(preference)
}

fn preference(member: &str) -> Option<Preference<'_>> {
    let mut parts = parts(member, ';', Some('\\'));
    let name = parts.next()?.trim();
    let (mut narrowed, mut weight) = (false, 1000);
    for parameter in parts {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if key.trim().eq_ignore_ascii_case("q") {
            weight = thousandths(value.trim())?;
            break;
        }
        narrowed |= !key.trim().is_empty();
    }
    (!name.is_empty()).then_some(Preference { name, narrowed, weight })
}

/// A weight from 0 to 1. Old clients leave its zero out (`.5`) or quote it, and many write more than three digits, of
/// which the further ones are cut off.
fn thousandths(text: &str) -> Option<u16> {
    let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole = match whole {
        "" if !part.is_empty() => 0,
        "0" => 0,
        "1" => 1000,
        _ => return None,
    };
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = part.bytes().chain(*b"000").take(3);
    let weight = whole + digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    (weight <= 1000).then_some(weight)
}

/// The parts of a text between separators, of which those inside quotes are none.
pub fn parts(text: &str, separator: char, escape: Option<char>) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        escaped = quoted && Some(c) == escape;
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

/// Whether a text is one of HTTP's words.
pub fn is_token(text: &str) -> bool {
    let mark = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || mark(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_as_people_write_them() {
        for (text, weight) in [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("0.5", Some(500)),
            ("0.05", Some(50)),
            ("0.123", Some(123)),
            ("1.000", Some(1000)),
            ("0.", Some(0)),
            ("1.", Some(1000)),
            (".1", Some(100)),
            ("0.1234", Some(123)),
            ("0.0000", Some(0)),
            ("0.99999999999", Some(999)),
            ("1.0000", Some(1000)),
            ("\"0.1\"", Some(100)),
            ("", None),
            (".", None),
            ("-1", None),
            ("+1", None),
            ("1.001", None),
            ("2", None),
            ("10", None),
            ("1e-1", None),
            ("0.5x", None),
            ("0,5", None),
            ("high", None),
            ("NaN", None),
            ("٠.٥", None),
        ] {
            assert_eq!(thousandths(text), weight, "{text:?}");
        }
    }

    #[test]
    fn members_over_several_lines_with_commas_in_quotes() {
        let lines = [
            r#"a/b;p="x, y;q=0.1\", z";q=0.2, , c/d ;Q= .3;ext=1,"#,
            "*;q=0",
            "e/f;q=nonsense, g/h;",
            "caf\u{e9}/x;q=0.4",
        ];
        let lines = lines.map(|line| HeaderValue::from_bytes(line.as_bytes()).expect("a value"));
        let found: Vec<_> = preferences(&lines).map(|one| (one.name, one.narrowed, one.weight)).collect();
        let expected = [
            ("a/b", true, 200),
            ("c/d", false, 300),
            ("*", false, 0),
            ("g/h", false, 1000),
            ("caf\u{e9}/x", false, 400),
        ];
        assert_eq!(found, expected);
    }
}
