//! The console's files, embedded in the program, and the headers that they are served with.
//!
//! Used by `access` and `people`. The page loads nothing from other hosts and runs no script but these files. It does not serve
//! data: the page fetches that from the API.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderName, HeaderValue, header};

/// Scripts, styles and images only from this origin; nothing inline, no text parsed as markup. Frames come from the
/// listener of apps only (`frame-src`, added for each console).
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every file.
const FILE_HEADERS: [(HeaderName, &str); 5] = [
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

/// The page.
const INDEX: &[u8] = file!("index.html");

/// Every file that the page loads: path, media type, content.
const CONSOLE_FILES: &[(&str, &str, &[u8])] = &[
    ("/console/icon.svg", SVG_TYPE, file!("icon.svg")),
    ("/console/pages.css", CSS_TYPE, file!("pages.css")),
    ("/console/style.css", CSS_TYPE, file!("style.css")),
    ("/console/tokens.css", CSS_TYPE, file!("tokens.css")),
    ("/console/accounts.js", JAVASCRIPT_TYPE, file!("accounts.js")),
    ("/console/adding.js", JAVASCRIPT_TYPE, file!("adding.js")),
    ("/console/api.js", JAVASCRIPT_TYPE, file!("api.js")),
    ("/console/app-card.js", JAVASCRIPT_TYPE, file!("app-card.js")),
    ("/console/app-host.js", JAVASCRIPT_TYPE, file!("app-host.js")),
    ("/console/app-link.js", JAVASCRIPT_TYPE, file!("app-link.js")),
    ("/console/app.js", JAVASCRIPT_TYPE, file!("app.js")),
    ("/console/approval.js", JAVASCRIPT_TYPE, file!("approval.js")),
    ("/console/call.js", JAVASCRIPT_TYPE, file!("call.js")),
    ("/console/calling.js", JAVASCRIPT_TYPE, file!("calling.js")),
    ("/console/calls.js", JAVASCRIPT_TYPE, file!("calls.js")),
    ("/console/catalog.js", JAVASCRIPT_TYPE, file!("catalog.js")),
    ("/console/chart.js", JAVASCRIPT_TYPE, file!("chart.js")),
    ("/console/clients.js", JAVASCRIPT_TYPE, file!("clients.js")),
    ("/console/content.js", JAVASCRIPT_TYPE, file!("content.js")),
    ("/console/diagram.js", JAVASCRIPT_TYPE, file!("diagram.js")),
    ("/console/dom.js", JAVASCRIPT_TYPE, file!("dom.js")),
    ("/console/entry.js", JAVASCRIPT_TYPE, file!("entry.js")),
    ("/console/filter.js", JAVASCRIPT_TYPE, file!("filter.js")),
    ("/console/form.js", JAVASCRIPT_TYPE, file!("form.js")),
    ("/console/import.js", JAVASCRIPT_TYPE, file!("import.js")),
    ("/console/keys.js", JAVASCRIPT_TYPE, file!("keys.js")),
    ("/console/link.js", JAVASCRIPT_TYPE, file!("link.js")),
    ("/console/list.js", JAVASCRIPT_TYPE, file!("list.js")),
    ("/console/log.js", JAVASCRIPT_TYPE, file!("log.js")),
    ("/console/notify.js", JAVASCRIPT_TYPE, file!("notify.js")),
    ("/console/overview.js", JAVASCRIPT_TYPE, file!("overview.js")),
    ("/console/permission-words.js", JAVASCRIPT_TYPE, file!("permission-words.js")),
    ("/console/permissions.js", JAVASCRIPT_TYPE, file!("permissions.js")),
    ("/console/problems.js", JAVASCRIPT_TYPE, file!("problems.js")),
    ("/console/questions.js", JAVASCRIPT_TYPE, file!("questions.js")),
    ("/console/request.js", JAVASCRIPT_TYPE, file!("request.js")),
    ("/console/route.js", JAVASCRIPT_TYPE, file!("route.js")),
    ("/console/served.js", JAVASCRIPT_TYPE, file!("served.js")),
    ("/console/server-state.js", JAVASCRIPT_TYPE, file!("server-state.js")),
    ("/console/server-tools.js", JAVASCRIPT_TYPE, file!("server-tools.js")),
    ("/console/server.js", JAVASCRIPT_TYPE, file!("server.js")),
    ("/console/servers.js", JAVASCRIPT_TYPE, file!("servers.js")),
    ("/console/skills.js", JAVASCRIPT_TYPE, file!("skills.js")),
    ("/console/store.js", JAVASCRIPT_TYPE, file!("store.js")),
    ("/console/template.js", JAVASCRIPT_TYPE, file!("template.js")),
    ("/console/units.js", JAVASCRIPT_TYPE, file!("units.js")),
];

/// The page at `/` and its files, as a page that may have frames from `frame_sources`.
pub(super) fn routes(frame_sources: &str) -> Router {
    let policy = policy(frame_sources);
    let index = get(move || async move { answer(HTML_TYPE, INDEX, policy) });
    files(frame_sources).route("/", index)
}

/// The files that the page loads.
pub(super) fn files(frame_sources: &str) -> Router {
    let policy = policy(frame_sources);
    CONSOLE_FILES.iter().fold(Router::new(), |routes, (path, kind, text)| {
        let policy = policy.clone();
        routes.route(path, get(move || async move { answer(kind, text, policy) }))
    })
}

/// The page itself.
pub(super) fn index_page(frame_sources: &str) -> Response {
    answer(HTML_TYPE, INDEX, policy(frame_sources))
}

fn policy(frame_sources: &str) -> HeaderValue {
    let policy = format!("{CONTENT_SECURITY_POLICY}; frame-src {frame_sources}");
    // Frames are of origins that were parsed, so the policy is a valid header.
    HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static(CONTENT_SECURITY_POLICY))
}

fn answer(kind: &'static str, text: &'static [u8], policy: HeaderValue) -> Response {
    let mut response = Response::new(axum::body::Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in FILE_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
