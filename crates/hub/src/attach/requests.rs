//! One-shot requests to a running hub: status, stop, hand over.
//!
//! Used by the commands `status` and `stop`, and by `attach` to replace an older hub. It does not start a hub.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{
    HubAttachError,
    connect::{DialOutcome, dial, open_link, send_hello},
};
use crate::socket::{ClientHello, HelloPurpose, HubInfo, HubPaths, HubStatus};

/// How long the hub may take to answer; it answers from memory.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer: a status with a thousand clients.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The hub's status; `None` if no hub runs.
pub async fn request_status(
    place: &HubPaths,
    version: &str,
) -> Result<Option<HubStatus>, HubAttachError> {
    send_request(place, version, HelloPurpose::Status).await
}

/// Stops the hub; `None` if no hub runs. The hub may take a moment to end after its answer.
pub async fn request_stop(
    place: &HubPaths,
    version: &str,
) -> Result<Option<HubInfo>, HubAttachError> {
    send_request(place, version, HelloPurpose::Stop).await
}

/// Asks the hub to make room for `version` when no call is running; refused unless `version` is newer.
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
