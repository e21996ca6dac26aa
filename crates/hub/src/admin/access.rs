//! Access control of the loopback port: a bearer token for programs, a console pass for pages.
//!
//! Used by `loopback` around the routes of the API. It does not store tokens or passes (`token` and `passes` do), and
//! is not used on the private socket.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json as value;

use super::apps::AppFrames;
use super::passes::{self, PassVerdict};
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{self, JsonBody, json};
use super::{AdminApi, AdminToken, console};

/// The header with the half of a pass that the page keeps.
const PASS_PROOF_HEADER: HeaderName = HeaderName::from_static("x-switchboard-pass");

/// The largest body with an invitation: every process of this machine may send one.
const MAX_INVITATION_BYTES: usize = 512;

/// The state of the access check.
struct AdminAccess {
    admin: AdminApi,
    token: AdminToken,
}

/// The body of `POST /console/enter`.
#[derive(Deserialize)]
struct EnterRequest {
    invitation: String,
}

/// The API behind the access check, and the console files without one: they hold nothing that is not in every copy of
/// this program.
pub(super) fn routes(admin: &AdminApi, token: AdminToken, frames: AppFrames) -> Router {
    let access = Arc::new(AdminAccess { admin: admin.clone(), token });
    let entering = Router::new().route("/console/enter", post(enter)).with_state(admin.clone());
    let files = console::routes(&frames.sources());
    let behind = routes::api(admin.clone())
        .layer(Extension(frames))
        .layer(from_fn_with_state(access, check_access));
    behind.merge(entering).merge(files)
}

async fn check_access(
    State(access): State<Arc<AdminAccess>>,
    request: Request,
    next: Next,
) -> Response {
    match access.check(request.headers()) {
        AccessVerdict::Authorized => return next.run(request).await,
        AccessVerdict::Renewed(cookie) => {
            let mut response = next.run(request).await;
            response.headers_mut().append(header::SET_COOKIE, cookie);
            return response;
        }
        AccessVerdict::Unknown => {}
    }
    let problem =
        AdminProblem::new(AdminProblemKind::Unauthorized, "this request is not signed in")
            .with_detail("there is no token, or the pass of this page is no longer valid")
            .with_hint("for the console, run `switchboard console`");
    let mut response = problem.into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// `POST /console/enter`: exchanges an invitation for a pass. One half is set as a cookie, the other is in the
/// response.
async fn enter(
    State(admin): State<AdminApi>,
    headers: HeaderMap,
    JsonBody(entering): JsonBody<EnterRequest, MAX_INVITATION_BYTES>,
) -> Result<Response, AdminProblem> {
    let entered = admin.0.passes.redeem_invitation(&entering.invitation, admin.0.engine.sealer());
    let entered = entered.map_err(|error| broken(&error))?;
    let pass = entered.ok_or_else(|| {
        AdminProblem::new(
            AdminProblemKind::Unauthorized,
            "this address has been used, or is too old",
        )
        .with_hint("`switchboard console` opens a new link")
    })?;
    let mut response = json(StatusCode::OK, &value!({ "pass": pass.proof }));
    let cookie = cookie_header(&cookie_name(&headers), &pass.cookie)
        .ok_or_else(|| AdminProblem::malformed("`Host` is no host"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// `POST /console`: the console's URL with a new one-time invitation.
pub(super) async fn invite(State(admin): State<AdminApi>) -> Result<Response, AdminProblem> {
    let url = admin.console_url().await.ok_or_else(|| {
        AdminProblem::new(AdminProblemKind::Failed, "the hub is on no port of this machine")
            .with_hint("its log says why; `switchboard stop`, and try again")
    })?;
    let invitation = admin.new_invitation().map_err(|error| broken(&error))?;
    Ok(json(StatusCode::OK, &value!({ "url": format!("{url}{invitation}") })))
}

fn broken(error: &std::io::Error) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Failed, "no pass can be made")
        .with_detail(error.to_string())
}

/// The name of the cookie. Browsers share the cookies of one host between all its ports, so each port has its own name.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit(':').next().unwrap_or_default();
    let digits: String = port.chars().filter(char::is_ascii_digit).collect();
    format!("switchboard-{digits}")
}

/// The header that sets a half of a pass. It outlives the browser's window, and ends a day after the last request.
fn cookie_header(name: &str, cookie: &str) -> Option<HeaderValue> {
    let seconds = passes::UNUSED_PASS_LIFETIME.as_secs();
    let text =
        format!("{name}={cookie}; Path=/api/v1; Max-Age={seconds}; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&text).ok()
}

/// Who sends a request.
enum AccessVerdict {
    Authorized,
    /// A page with a good pass, and the header that renews its cookie.
    Renewed(HeaderValue),
    Unknown,
}

// === impl AdminAccess ===

impl AdminAccess {
    fn check(&self, headers: &HeaderMap) -> AccessVerdict {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if let Some(given) = text(header::AUTHORIZATION) {
            let token = given.strip_prefix("Bearer ");
            let is_known = token.is_some_and(|token| self.token.matches(token.trim()));
            return if is_known { AccessVerdict::Authorized } else { AccessVerdict::Unknown };
        }
        let Some(proof) = text(PASS_PROOF_HEADER) else { return AccessVerdict::Unknown };
        let name = cookie_name(headers);
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let sealer = self.admin.0.engine.sealer();
        let check = |(_, cookie): (&str, &str)| passes::check_pass(sealer, cookie, proof);
        let mut found = pairs.filter(|(named, _)| *named == name).map(check);
        match found.find(|pass| !matches!(pass, PassVerdict::Unknown)) {
            None | Some(PassVerdict::Unknown) => AccessVerdict::Unknown,
            Some(PassVerdict::Good) => AccessVerdict::Authorized,
            Some(PassVerdict::Aged { renewed }) => match cookie_header(&name, &renewed) {
                Some(cookie) => AccessVerdict::Renewed(cookie),
                None => AccessVerdict::Authorized,
            },
        }
    }
}
