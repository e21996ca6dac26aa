//! The pages at the hub's address on which people of other machines sign in: first their browser here, and then
//! themselves to a server, through a sign-in link.
//!
//! ```text
//! link ─ whose browser? ─┬─ the issuer ────┬─ the server's authorization server ─ back to the same browser ─ done
//!                        └─ a one-time code ┘
//! ```
//!
//! The pages run no script. A form counts only from a page of this address, by its `Origin`. A page names nothing of a
//! sign-in before the browser has proved whose it is.
//!
//! Used by `faces`, which serves them beside the faces. Links are in `sign_in_links`, codes in `sign_in_codes`, the issuer's page in
//! `issuer_sign_in`, the sessions of browsers in `browser_session`. It does not exchange what a browser came back with
//! (`auth` does).

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

use super::browser_session::{BeginSessionError, BrowserSession, BrowserSessions};
use super::issuer_sign_in::{FinishedVisit, ISSUER_CALLBACK_PATH, IssuerSignIn, IssuerSignInError};
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
/// The path that leads to the issuer's page.
const ISSUER_PATH: &str = "/sign-in/issuer";
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
    /// The issuer, where this hub is a client of it.
    issuer: Option<IssuerSignIn>,
}

// === impl SignInPages ===

impl SignInPages {
    pub(super) fn new(
        links: SignInLinkTable,
        sessions: Arc<BrowserSessions>,
        issuer: Option<IssuerSignIn>,
    ) -> Self {
        Self { links, sessions, codes: SignInCodes::default(), issuer }
    }

    /// The routes, to be served beside the faces.
    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route(&format!("{LINK_PATH}{{word}}"), get(link))
            .route(BROWSER_PAGE_PATH, get(browser))
            .route(CALLBACK_PATH, get(callback))
            .route(ENTER_PATH, post(enter))
            .route(LEAVE_PATH, post(leave))
            .route(ISSUER_PATH, get(to_issuer))
            .route(ISSUER_CALLBACK_PATH, get(from_issuer))
            .route(CODE_PATH, post(code))
            .with_state(Arc::new(self))
    }

    /// Returns the session of a request's browser. Without one, returns the page on which the person signs the browser
    /// in, and goes on to the path `next` of this address.
    fn require_session(
        &self,
        headers: &HeaderMap,
        next: &str,
    ) -> Result<BrowserSession, Box<Response>> {
        let session = self.sessions.find(headers);
        session.ok_or_else(|| Box::new(self.identify_page(StatusCode::OK, next, "")))
    }

    /// The URL of a path of this address; `None` for anything else, so that nothing leads a browser away.
    fn local_url(&self, path: &str) -> Option<Url> {
        let base = self.sessions.base();
        let url = base.join(path).ok()?;
        (path.starts_with('/') && url.origin() == base.origin()).then_some(url)
    }

    /// Gives the browser a session, and leads it to the path `next`.
    fn enter_with(&self, session: HeaderValue, next: &str) -> Response {
        let mut response = match self.local_url(next) {
            Some(next) => redirect_page(&next),
            None => html(StatusCode::OK, "This browser is signed in", ""),
        };
        response.headers_mut().append(header::SET_COOKIE, session);
        response
    }

    /// The page that asks whose browser this is; `why` is HTML.
    fn identify_page(&self, status: StatusCode, next: &str, why: &str) -> Response {
        let base = self.sessions.base();
        let url = |path: &str| base.join(path).map_or_else(|_| path.to_owned(), String::from);
        let issuer = self.issuer.as_ref().map(|issuer| {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
            format!(
                "<p><a class=\"go\" href=\"{url}\">Sign in with {issuer}</a></p><p>Or type a one-time code, which your \
                 client gets with its token:</p>",
                url = escape(&url(&format!("{ISSUER_PATH}?{query}"))),
                issuer = escape(&host_of(issuer.issuer())),
            )
        });
        let way = issuer.unwrap_or_else(|| {
            "<p>Ask for a one-time code with the token that your client uses, and type it here:</p>".to_owned()
        });
        let (purpose, danger) = match next {
            CONSOLE_PATH => (
                "The console shows you your own clients, calls and accounts.",
                "this browser would be signed in as that person",
            ),
            _ => (
                "Only the person who began this sign-in can finish it.",
                "your sign-in would serve their calls",
            ),
        };
        let body = format!(
            "{why}<p>{purpose}</p>{way}\
             <pre>curl -X POST -H \"Authorization: Bearer $TOKEN\" {address}</pre>\
             <form method=\"post\" action=\"{ENTER_PATH}\"><input type=\"hidden\" name=\"next\" value=\"{next}\">\
             <input name=\"code\" size=\"24\" autocomplete=\"off\" autofocus required> <button>Sign in</button></form>\
             <p>A code is good once, for {minutes} minutes. Do not type a code that somebody sent you: {danger}.</p>",
            address = escape(&url(CODE_PATH)),
            next = escape(next),
            minutes = CODE_LIFETIME.as_secs() / 60,
        );
        html(status, "Whose browser is this?", &body)
    }
}

/// `GET /sign-in/link/{word}`: leads on to the server's page, or asks whose browser it is.
async fn link(
    State(pages): State<Arc<SignInPages>>,
    Path(word): Path<String>,
    headers: HeaderMap,
) -> Response {
    let mut own = pages.sessions.base().clone();
    if let Ok(mut path) = own.path_segments_mut() {
        path.clear().extend(["sign-in", "link", &word]);
    }
    let session = match pages.require_session(&headers, own.path()) {
        Ok(session) => session,
        Err(_) if !pages.links.has_link(&word) => return unknown_page(),
        Err(page) => return *page,
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
    pages.identify_page(StatusCode::OK, CONSOLE_PATH, "")
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
    let session = pages.sessions.find(&headers);
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
    let next = only_value(&body, "next").unwrap_or_default();
    let code = only_value(&body, "code").unwrap_or_default();
    let Some(proof) = pages.codes.redeem(&code) else {
        let why = "<p><b>This code is unknown, was used, or is too old.</b></p>";
        return pages.identify_page(StatusCode::FORBIDDEN, &next, why);
    };
    match pages.sessions.begin(proof) {
        Ok(session) => pages.enter_with(session, &next),
        Err(error) => failed_page(&error),
    }
}

/// `GET /sign-in/issuer`: leads to the issuer's page. Of its query, `next` is the path that the browser goes on to.
async fn to_issuer(State(pages): State<Arc<SignInPages>>, RawQuery(query): RawQuery) -> Response {
    let Some(issuer) = &pages.issuer else { return unknown_page() };
    let next = only_value(query.unwrap_or_default().as_bytes(), "next").unwrap_or_default();
    match issuer.begin(&pages.sessions, next).await {
        Ok((page, visit)) => {
            let mut response = redirect_page(&page);
            response.headers_mut().append(header::SET_COOKIE, visit);
            response
        }
        Err(error) => not_by_issuer_page(&error),
    }
}

/// `GET /sign-in/issuer/callback`: a browser comes back from the issuer's page.
async fn from_issuer(
    State(pages): State<Arc<SignInPages>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(issuer) = &pages.issuer else { return unknown_page() };
    let query = query.unwrap_or_default();
    let state = only_value(query.as_bytes(), "state").unwrap_or_default();
    let finished = issuer.finish(&pages.sessions, &headers, &state, &query).await;
    if let Err(error @ IssuerSignInError::NoVisit) = &finished {
        // Another visit of this browser may be under way.
        return not_by_issuer_page(error);
    }
    let mut response = match finished {
        Ok(FinishedVisit { session, next }) => pages.enter_with(session, &next),
        Err(error) => not_by_issuer_page(&error),
    };
    let visit = IssuerSignIn::forget_visit(&pages.sessions);
    response.headers_mut().append(header::SET_COOKIE, visit);
    response
}

/// `POST /sign-in/leave`: signs the browser out.
async fn leave(State(pages): State<Arc<SignInPages>>, headers: HeaderMap) -> Response {
    if !pages.sessions.is_own_page(&headers) {
        return foreign_page();
    }
    let mut response = html(StatusCode::OK, "This browser is signed out", "");
    if let Some(session) = pages.sessions.find(&headers) {
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

/// For a browser that did not sign in with the issuer. The person may have refused, which needs no reason.
fn not_by_issuer_page(error: &IssuerSignInError) -> Response {
    let (status, why) = match error {
        IssuerSignInError::Auth(error) if error.is_refusal("access_denied") => {
            (StatusCode::FORBIDDEN, "You did not agree at the issuer.".to_owned())
        }
        IssuerSignInError::Auth(error) => {
            let why = error.error_chain();
            tracing::warn!(error = why, "a browser could not sign in with the issuer");
            (StatusCode::BAD_GATEWAY, format!("The sign-in with the issuer failed: {why}."))
        }
        IssuerSignInError::Session(error) => return failed_page(error),
        IssuerSignInError::NoVisit => {
            (StatusCode::FORBIDDEN, format!("The sign-in is refused: {error}."))
        }
    };
    let text = format!("<p>{}</p><p>Open the link again to try once more.</p>", escape(&why));
    html(status, "This browser is not signed in", &text)
}

fn failed_page(error: &BeginSessionError) -> Response {
    let text = format!("<p>No session can begin: {}.</p>", escape(&error.to_string()));
    html(StatusCode::INTERNAL_SERVER_ERROR, "This browser is not signed in", &text)
}

fn redirect_page(to: &Url) -> Response {
    let mut response = html(StatusCode::SEE_OTHER, "Go on", "");
    if let Ok(to) = HeaderValue::from_str(to.as_str()) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

/// The host of an issuer, or its whole text.
fn host_of(issuer: &str) -> String {
    let url = Url::parse(issuer).ok();
    url.and_then(|url| Some(url.host_str()?.to_owned())).unwrap_or_else(|| issuer.to_owned())
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
