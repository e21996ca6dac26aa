//! The pages at the hub's address on which people of other machines sign in: first their browser here, and then
//! themselves to a server, through a sign-in link.
//!
//! ```text
//! link ─ whose browser? ─ a one-time code ─ the server's authorization server ─ back to the same browser ─ done
//! ```
//!
//! The pages run no script. A form counts only from a page of this address, by its `Origin`. A page names nothing of a
//! sign-in before the browser has proved whose it is.
//!
//! Used by `faces`, which serves them beside the faces. Links are in `sign_in_links`, codes in `sign_in_codes`, the
//! sessions of browsers in `browser_session`. It does not exchange what a browser came back with (`auth` does).

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use switchboard_gateway::face::FaceCaller;
use switchboard_wire::sanitize::sanitize_line;
use url::{Url, form_urlencoded};

use super::browser_session::{BrowserSession, BrowserSessions};
use super::sign_in_codes::{CODE_LIFETIME, SignInCodes};
use super::sign_in_links::{CALLBACK_PATH, LINK_PATH, LinkRefusal, SignInLinkTable};

/// The path at which a client gets a one-time code for its token.
pub(super) const CODE_PATH: &str = "/sign-in-code";
/// The page on which a browser is signed in for the console.
pub(crate) const BROWSER_PAGE_PATH: &str = "/sign-in/browser";
const ENTER_PATH: &str = "/sign-in/enter";
const LEAVE_PATH: &str = "/sign-in/leave";
/// The console, to which a browser goes on that was signed in without a link.
pub(crate) const CONSOLE_PATH: &str = "/console/";
/// The longest form that a page sends.
const MAX_FORM_BYTES: usize = 2048;

const STYLE: &str = "body{font:16px system-ui;margin:15vh auto;max-width:34em;padding:0 1em}\
    code,input{font:15px ui-monospace,monospace}pre{overflow-x:auto;padding:.6em;background:#8881}\
    input,button,a.go{font-size:16px;padding:.4em .7em}";

/// The headers of every page. A referrer is kept within this address: browsers send no `Origin` without one.
const PAGE_HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The pages of one address.
pub(crate) struct SignInPages {
    links: SignInLinkTable,
    sessions: Arc<BrowserSessions>,
    codes: SignInCodes,
}

// === impl SignInPages ===

impl SignInPages {
    pub(crate) fn new(links: SignInLinkTable, sessions: Arc<BrowserSessions>) -> Self {
        Self { links, sessions, codes: SignInCodes::default() }
    }

    /// The routes, to be served beside the faces.
    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route(&format!("{LINK_PATH}{{word}}"), get(link))
            .route(BROWSER_PAGE_PATH, get(browser))
            .route(CALLBACK_PATH, get(callback))
            .route(ENTER_PATH, post(enter))
            .route(LEAVE_PATH, post(leave))
            .route(CODE_PATH, post(code))
            .with_state(Arc::new(self))
    }

    fn session(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        self.sessions.find(headers)
    }
}

/// `GET /sign-in/link/{word}`: leads on to the server's page, or asks whose browser it is.
async fn link(
    State(pages): State<Arc<SignInPages>>,
    Path(word): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(session) = pages.session(&headers) else {
        if !pages.links.has_link(&word) {
            return unknown_page();
        }
        return code_page(StatusCode::OK, pages.sessions.base(), &word, "");
    };
    match pages.links.visit(&word, session.principal()) {
        Ok(page) => {
            let host = page.url.host_str().unwrap_or_default().to_owned();
            let body = format!(
                "<p>This browser is signed in as <b>{who}</b>. The sign-in to <b>{server}</b> will serve the calls of \
                 {who}, and of no other person.</p><p><a class=\"go\" rel=\"noreferrer\" href=\"{url}\">Continue at {host}</a></p>\
                 {leave}",
                who = escape(session.principal().id()),
                server = escape(&page.server),
                url = escape(page.url.as_str()),
                host = escape(&host),
                leave = leave_form(),
            );
            html(StatusCode::OK, "Sign in", &body)
        }
        Err(refusal) => refused_page(refusal),
    }
}

/// `GET /sign-in/browser`: asks whose browser it is, for the console.
async fn browser(State(pages): State<Arc<SignInPages>>) -> Response {
    code_page(StatusCode::OK, pages.sessions.base(), "", "")
}

/// `GET /sign-in/callback`: a browser comes back from the server's page.
async fn callback(
    State(pages): State<Arc<SignInPages>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let Some(state) = only_value(query.as_bytes(), "state") else { return unknown_page() };
    let mut address = pages.sessions.base().clone();
    address.set_path(CALLBACK_PATH);
    address.set_query(Some(&query));
    let session = pages.session(&headers);
    let visitor = session.as_ref().map(BrowserSession::principal);
    match pages.links.come_back(&state, &address, visitor) {
        Ok(server) if only_value(query.as_bytes(), "error").is_some() => {
            let text = format!(
                "<p>You did not sign in to <b>{}</b>. You can close this window.</p>",
                escape(&server)
            );
            html(StatusCode::OK, "You did not sign in", &text)
        }
        Ok(server) => {
            let text = format!(
                "<p>The sign-in to <b>{}</b> is being finished. Close this window and go on where you were; if it \
                 fails, the reason is shown there.</p>",
                escape(&server)
            );
            html(StatusCode::OK, "Go back to your client", &text)
        }
        Err(refusal) => refused_page(refusal),
    }
}

/// `POST /sign-in/enter`: a one-time code signs the browser in.
async fn enter(State(pages): State<Arc<SignInPages>>, headers: HeaderMap, body: Bytes) -> Response {
    if !pages.sessions.is_own_page(&headers) || body.len() > MAX_FORM_BYTES {
        return foreign_page();
    }
    let word = only_value(&body, "link").unwrap_or_default();
    let code = only_value(&body, "code").unwrap_or_default();
    let Some(proof) = pages.codes.redeem(&code) else {
        let why = "<p><b>This code is unknown, was used, or is too old.</b></p>";
        return code_page(StatusCode::FORBIDDEN, pages.sessions.base(), &word, why);
    };
    let Ok(cookie) = pages.sessions.begin(proof) else {
        let text = "<p>The hub has no random numbers. Try again.</p>";
        return html(StatusCode::INTERNAL_SERVER_ERROR, "Not signed in", text);
    };
    let mut next = pages.sessions.base().clone();
    if word.is_empty() {
        next.set_path(CONSOLE_PATH);
    } else if let Ok(mut path) = next.path_segments_mut() {
        path.clear().extend(["sign-in", "link", &word]);
    }
    let mut response = html(StatusCode::SEE_OTHER, "Signed in", "");
    if let Ok(next) = HeaderValue::from_str(next.as_str()) {
        response.headers_mut().insert(header::LOCATION, next);
    }
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

/// `POST /sign-in/leave`: signs the browser out.
async fn leave(State(pages): State<Arc<SignInPages>>, headers: HeaderMap) -> Response {
    if !pages.sessions.is_own_page(&headers) {
        return foreign_page();
    }
    let mut response = html(StatusCode::OK, "This browser is signed out", "");
    if let Some(session) = pages.session(&headers) {
        response.headers_mut().append(header::SET_COOKIE, pages.sessions.end(&session));
    }
    response
}

/// `POST /sign-in-code`: a one-time code for the token of the request, which access control has verified.
async fn code(
    State(pages): State<Arc<SignInPages>>,
    Extension(caller): Extension<FaceCaller>,
    headers: HeaderMap,
) -> Response {
    let principal = &caller.principal;
    let Some(proof) = pages.sessions.proof(principal, &headers) else {
        let text = "a code is made for a token, and this request has none\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    };
    let Ok(code) = pages.codes.create(principal.id(), proof) else {
        let text = "the hub has no random numbers; try again\n";
        return (StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, format!("{code}\n")).into_response()
}

/// The page that asks for a one-time code; `word` is that of a link, and empty for the console.
fn code_page(status: StatusCode, base: &Url, word: &str, why: &str) -> Response {
    let address = base.join(CODE_PATH).map_or_else(|_| CODE_PATH.to_owned(), String::from);
    let (purpose, danger) = match word {
        "" => (
            "The console shows you your own clients, calls and accounts.",
            "this browser would be signed in as that person",
        ),
        _ => (
            "Only the person who began this sign-in can finish it.",
            "your sign-in would serve their calls",
        ),
    };
    let body = format!(
        "{why}<p>{purpose} Ask for a one-time code with the token that your client uses, and type it here:</p><pre>curl -X POST -H \"Authorization: Bearer $TOKEN\" {address}</pre>\
         <form method=\"post\" action=\"{ENTER_PATH}\"><input type=\"hidden\" name=\"link\" value=\"{word}\">\
         <input name=\"code\" size=\"24\" autocomplete=\"off\" autofocus required> <button>Sign in</button></form>\
         <p>A code is good once, for {minutes} minutes. Do not type a code that somebody sent you: {danger}.</p>",
        address = escape(&address),
        word = escape(word),
        minutes = CODE_LIFETIME.as_secs() / 60,
    );
    html(status, "Whose browser is this?", &body)
}

fn refused_page(refusal: LinkRefusal) -> Response {
    match refusal {
        LinkRefusal::Unknown => unknown_page(),
        LinkRefusal::OfAnother => {
            let text = format!(
                "<p>Another person began it, or this browser is not signed in. Nothing was signed in to, the link leads \
                 nowhere any more, and the person who began it is told.</p>{}",
                leave_form()
            );
            html(StatusCode::FORBIDDEN, "This sign-in is not yours", &text)
        }
    }
}

fn unknown_page() -> Response {
    let text =
        "<p>There is no such sign-in, or it has ended. Call the tool again for a new link.</p>";
    html(StatusCode::NOT_FOUND, "Nothing to do here", text)
}

fn foreign_page() -> Response {
    html(StatusCode::FORBIDDEN, "Refused", "<p>This form is not one of this address.</p>")
}

fn leave_form() -> String {
    format!(
        "<form method=\"post\" action=\"{LEAVE_PATH}\"><button>Sign this browser out</button></form>"
    )
}

/// A page; `body` is HTML.
fn html(status: StatusCode, title: &str, body: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} · Switchboard</title><style>{STYLE}</style><h1>{title}</h1>{body}</html>\n"
    );
    let mut response = (status, text).into_response();
    for (name, value) in PAGE_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The value of a field of a form or query; a field that stands twice has none.
fn only_value(form: &[u8], name: &str) -> Option<String> {
    let mut found = form_urlencoded::parse(form).filter(|(key, _)| key == name);
    let (_, value) = found.next()?;
    found.next().is_none().then(|| value.into_owned())
}

fn escape(text: &str) -> String {
    let text = sanitize_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
