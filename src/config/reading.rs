//! From words and variables to a command, or to one line that says what is wrong.

use super::nats::PASSWORD;
use super::{Cli, Command};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory as _, FromArgMatches as _};
use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments whose values are not to be shown.
const SECRETS: [&str; 2] = ["api_token", URL];
/// The argument with the address of NATS.
const URL: &str = "url";

/// Reads the command line and the environment. A variable that is set but empty counts as unset.
///
/// # Errors
/// What to print and the exit code: 0 for `--help` and `--version`, 2 and a single line for anything not understood.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, (String, i32)> {
    let words: Vec<_> = words.into_iter().collect();
    let mut cli = Cli::command();
    // Flags of the service stand before no subcommand, and so its variables are none of a subcommand's business.
    let subcommand = words.get(1).and_then(|word| cli.find_subcommand(word)).map(|found| found.get_name().to_owned());
    cli = cli.mut_args(|arg| if subcommand.is_some() { arg.env(Resettable::Reset) } else { unset_if_empty(arg) });
    if let Some(name) = &subcommand {
        cli = cli.mut_subcommand(name, |command| command.mut_args(unset_if_empty));
    }
    let parsed = cli.try_get_matches_from_mut(&words);
    let shows_url = parsed.as_ref().is_ok_and(|matches| {
        let of = matches.subcommand().map_or(matches, |(_, of)| of);
        of.try_contains_id(URL).is_ok_and(|is_known| is_known) && of.value_source(URL) == Some(ValueSource::CommandLine)
    });
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let mut error = match parsed {
        Ok(cli) => {
            let mut command = cli.command.unwrap_or_else(|| Command::Serve(Box::new(cli.serve)));
            return match settle(&mut command, shows_url) {
                Ok(()) => Ok(command),
                Err(line) => Err((format!("error: {line} (try 'nqueens --help')\n"), 2)),
            };
        }
        Err(error) if error.exit_code() == 0 => return Err((error.to_string(), 0)),
        Err(error) => error,
    };
    let mut args = subcommand.and_then(|name| cli.find_subcommand(name)).unwrap_or(&cli).get_arguments();
    // What is wrong with a text that is no text is told without the place, so that is looked for.
    let place = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let wrong = args.find(|arg| match &place {
        Some(place) => *place == arg.to_string(),
        None => error.kind() == ErrorKind::InvalidUtf8 && is_no_text(arg) && !is_given(arg, &words),
    });
    if wrong.is_some_and(|arg| SECRETS.iter().any(|secret| arg.get_id() == secret)) {
        // A bad secret may be most of a good one, so nothing of it is repeated.
        error.insert(ContextKind::InvalidValue, ContextValue::String("…".to_owned()));
    }
    let text = error.to_string();
    let mut line = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(variable) = wrong.filter(|arg| !is_given(arg, &words)).and_then(Arg::get_env) {
        line = format!("{line} (from the variable {})", variable.display());
    }
    Err((format!("{line} (try 'nqueens --help')\n"), 2))
}

/// What is left to do when the words are understood. `shows_url`: the address of NATS is among them.
fn settle(command: &mut Command, shows_url: bool) -> Result<(), String> {
    let nats = match command {
        Command::Serve(config) => {
            config.cors_origin.retain(|origin| !origin.is_empty());
            &mut config.nats
        }
        Command::Worker(worker) if worker.nats.url.is_none() => {
            return Err("a worker needs --nats-url or the variable NQUEENS_NATS_URL".to_owned());
        }
        Command::Worker(worker) => &mut worker.nats,
        Command::Count(_) | Command::Healthcheck(_) | Command::Openapi => return Ok(()),
    };
    if shows_url && nats.has_password() {
        return Err(format!(
            "--nats-url has a password in it, which every list of processes shows: put the password into the variable \
             {PASSWORD}, or name a file with --nats-credentials"
        ));
    }
    nats.take_secrets();
    Ok(())
}

fn unset_if_empty(arg: Arg) -> Arg {
    if value(&arg).is_some_and(|value| value.is_empty()) { arg.env(Resettable::Reset) } else { arg }
}

/// What the environment says to an argument.
fn value(arg: &Arg) -> Option<Vec<u8>> {
    std::env::var_os(arg.get_env()?).map(OsString::into_encoded_bytes)
}

/// Whether the environment has for an argument what is no text but must be.
fn is_no_text(arg: &Arg) -> bool {
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    !is_path && value(arg).is_some_and(|value| std::str::from_utf8(&value).is_err())
}

/// Whether an argument is among the words, where it wins over the environment.
fn is_given(arg: &Arg, words: &[OsString]) -> bool {
    let flag = arg.get_long().map(|name| format!("--{name}")).unwrap_or_default();
    let is_flag = |word: &OsString| {
        let rest = word.as_encoded_bytes().strip_prefix(flag.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
    };
    words.iter().any(is_flag)
}
