//! The command line, without the environment: that is for whole processes, in `tests/process.rs`.

use super::*;
use std::ffi::OsString;

fn parse(words: &[&str]) -> Result<Config, (String, i32)> {
    match super::parse(["nqueens"].iter().chain(words).map(OsString::from)) {
        Ok(Command::Serve(config)) => Ok(*config),
        Ok(_) => panic!("not a serve"),
        Err(error) => Err(error),
    }
}

#[test]
fn the_defaults_of_the_command_line_are_those_of_the_type() {
    // As text, so that a new field cannot be forgotten.
    assert_eq!(format!("{:?}", parse(&[]).expect("defaults")), format!("{:?}", Config::default()));
    assert_eq!(format!("{:?}", parse(&["serve"]).expect("defaults")), format!("{:?}", Config::default()));
}

#[test]
fn a_bad_value_is_one_line_and_exit_code_2() {
    for words in [
        ["--workers", "0"],
        ["--queue", "-1"],
        ["--time-limit", "soon"],
        ["--time-limit", "2h"],
        ["--max-try", "28"],
        ["--max-solve", "1000001"],
        ["--max-job", "29"],
        ["--api-token", " "],
        ["--listen", "nowhere"],
        ["--cors-origin", "example.org/"],
        ["--log", "xml"],
        ["--access-log", "maybe"],
        ["--nonsense", "1"],
    ] {
        for words in [words.to_vec(), [&["serve"][..], &words].concat()] {
            let (text, code) = parse(&words).expect_err("refused");
            assert_eq!((code, text.lines().count()), (2, 1), "{text}");
            assert!(text.contains(words[words.len() - 2]), "{text}");
        }
    }
    let (text, _) = parse(&["count", "-1"]).expect_err("refused");
    assert!(text.contains("-1 is not in"), "{text}");
}

#[test]
fn a_bad_token_is_not_shown_either() {
    let (text, code) = parse(&["--api-token", "s3cret\nrest"]).expect_err("refused");
    assert_eq!(code, 2);
    assert!(text.contains("--api-token") && text.contains("line feed"), "{text}");
    assert!(!text.contains("s3cret") && !text.contains("rest"), "{text}");
}

#[test]
fn the_token_is_compared_whole_and_not_shown() {
    let config = parse(&["--api-token", "s3cret\n"]).expect("valid");
    assert!(!format!("{config:?}").contains("s3cret"));
    assert!(config.token_is(b"s3cret"));
    for other in [b"".as_slice(), b"s3cre", b"s3cret\n", b"s3cres", b"S3cret"] {
        assert!(!config.token_is(other));
    }
}

#[test]
fn origins_may_be_repeated() {
    let config = parse(&["--cors-origin", "http://a.test", "--cors-origin=https://b.test:8443"]).expect("valid");
    assert_eq!(config.cors_origin, ["http://a.test", "https://b.test:8443"]);
    let list = "https://a.test, HTTPS://B.test:443 ,";
    assert_eq!(parse(&["--cors-origin", list]).expect("valid").cors_origin, ["https://a.test", "https://b.test"]);
    assert!(parse(&["--cors-origin", ","]).expect("valid").cors_origin.is_empty());
}

#[test]
fn the_largest_count_is_what_fits_the_memory() {
    let fitting = |workers, max_count, megabytes: u64| {
        let mut config = Config { workers: Some(workers), max_count, ..Config::default() };
        let line = config.fit(Some(megabytes << 20));
        assert_eq!(line.is_some(), config.max_count < max_count);
        assert!(line.is_none_or(|line| line.contains(&format!("{megabytes} MB")) && line.lines().count() == 1));
        config.max_count
    };
    assert_eq!(fitting(2, 22, 1000), 22);
    assert_eq!(fitting(2, 22, 130), 20);
    assert_eq!(fitting(1, 22, 130), 22);
    assert_eq!(fitting(1, 27, 100), 22);
    assert_eq!(fitting(8, 18, 50), 1);
    let mut config = Config { max_count: 27, ..Config::default() };
    assert_eq!((config.fit(None), config.max_count), (None, 27));
}
