//! Words about the hub itself.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{
    HubAttachError,
    connect::{DialOutcome, dial, open_link, send_hello},
};
use crate::socket::{ClientHello, HelloPurpose, HubInfo, HubPaths, HubStatus};

/// A hub answers these without asking anybody.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Such answers are short, unless a thousand clients are to be told of.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// How the hub is; `None` if there is none.
pub async fn request_status(
    place: &HubPaths,
    version: &str,
) -> Result<Option<HubStatus>, HubAttachError> {
    send_request(place, version, HelloPurpose::Status).await
}

/// Has the hub end; `None` if there is none. It may take a moment after the answer.
pub async fn request_stop(
    place: &HubPaths,
    version: &str,
) -> Result<Option<HubInfo>, HubAttachError> {
    send_request(place, version, HelloPurpose::Stop).await
}

/// Has the hub make room for `version` when no call is in flight; refused where that is not newer.
pub async fn request_handover(
    place: &HubPaths,
    version: &str,
) -> Result<Option<HubInfo>, HubAttachError> {
    send_request(place, version, HelloPurpose::Handover).await
}

async fn send_request<T: DeserializeOwned>(
    place: &HubPaths,
    version: &str,
    want: HelloPurpose,
) -> Result<Option<T>, HubAttachError> {
    let path = place.socket_path();
    let DialOutcome::Somebody(stream) = dial(&path).await? else {
        return Ok(None);
    };
    let hello = ClientHello::without_workspace(version, want);
    send_hello(&mut open_link(&path, stream, MAX_ANSWER_BYTES)?, &hello, &path, ANSWER_TIMEOUT)
        .await
}
