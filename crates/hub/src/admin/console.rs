//! The console's files, embedded in the program, and the headers that they are served with.
//!
//! Used by `access`. The page loads nothing from other hosts and runs no script but these files. It does not serve
//! data: the page fetches that from the API.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderName, HeaderValue, header};

/// Scripts, styles and images only from this origin; nothing inline, no frames, no text parsed as markup.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every file.
const FILE_HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const HTML_TYPE: &str = "text/html; charset=utf-8";
const CSS_TYPE: &str = "text/css; charset=utf-8";
const JAVASCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
const SVG_TYPE: &str = "image/svg+xml";

/// A file of the console's folder.
macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../console/", $name)).as_slice()
    };
}

/// Every file: path, media type, content.
const CONSOLE_FILES: &[(&str, &str, &[u8])] = &[
    ("/", HTML_TYPE, file!("index.html")),
    ("/console/icon.svg", SVG_TYPE, file!("icon.svg")),
    ("/console/style.css", CSS_TYPE, file!("style.css")),
    ("/console/activity.js", JAVASCRIPT_TYPE, file!("activity.js")),
    ("/console/api.js", JAVASCRIPT_TYPE, file!("api.js")),
    ("/console/app.js", JAVASCRIPT_TYPE, file!("app.js")),
    ("/console/calling.js", JAVASCRIPT_TYPE, file!("calling.js")),
    ("/console/catalog.js", JAVASCRIPT_TYPE, file!("catalog.js")),
    ("/console/content.js", JAVASCRIPT_TYPE, file!("content.js")),
    ("/console/dom.js", JAVASCRIPT_TYPE, file!("dom.js")),
    ("/console/form.js", JAVASCRIPT_TYPE, file!("form.js")),
    ("/console/link.js", JAVASCRIPT_TYPE, file!("link.js")),
    ("/console/list.js", JAVASCRIPT_TYPE, file!("list.js")),
    ("/console/notify.js", JAVASCRIPT_TYPE, file!("notify.js")),
    ("/console/problems.js", JAVASCRIPT_TYPE, file!("problems.js")),
    ("/console/questions.js", JAVASCRIPT_TYPE, file!("questions.js")),
    ("/console/server.js", JAVASCRIPT_TYPE, file!("server.js")),
    ("/console/servers.js", JAVASCRIPT_TYPE, file!("servers.js")),
    ("/console/store.js", JAVASCRIPT_TYPE, file!("store.js")),
    ("/console/template.js", JAVASCRIPT_TYPE, file!("template.js")),
];

pub(super) fn routes() -> Router {
    CONSOLE_FILES.iter().fold(Router::new(), |routes, (path, kind, text)| {
        routes.route(path, get(|| async { answer(kind, text) }))
    })
}

fn answer(kind: &'static str, text: &'static [u8]) -> Response {
    let mut response = Response::new(axum::body::Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in FILE_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
