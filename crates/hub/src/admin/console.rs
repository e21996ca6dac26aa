//! The console's files, as they are in this program.
//!
//! They ask for nothing that does not come from here, and run nothing that is not one of these files.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderName, HeaderValue, header};

/// Scripts, styles and pictures come from here; nothing is inline, nothing is framed, and no text becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// What every file is sent with.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const PAGE: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// A file of the console's folder.
macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../console/", $name)).as_slice()
    };
}

/// Every file: where it is found, what it is, what it says.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", PAGE, file!("index.html")),
    ("/console/icon.svg", PICTURE, file!("icon.svg")),
    ("/console/style.css", STYLE, file!("style.css")),
    ("/console/activity.js", SCRIPT, file!("activity.js")),
    ("/console/api.js", SCRIPT, file!("api.js")),
    ("/console/app.js", SCRIPT, file!("app.js")),
    ("/console/calling.js", SCRIPT, file!("calling.js")),
    ("/console/catalog.js", SCRIPT, file!("catalog.js")),
    ("/console/content.js", SCRIPT, file!("content.js")),
    ("/console/dom.js", SCRIPT, file!("dom.js")),
    ("/console/form.js", SCRIPT, file!("form.js")),
    ("/console/link.js", SCRIPT, file!("link.js")),
    ("/console/list.js", SCRIPT, file!("list.js")),
    ("/console/notify.js", SCRIPT, file!("notify.js")),
    ("/console/problems.js", SCRIPT, file!("problems.js")),
    ("/console/questions.js", SCRIPT, file!("questions.js")),
    ("/console/server.js", SCRIPT, file!("server.js")),
    ("/console/servers.js", SCRIPT, file!("servers.js")),
    ("/console/store.js", SCRIPT, file!("store.js")),
    ("/console/template.js", SCRIPT, file!("template.js")),
];

pub(super) fn routes() -> Router {
    FILES.iter().fold(Router::new(), |routes, (path, kind, text)| {
        routes.route(path, get(|| async { answer(kind, text) }))
    })
}

fn answer(kind: &'static str, text: &'static [u8]) -> Response {
    let mut response = Response::new(axum::body::Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
