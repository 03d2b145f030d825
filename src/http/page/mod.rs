//! The web page: one HTML file, a style sheet, a few modules and an icon, embedded as they are. It asks the service
//! what anyone can ask it, by relative addresses, and loads nothing from elsewhere.

use crate::http::request::Call;
use crate::http::response::{FileProblems, PlainProblems, Problem};
use crate::http::routes::service;
use crate::http::state::App;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, VARY};
use axum::response::{IntoResponse, Response};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use utoipa::ToSchema;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page.
struct File {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($content_type:ident $name:literal),* $(,)?) => {
        &[$(File { name: $name, content_type: $content_type, bytes: include_bytes!($name) }),*]
    };
}

static PAGE: File = File { name: "index.html", content_type: HTML, bytes: include_bytes!("index.html") };
/// What the page loads.
static FILES: &[File] = files![
    CSS "style.css",
    SVG "icon.svg",
    JAVASCRIPT "address.js",
    JAVASCRIPT "api.js",
    JAVASCRIPT "app.js",
    JAVASCRIPT "arrays.js",
    JAVASCRIPT "board.js",
    JAVASCRIPT "code.js",
    JAVASCRIPT "conflicts.js",
    JAVASCRIPT "controls.js",
    JAVASCRIPT "counts.js",
    JAVASCRIPT "dom.js",
    JAVASCRIPT "en.js",
    JAVASCRIPT "i18n.js",
    JAVASCRIPT "overview.js",
    JAVASCRIPT "player.js",
    JAVASCRIPT "plot.js",
    JAVASCRIPT "search.js",
    JAVASCRIPT "sentence.js",
    JAVASCRIPT "share.js",
    JAVASCRIPT "solutions.js",
    JAVASCRIPT "state.js",
    JAVASCRIPT "token.js",
    JAVASCRIPT "tree.js",
    JAVASCRIPT "trouble.js",
    JAVASCRIPT "try.js",
    JAVASCRIPT "watch.js",
    JAVASCRIPT "zh.js",
];

/// What the page may do: run and show its own files and ask its own service. No inline script, no inline style, and no
/// other page's frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The page's languages.
#[derive(Clone, Copy, ToSchema)]
#[schema(rename_all = "snake_case")]
enum Language {
    En,
    Zh,
}

impl Language {
    const ALL: [Self; 2] = [Self::En, Self::Zh];

    const fn name(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

/// The page, or the list of routes
///
/// Browsers, and whoever else likes `text/html` better than JSON, get a page that shows the lecture's search event by
/// event, takes boards to try, lists solutions and follows counts. Everyone else gets the list of routes. The page passes
/// over parameters that it does not know, since messengers add some to links.
#[utoipa::path(
    get, path = "/", tag = "service", operation_id = "index",
    params(("lang" = inline(Option<Language>), Query, description = "The page's language; default the browser's")),
    responses(
        (status = 200, description = "The page, or the routes with a line on each", content(
            (serde_json::Value = "application/json"), (String = "text/html"),
        )),
        PlainProblems,
    )
)]
pub async fn page(State(app): State<App>, call: Call) -> Result<Response, Problem> {
    let mut response = if call.prefers_html() {
        let policy = [(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))];
        (policy, PAGE.answer()).into_response()
    } else {
        call.parameters(&["lang"])?.choice("lang", &Language::ALL, Language::name)?;
        service::index(&app)
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// A file of the page
#[utoipa::path(
    get, path = "/page/{file}", tag = "service", operation_id = "page_file",
    params(("file" = String, Path, description = "The file's name", example = "app.js")),
    responses(
        (status = 200, description = "The file", content(
            (String = "text/javascript"), (String = "text/css"), (String = "image/svg+xml"),
        )),
        FileProblems,
    )
)]
pub async fn file(file: Result<Path<String>, PathRejection>, call: Call) -> Result<Response, Problem> {
    let Ok(Path(name)) = file else { return Err(Problem::NotFound) }; // its name is not UTF-8
    let file = FILES.iter().find(|file| file.name == name).ok_or(Problem::NotFound)?;
    call.parameters(&[])?;
    Ok(file.answer())
}

impl File {
    /// Browsers ask again each time, and mostly learn that they have it: a new version of the service shows at once.
    fn answer(&self) -> Response {
        let mut hash = DefaultHasher::new();
        self.bytes.hash(&mut hash);
        // Weak, because compression makes other bytes of the same content.
        let tag = format!("W/\"{:016x}\"", hash.finish());
        // What compression would add: 304 is to name it too.
        let vary = "accept-encoding".to_owned();
        let headers = [(ETAG, tag), (CACHE_CONTROL, "no-cache".to_owned()), (VARY, vary)];
        (headers, [(CONTENT_TYPE, self.content_type)], self.bytes).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_the_folder_is_embedded() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/page")).expect("the folder");
        let mut there: Vec<_> = folder.map(|entry| entry.expect("an entry").file_name()).collect();
        there.retain(|name| name != "mod.rs" && name != PAGE.name);
        there.sort();
        let mut embedded: Vec<_> = FILES.iter().map(|file| file.name).collect();
        embedded.sort_unstable();
        assert_eq!(there, embedded);
    }
}
