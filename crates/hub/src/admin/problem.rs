//! Error responses of the admin API, as `application/problem+json` with kind, title, detail and hint.
//!
//! Used by every route, by [`client`](super::client) and by `cli`. It does not cover failed calls (`core::remote`
//! does).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use switchboard_wire::sanitize;

/// The response in place of a problem that cannot be written.
const UNWRITABLE_PROBLEM: &str =
    r#"{"kind":"failed","title":"the answer cannot be written","status":500}"#;

/// Why a request was not served, as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{title}")]
pub struct AdminProblem {
    /// The kind; stable.
    pub kind: AdminProblemKind,
    /// The error, as a sentence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The cause, or the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The next step for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Kinds of [`AdminProblem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminProblemKind {
    /// The address does not exist.
    NoSuchAddress,
    /// The workspace does not exist.
    NoSuchWorkspace,
    /// The server does not exist.
    NoSuchServer,
    /// The client's session does not exist, or cannot be ended here.
    NoSuchSession,
    /// The question does not exist, or was answered.
    NoSuchQuestion,
    /// The remembered answer does not exist.
    NoSuchAnswer,
    /// The account does not exist, or was signed out.
    NoSuchAccount,
    /// The call does not exist, or its parameters and result are not kept.
    NoSuchCall,
    /// The request cannot be parsed.
    Malformed,
    /// The workspace or its faces cannot be opened as requested, or the files cannot be changed like this.
    Refused,
    /// The item has changed since it was shown.
    Changed,
    /// The request has no valid token or pass.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// A limit on open workspaces, questions or calls is reached.
    TooMany,
    /// `Origin` is not the hub's own address.
    Foreign,
    /// An operation timed out.
    TooSlow,
    /// The hub failed.
    Failed,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

// === impl AdminProblem ===

impl AdminProblem {
    /// Creates a problem with a sanitized title.
    pub fn new(kind: AdminProblemKind, title: impl Into<String>) -> Self {
        let title = sanitize::sanitize_line(&title.into()).into_owned();
        Self { kind, title, status: kind.status().as_u16(), detail: None, hint: None }
    }

    /// Adds the cause or the place.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(sanitize::sanitize_line(&detail.into()).into_owned());
        self
    }

    /// Adds the next step for a person.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(sanitize::sanitize_line(&hint.into()).into_owned());
        self
    }

    pub(super) fn no_workspace(id: &str) -> Self {
        Self::new(AdminProblemKind::NoSuchWorkspace, format!("there is no workspace `{id}`"))
            .with_detail("a workspace ends a minute after its last user has closed it")
            .with_hint("open it with `POST /api/v1/workspaces`, or list those there are with `GET`")
    }

    pub(super) fn no_server(name: &str) -> Self {
        Self::new(
            AdminProblemKind::NoSuchServer,
            format!("no server `{name}` is started in this workspace"),
        )
        .with_hint("see `servers` of the workspace's snapshot")
    }

    pub(super) fn unnamed() -> Self {
        Self::new(AdminProblemKind::Malformed, "the server has no name").with_hint("give it one")
    }

    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::new(AdminProblemKind::Malformed, "the request cannot be understood")
            .with_detail(why)
            .with_hint("see `docs/reference/admin.md`")
    }

    pub(super) fn too_many(what: &str) -> Self {
        Self::new(AdminProblemKind::TooMany, format!("too many {what} are open at once"))
            .with_hint("close one, or try again later")
    }
}

impl IntoResponse for AdminProblem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let text = serde_json::to_vec(&self).unwrap_or_else(|error| {
            tracing::error!(%error, "a problem cannot be written as JSON");
            UNWRITABLE_PROBLEM.into()
        });
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

// === impl AdminProblemKind ===

impl AdminProblemKind {
    fn status(self) -> StatusCode {
        match self {
            Self::NoSuchAddress
            | Self::NoSuchWorkspace
            | Self::NoSuchServer
            | Self::NoSuchSession
            | Self::NoSuchQuestion
            | Self::NoSuchAnswer
            | Self::NoSuchAccount
            | Self::NoSuchCall => StatusCode::NOT_FOUND,
            Self::Malformed | Self::Other => StatusCode::BAD_REQUEST,
            Self::Refused | Self::Changed => StatusCode::CONFLICT,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            Self::Foreign | Self::Forbidden => StatusCode::FORBIDDEN,
            Self::TooSlow => StatusCode::GATEWAY_TIMEOUT,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
