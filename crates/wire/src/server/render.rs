//! Rendering of results and errors for an era.
//!
//! Used by `legacy`, `modern` and `session`. It adds only missing members and removes only members of the other era;
//! every other byte stays.

use crate::{
    Era, Version,
    envelope::{RpcError, code},
    json::{JsonEdit, JsonKind, Raw, Rope, quote},
    meta::{self, method},
};

/// Whether results of this method carry a TTL.
fn is_cacheable(asked: &str) -> bool {
    matches!(
        asked,
        method::DISCOVER
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::SKILLS_LIST
            | method::SKILLS_GET
    )
}

/// Renders a result for the client's era. Adds only missing members, and removes only members of the other era.
pub(super) fn result(
    era: Era,
    asked: &str,
    result: &Raw,
    info: impl FnOnce() -> Raw,
) -> Result<Rope, RpcError> {
    if result.kind() != JsonKind::Object {
        return Err(RpcError::new(code::INTERNAL_ERROR, "the server's result is not an object"));
    }
    let rendered = match era {
        Era::Modern => modern(asked, result, info),
        Era::Legacy => result.with_edits_as_rope(&[
            JsonEdit::remove(&["resultType"]),
            JsonEdit::remove(&["ttlMs"]),
            JsonEdit::remove(&["cacheScope"]),
            if is_only_server_info(result) {
                JsonEdit::remove(&["_meta"])
            } else {
                JsonEdit::remove(&["_meta", meta::SERVER_INFO])
            },
        ]),
    };
    rendered.map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
}

fn modern(
    asked: &str,
    result: &Raw,
    info: impl FnOnce() -> Raw,
) -> Result<Rope, crate::json::SpliceError> {
    let missing = |path: &[&str]| !matches!(result.get_path(path), Ok(Some(_)));
    let mut edits = Vec::new();
    let complete = missing(&["resultType"]);
    if complete {
        edits.push(JsonEdit::set(&["resultType"], "\"complete\""));
    }
    if is_cacheable(asked) && (complete || is_complete(result)) {
        if missing(&["ttlMs"]) {
            edits.push(JsonEdit::set(&["ttlMs"], "0"));
        }
        if missing(&["cacheScope"]) {
            edits.push(JsonEdit::set(&["cacheScope"], "\"private\""));
        }
    }
    let info = missing(&["_meta", meta::SERVER_INFO]).then(info);
    if let Some(info) = &info {
        edits.push(JsonEdit::set(&["_meta", meta::SERVER_INFO], info.as_str()));
    }
    result.with_edits_as_rope(&edits)
}

/// Whether `_meta` holds `serverInfo` only, so that a legacy result needs no `_meta`.
fn is_only_server_info(result: &Raw) -> bool {
    let own = result.get("_meta").ok().flatten();
    own.is_some_and(|own| {
        let mut members = own.members();
        members.next().is_some_and(|first| first.is_named(meta::SERVER_INFO))
            && members.next().is_none()
    })
}

fn is_complete(result: &Raw) -> bool {
    matches!(result.get("resultType"), Ok(Some(kind)) if kind.as_str() == "\"complete\"")
}

/// Renders capabilities for a version: the two versions with tasks name them differently.
pub(super) fn capabilities(version: Version, capabilities: &Raw) -> Raw {
    let extension = JsonEdit::remove(&["extensions", meta::TASKS_EXTENSION]);
    let member = JsonEdit::remove(&["tasks"]);
    let edits: &[JsonEdit<'_>] = match version {
        Version::V2025_11_25 => &[extension],
        version if version.era() == Era::Modern => &[member],
        _ => &[extension, member],
    };
    capabilities.clone().overwrite(edits)
}

/// Translates an error code into the code of the client's era.
pub(super) fn error(era: Era, asked: &str, mut error: RpcError) -> RpcError {
    let names_uri = error.data.as_ref().is_some_and(|data| matches!(data.get("uri"), Ok(Some(_))));
    error.code = match (era, error.code) {
        (Era::Modern, code::RESOURCE_NOT_FOUND) => code::INVALID_PARAMS,
        (Era::Legacy, code::INVALID_PARAMS) if asked == method::RESOURCES_READ && names_uri => {
            code::RESOURCE_NOT_FOUND
        }
        (_, code) => code,
    };
    error
}

/// The error for an unsupported version.
pub(super) fn unsupported_version(requested: &str) -> RpcError {
    let data = format!(
        r#"{{"supported":{},"requested":{}}}"#,
        supported_versions_json(),
        quote(requested)
    );
    RpcError::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(Raw::from_trusted(data.into()))
}

/// The error for a question that the client does not support.
pub(super) fn missing_capability(needed: &Raw) -> RpcError {
    let data = format!(r#"{{"requiredCapabilities":{needed}}}"#);
    RpcError::new(code::MISSING_CAPABILITY, "Missing required client capability")
        .with_data(Raw::from_trusted(data.into()))
}

/// All versions, newest first, as JSON.
pub(super) fn supported_versions_json() -> String {
    let versions: Vec<_> =
        Version::ALL.iter().rev().map(|version| quote(version.as_str())).collect();
    format!("[{}]", versions.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server may write a member twice: a client of another version must see neither.
    #[test]
    fn capabilities_of_other_versions_go_however_often_they_are_written() {
        let check = |version, given: &str, expected: &str| {
            let shown = capabilities(version, &Raw::parse(given.to_owned()).unwrap());
            assert_eq!(shown.as_str(), expected, "{version:?} {given}");
        };
        let twice = r#"{"tasks":{},"tools":{},"tasks":{"list":{}}}"#;
        check(Version::V2026_07_28, twice, r#"{"tools":{}}"#);
        check(Version::V2025_06_18, twice, r#"{"tools":{}}"#);
        check(Version::V2025_06_18, r#"{"extensions":3}"#, r#"{"extensions":3}"#);
    }
}
