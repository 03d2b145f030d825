//! Whole numbers as JSON may write them: 8, 8.0, 80e-1. Read from their text, digit by digit, since a number of the
//! machine's would round what is not whole, and cannot hold what is large.

/// The whole number that the text of a JSON number is; `None` where it is not whole. One that is negative or too large
/// becomes the largest there is, as which no board has it either.
#[must_use]
pub fn whole(text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number); // nearly all are plain digits
    }
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{before}{after}");
    let digits = all.trim_start_matches('0');
    let zeros = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // An exponent beyond this type is larger than any text is long.
    let beyond = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    let exponent = exponent.parse().unwrap_or(beyond).clamp(i64::MIN / 2, i64::MAX / 2);
    let before_the_point = before.len() as i64 - zeros as i64 + exponent;
    if before_the_point < digits.len() as i64 {
        return None;
    }
    if negative || before_the_point > 10 {
        return Some(u32::MAX);
    }
    format!("{digits:0<width$}", width = before_the_point as usize).parse().ok().or(Some(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_however_they_are_written() {
        let zeros = "0".repeat(100_000);
        for (text, number) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0e999999999999999999999", 0),
            ("0.000e-5", 0),
            ("8", 8),
            ("8.0", 8),
            ("1E0", 1),
            ("1e+2", 100),
            ("80e-1", 8),
            ("0.8e1", 8),
            ("0.0080E3", 8),
            ("1200.00e-2", 12),
            ("4294967295", u32::MAX),
            ("4294967294.0", u32::MAX - 1),
            (&format!("8.{zeros}"), 8),
            (&format!("8{zeros}e-100000"), 8),
        ] {
            assert_eq!(whole(text), Some(number), "{text:.40}");
        }
    }

    #[test]
    fn what_no_board_has_is_whole_all_the_same() {
        for text in [
            "-1",
            "-1.0",
            "-1e-0",
            "4294967296",
            "99999999999",
            "9999999999",
            "1e10",
            "1e400",
            "-1e400",
            "1e30",
            "1e99999999999999999999999",
            "18446744073709551616",
        ] {
            assert_eq!(whole(text), Some(u32::MAX), "{text}");
        }
    }

    #[test]
    fn what_is_whole_only_when_rounded_is_not() {
        for text in [
            "1.5",
            "0.99999999999999999999",
            "1e-400",
            "-1e-400",
            "1e-99999999999999999999999",
            "1.00000000000000000000000000000000000001",
            "1e-1",
            "12e-1",
            "0.1e0",
            "9007199254740993.5",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
