//! Words about the hub itself.

use std::time::Duration;

use serde::de::DeserializeOwned;
use switchboard_wire::json::Raw;

use super::{
    Error,
    reach::{Dialed, dial, open, say},
};
use crate::socket::{Hello, PROTOCOL, Place, Status, Want, Welcome};

/// A hub answers these without asking anybody.
const PATIENCE: Duration = Duration::from_secs(5);
/// Such answers are short, unless a thousand clients are to be told of.
const LIMIT: usize = 4 << 20;

/// How the hub is; `None` if there is none.
pub async fn status(place: &Place, version: &str) -> Result<Option<Status>, Error> {
    ask(place, version, Want::Status).await
}

/// Has the hub end; `None` if there is none. It may take a moment after the answer.
pub async fn stop(place: &Place, version: &str) -> Result<Option<Welcome>, Error> {
    ask(place, version, Want::Stop).await
}

/// Has the hub make room for `version` when no call is in flight; refused where that is not newer.
pub async fn hand_over(place: &Place, version: &str) -> Result<Option<Welcome>, Error> {
    ask(place, version, Want::Handover).await
}

async fn ask<T: DeserializeOwned>(
    place: &Place,
    version: &str,
    want: Want,
) -> Result<Option<T>, Error> {
    let path = place.socket();
    let Dialed::Somebody(stream) = dial(&path).await? else {
        return Ok(None);
    };
    let hello = Hello {
        switchboard: PROTOCOL,
        version: version.to_owned(),
        want,
        cwd: std::path::PathBuf::new(),
        env: std::collections::BTreeMap::new(),
        view: Raw::empty_object(),
        client: None,
    };
    say(&mut open(&path, stream, LIMIT)?, &hello, &path, PATIENCE).await
}
