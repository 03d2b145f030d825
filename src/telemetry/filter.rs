//! What is logged: `RUST_LOG`.

use std::ffi::OsStr;
use tracing_subscriber::filter::{LevelFilter, Targets};

const LEVELS: &str = "off, error, warn, info, debug or trace";

/// Reads what `RUST_LOG` says: a level, or `target=level`, or several of these by commas. Nothing is `info`.
///
/// # Errors
/// One line that says what is wrong.
pub fn parse(variable: Option<&OsStr>) -> Result<Targets, String> {
    let text = variable.unwrap_or_default().to_str().ok_or("cannot read RUST_LOG: it is not UTF-8")?;
    let directives = text.split(',').map(str::trim).filter(|directive| !directive.is_empty());
    let targets = directives
        .map(directive)
        .try_fold(None, |targets: Option<Targets>, read| {
            let (target, level) = read?;
            let targets = targets.unwrap_or_default();
            Ok(Some(if target.is_empty() { targets.with_default(level) } else { targets.with_target(target, level) }))
        })
        .map_err(|reason: String| format!("cannot read RUST_LOG: {reason}"))?;
    Ok(targets.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO)))
}

/// A target, empty for all, and its level.
fn directive(text: &str) -> Result<(&str, LevelFilter), String> {
    let level = |word: &str| word.parse().ok().filter(|_| !word.is_empty());
    match text.split_once('=') {
        Some((target, word)) => {
            let (target, word) = (target.trim(), word.trim());
            let level = level(word).ok_or_else(|| format!("{word:?} is no level; write {LEVELS}"))?;
            if is_path(target) { Ok((target, level)) } else { Err(format!("{target:?} is no target")) }
        }
        None => match level(text) {
            Some(level) => Ok(("", level)),
            // Any other word would turn all of this program's lines off.
            None if text.starts_with(env!("CARGO_CRATE_NAME")) && is_path(text) => Ok((text, LevelFilter::TRACE)),
            None => Err(format!("{text:?} is no level; write {LEVELS}, or target=level")),
        },
    }
}

/// Whether a text can be a module's path.
fn is_path(text: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    text.split("::").all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;
    use tracing::Level;

    #[test]
    fn levels_and_targets() {
        let allows = |text: &str, target: &str, level: Level| {
            parse(Some(OsStr::new(text))).expect("readable").would_enable(target, &level)
        };
        for text in
            ["", " ", ",", "info", "INFO", " info ,", "nqueens=info", "off, nqueens::jobs = info", "off,nqueens=3"]
        {
            assert!(allows(text, "nqueens::jobs", Level::INFO), "{text}");
            assert!(!allows(text, "nqueens::jobs", Level::DEBUG), "{text}");
        }
        assert!(parse(None).expect("readable").would_enable("nqueens", &Level::INFO));
        assert!(
            allows("nqueens", "nqueens::jobs", Level::TRACE) && allows("nqueens::jobs", "nqueens::jobs", Level::TRACE)
        );
        assert!(!allows("off", "nqueens", Level::ERROR) && !allows("hyper=trace", "nqueens", Level::ERROR));
        assert!(allows("warn,hyper=trace", "hyper::proto", Level::TRACE));
        assert!(!allows("warn,hyper=trace", "nqueens", Level::INFO));
    }

    #[test]
    fn what_cannot_be_read_is_told_in_one_line() {
        let texts = [
            "nonsense!!",
            "foo=bar=baz",
            "warning",
            "ifno",
            "nqueens=",
            "=info",
            "info debug",
            "nqueens[x]=info",
            "a-b=info",
            "info;debug",
            "nqueens!",
            "nqueens=loud",
            "\"info\"",
        ];
        let not_text: &[u8] = b"in\xfffo";
        for text in texts.iter().map(|text| text.as_bytes()).chain([not_text]) {
            let line = parse(Some(OsStr::from_bytes(text))).expect_err("refused");
            assert!(line.contains("RUST_LOG") && line.lines().count() == 1, "{line}");
        }
    }
}
