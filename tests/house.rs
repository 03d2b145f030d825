//! The house: which room uses which, read from the source. Data flows one way.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the crate and of its HTTP surface. A room uses itself and those above it in its list, but for what
/// stands in `ALSO_NOT`.
const HOUSE: &[&str] = &[
    "queens",
    "surroundings",
    "config",
    "telemetry",
    "compute",
    "runs",
    "http::watched",
    "http::cors",
    "http::state",
    "http::response",
    "http::request",
    "http::gate",
    "http::edge",
    "http::routes",
    "http::page",
    "http::document",
    "http",
    "server",
    "worker",
    "cli",
];
/// (Room, what it does not use although that stands above it.)
const ALSO_NOT: &[(&str, &[&str])] = &[
    ("http::edge", &["http::gate"]),
    ("http::routes", &["http::edge", "http::gate"]),
    ("http::page", &["http::edge", "http::gate"]),
    ("http::document", &["http::edge", "http::gate"]),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module that a file is, as its path in the crate.
fn module(file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source()).expect("a file of the crate").with_extension("");
    let mut module: Vec<_> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| last == "mod");
    module
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The code without comments and without what is inside quotes.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let without_comments = lines.collect::<Vec<_>>().join("\n");
    without_comments.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// All paths that begin with `crate` or `super` in the code of a module, as paths in the crate. Of a list in braces
/// each one.
fn used(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        // An inline module's look at the file that it stands in.
        let own_file = code[at..].starts_with("super::*");
        if !(own_file || before.is_alphanumeric() || before == '_' || before == ':') {
            collect(&code[at..], &[], module, &mut found);
        }
    }
    found
}

fn collect(text: &str, before: &[String], module: &[String], found: &mut BTreeSet<Vec<String>>) {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        let name: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        rest = &rest[name.len()..];
        match name.as_str() {
            "crate" => path = Vec::new(),
            "super" if path.is_empty() && before.is_empty() => path = module[..module.len() - 1].to_vec(),
            "super" => drop(path.pop()),
            "self" | "" => {}
            _ => path.push(name),
        }
        let Some(next) = rest.strip_prefix("::") else { break };
        rest = next;
        if let Some(list) = rest.strip_prefix('{') {
            for part in parts(list) {
                collect(part, &path, module, found);
            }
            return;
        }
    }
    found.insert(path);
}

/// The parts of a list in braces, of which the text begins after the opening one.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.push(list[begin..at].trim());
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The place in the house of a path in the crate; `None` for what is in none of its rooms (`main`, `lib`).
fn room(path: &[String]) -> Option<usize> {
    let holds = |room: &str| {
        let room: Vec<_> = room.split("::").collect();
        path.len() >= room.len() && room.iter().zip(path).all(|(a, b)| a == b)
    };
    (0..HOUSE.len()).filter(|&place| holds(HOUSE[place])).max_by_key(|&place| HOUSE[place].len())
}

#[test]
fn every_room_uses_only_those_above_it() {
    let (mut all, mut arrows) = (Vec::new(), 0);
    files(&source(), &mut all);
    for file in &all {
        let module = module(file);
        let Some(user) = room(&module) else { continue };
        let text = fs::read_to_string(file).expect("a text");
        for path in used(&code(&text), &module) {
            let Some(place) = room(&path) else { continue };
            arrows += 1;
            let not = ALSO_NOT.iter().any(|(room, not)| *room == HOUSE[user] && not.contains(&HOUSE[place]));
            assert!(place <= user && !not, "{} uses {}, in {}", HOUSE[user], path.join("::"), file.display());
        }
    }
    assert!(arrows > 100, "only {arrows} uses were found, so the source was not read");
}

/// Files may look up at the folder that they are a part of, and a folder uses its files. Among the others there is no
/// circle.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut all = Vec::new();
    files(&source(), &mut all);
    let modules: BTreeMap<Vec<String>, String> =
        all.iter().map(|file| (module(file), code(&fs::read_to_string(file).expect("a text")))).collect();
    let mut left: BTreeMap<_, BTreeSet<_>> = modules
        .iter()
        .map(|(user, code)| {
            let file = |path: Vec<String>| (1..=path.len()).rev().find_map(|k| modules.get_key_value(&path[..k]));
            let others = used(code, user).into_iter().filter_map(file).map(|(module, _)| module);
            (user, others.filter(|module| !module.starts_with(user) && !user.starts_with(module)).collect())
        })
        .collect();
    // Whatever uses nothing that is left is in no circle.
    while let Some(free) = left.iter().find(|(_, uses)| uses.is_empty()).map(|(&module, _)| module) {
        left.remove(free);
        for uses in left.values_mut() {
            uses.remove(free);
        }
    }
    assert!(left.is_empty(), "in or behind a circle: {left:?}");
}

#[test]
fn uses_are_read_from_the_source() {
    let module = ["http", "routes", "count"].map(str::to_owned);
    let text = "use crate::{runs::Count, http::{request::{self, Call}}};\nfn f() { super::solve::g(crate::cli::h()) }\n\
        // use crate::server;\nconst A: &str = \"crate::runs\";\npub(super) fn i() {}";
    let found = used(&code(text), &module);
    let found: Vec<_> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["cli::h", "http::request", "http::request::Call", "http::routes::solve::g", "runs::Count"]);
}
