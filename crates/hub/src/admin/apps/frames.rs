//! [`AppFrames`]: the frames that the console may open, each with its policy, and the page in them.
//!
//! Used by `routes` (`POST /apps` announces a frame) and by `listener` (which serves each announced frame once). The
//! page in a frame takes an app's document from the console and passes messages between the two. It does not hold the
//! app's document, and no request to it needs or gets a credential.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Router, routing::get};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json as value};
use tokio::time::Instant;

use super::policy::AppPolicy;
use crate::AppsOrigin;
use crate::admin::problem::{AdminProblem, AdminProblemKind};
use crate::admin::routes::{JsonBody, json, query_param};
use crate::admin::token::random_word;

/// The page of every frame. `{{console}}` in it is the console's origin.
const FRAME_PAGE: &str = include_str!("../../../console/app-frame.html");
/// How long an announced frame waits for the browser.
const FRAME_LIFETIME: Duration = Duration::from_secs(60);
/// The most announced frames; the oldest are dropped.
const MAX_PENDING_FRAMES: usize = 64;
/// The largest body of `POST /apps`: the metadata of one app.
const MAX_FRAME_REQUEST_BYTES: usize = 256 << 10;

/// The frames of one console. Clones share them.
#[derive(Debug, Clone)]
pub(in crate::admin) struct AppFrames(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: FramePlace,
    pending: Mutex<VecDeque<PendingFrame>>,
}

/// Where the frames are served.
#[derive(Debug)]
pub(super) enum FramePlace {
    /// On a loopback port, which other machines reach under `origin`.
    Port { port: u16, origin: Option<AppsOrigin> },
    /// Nowhere, for this reason.
    None { reason: String },
}

/// A frame that the console announced and the browser has not loaded.
#[derive(Debug)]
struct PendingFrame {
    id: String,
    console: String,
    policy: HeaderValue,
    announced: Instant,
}

/// The body of `POST /apps`: the metadata of an app, as its server declares it.
#[derive(Deserialize)]
pub(in crate::admin) struct FrameRequest {
    #[serde(default)]
    csp: Value,
    #[serde(default)]
    permissions: Value,
}

// === impl AppFrames ===

impl AppFrames {
    pub(super) fn new(place: FramePlace) -> Self {
        Self(Arc::new(Inner { place, pending: Mutex::default() }))
    }

    /// Frames that are served nowhere.
    pub(in crate::admin) fn without_listener(reason: String) -> Self {
        Self::new(FramePlace::None { reason })
    }

    /// The sources for `frame-src` of the console's own policy.
    pub(in crate::admin) fn sources(&self) -> String {
        match &self.0.place {
            FramePlace::Port { origin: Some(origin), .. } => origin.to_string(),
            FramePlace::Port { port, origin: None } => {
                format!("http://localhost:{port} http://127.0.0.1:{port}")
            }
            FramePlace::None { .. } => "'none'".to_owned(),
        }
    }

    /// The routes of the listener: the frames, and nothing else.
    pub(super) fn routes(&self) -> Router {
        Router::new().route("/", get(show_frame)).fallback(no_frame).with_state(self.clone())
    }

    /// The origin of frames for a console at `console`, which must be another one.
    fn origin_for(&self, console: &AppsOrigin) -> Result<String, AdminProblem> {
        let not_shown = |detail: String| {
            AdminProblem::new(AdminProblemKind::Refused, "this console cannot show apps")
                .with_detail(detail)
        };
        let origin = match &self.0.place {
            FramePlace::Port { origin: Some(origin), .. } => origin.to_string(),
            FramePlace::Port { port, origin: None } if console.is_loopback() => {
                console.other_loopback_name(*port)
            }
            FramePlace::Port { .. } => {
                let detail = format!(
                    "an app needs an origin of its own, and the browser that has `{console}` open reaches no other \
                     one of this hub"
                );
                return Err(not_shown(detail).with_hint(
                    "serve with `--apps-origin URL`, the origin under which browsers reach `--apps-listen`",
                ));
            }
            FramePlace::None { reason } => {
                return Err(
                    not_shown(reason.clone()).with_hint("free a port, and start the hub again")
                );
            }
        };
        if origin == console.to_string() {
            let detail = format!("`--apps-origin` is the console's own origin, `{console}`");
            return Err(not_shown(detail).with_hint("give apps an origin that serves nothing else"));
        }
        Ok(origin)
    }

    fn announce(&self, console: String, policy: HeaderValue) -> std::io::Result<String> {
        let id = random_word()?;
        let mut pending = self.0.pending.lock();
        pending.retain(|frame| frame.announced.elapsed() < FRAME_LIFETIME);
        if pending.len() >= MAX_PENDING_FRAMES {
            pending.pop_front();
        }
        let announced = Instant::now();
        pending.push_back(PendingFrame { id: id.clone(), console, policy, announced });
        Ok(id)
    }

    /// Takes an announced frame; `None` if it is unknown, was loaded, or is too old.
    fn take(&self, id: &str) -> Option<PendingFrame> {
        let mut pending = self.0.pending.lock();
        pending.retain(|frame| frame.announced.elapsed() < FRAME_LIFETIME);
        let at = pending.iter().position(|frame| frame.id == id)?;
        pending.remove(at)
    }
}

/// `POST /apps`: announces a frame for an app, and tells its URL and policy.
pub(in crate::admin) async fn open_frame(
    frames: Option<Extension<AppFrames>>,
    headers: HeaderMap,
    JsonBody(wanted): JsonBody<FrameRequest, MAX_FRAME_REQUEST_BYTES>,
) -> Result<Response, AdminProblem> {
    let console = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let console: Option<AppsOrigin> = console.and_then(|origin| origin.parse().ok());
    let (Some(Extension(frames)), Some(console)) = (frames, console) else {
        return Err(AdminProblem::new(AdminProblemKind::Refused, "only the console shows apps")
            .with_detail("`Origin` does not name the page that has the frame"));
    };
    let origin = frames.origin_for(&console)?;
    let policy = AppPolicy::from_declared(&wanted.csp, &wanted.permissions);
    let text = policy.to_header(&console.to_string());
    let header = HeaderValue::from_str(&text)
        .map_err(|error| AdminProblem::malformed(format!("`csp`: {error}")))?;
    let id = frames.announce(console.to_string(), header).map_err(|error| {
        AdminProblem::new(AdminProblemKind::Failed, "no frame can be made")
            .with_detail(error.to_string())
    })?;
    let AppPolicy { csp, permissions, dropped } = policy;
    let told = value!({
        "url": format!("{origin}/?frame={id}"), "origin": origin, "policy": text,
        "csp": csp, "permissions": permissions, "dropped": dropped,
    });
    Ok(json(StatusCode::OK, &told))
}

/// The headers of every response of the listener, beside the policy.
const FRAME_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("origin-agent-cluster"), "?1"),
];

/// `GET /?frame=…` of the listener: the page of an announced frame, once.
async fn show_frame(State(frames): State<AppFrames>, uri: Uri) -> Response {
    let taken = query_param(&uri, "frame").and_then(|id| frames.take(&id));
    let Some(frame) = taken else { return no_frame().await };
    // An origin has no character that is markup.
    let page = Html(FRAME_PAGE.replace("{{console}}", &frame.console)).into_response();
    with_headers(page, frame.policy)
}

async fn no_frame() -> Response {
    let text = "This address shows an app once, in the console. Open the app there again.\n";
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    with_headers((StatusCode::NOT_FOUND, text).into_response(), policy)
}

fn with_headers(mut response: Response, policy: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in FRAME_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(origin: Option<&str>) -> AppFrames {
        let origin = origin.map(|origin| origin.parse().unwrap());
        AppFrames::new(FramePlace::Port { port: 9, origin })
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_is_loaded_once_and_soon() {
        let frames = at(None);
        let policy = HeaderValue::from_static("default-src 'none'");
        let announce = || frames.announce("http://127.0.0.1:1".to_owned(), policy.clone()).unwrap();
        let id = announce();
        assert!(frames.take("").is_none() && frames.take("x").is_none());
        assert!(frames.take(&id).is_some());
        assert!(frames.take(&id).is_none(), "a frame was loaded twice");
        let id = announce();
        tokio::time::advance(FRAME_LIFETIME).await;
        assert!(frames.take(&id).is_none(), "an old frame was loaded");
        let first = announce();
        for _ in 0..MAX_PENDING_FRAMES {
            announce();
        }
        assert!(frames.take(&first).is_none(), "there are more frames than the limit");
    }

    #[test]
    fn frames_are_of_another_origin_than_the_console() {
        for (apps, console, expected) in [
            (None, "http://127.0.0.1:7420", Ok("http://localhost:9")),
            (None, "http://localhost:7420", Ok("http://127.0.0.1:9")),
            (None, "https://hub.example", Err("reaches no other one")),
            (Some("https://apps.example"), "https://hub.example", Ok("https://apps.example")),
            (Some("https://apps.example"), "http://127.0.0.1:7420", Ok("https://apps.example")),
            (Some("https://hub.example"), "https://hub.example", Err("the console's own origin")),
        ] {
            let origin = at(apps).origin_for(&console.parse().unwrap());
            match (origin, expected) {
                (Ok(origin), Ok(expected)) => assert_eq!(origin, expected),
                (Err(problem), Err(expected)) => {
                    let detail = problem.detail.unwrap();
                    assert!(detail.contains(expected), "{detail}");
                }
                (origin, expected) => panic!("{apps:?} {console}: {origin:?}, not {expected:?}"),
            }
        }
    }
}
