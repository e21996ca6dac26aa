//! The JSON text of a request, with the metadata of its era.
//!
//! Used by `request`. Most requests need no edit in their parameters and are concatenated; the others are spliced. It
//! does not choose the metadata (`request_meta`) or the headers (`headers`).

use bytestring::ByteString;

use super::{
    request::{RequestExtras, can_ask},
    request_meta::RequestMeta,
};
use crate::{
    json::{JsonEdit, JsonKind, JsonMember, JsonMembers, Raw, SpliceError, quote_into},
    meta,
};

/// Members of `_meta` that the session replaces.
const SENDER_META_KEYS: [&str; 5] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::PROGRESS_TOKEN,
];
/// Members of the parameters that the session may change.
const OWNED_PARAM_KEYS: [&str; 4] = ["_meta", "task", "inputResponses", "requestState"];
const META_VERSION: &[&str] = &["_meta", meta::PROTOCOL_VERSION];
const META_INFO: &[&str] = &["_meta", meta::CLIENT_INFO];
const META_CAPABILITIES: &[&str] = &["_meta", meta::CLIENT_CAPABILITIES];
const META_LOG_LEVEL: &[&str] = &["_meta", meta::LOG_LEVEL];
const META_PROGRESS: &[&str] = &["_meta", meta::PROGRESS_TOKEN];
const INPUT_RESPONSES: &[&str] = &["inputResponses"];
const REQUEST_STATE: &[&str] = &["requestState"];
const TASK: &[&str] = &["task"];

/// Writes a modern request with the sender's metadata `declared`.
pub(super) fn write_modern_request(
    id: &str,
    asked: &str,
    params: Option<&Raw>,
    extras: &RequestExtras,
    declared: &RequestMeta,
) -> Result<ByteString, SpliceError> {
    // Other methods may have members of these names with another meaning.
    let (responses, state) = if can_ask(asked) {
        (extras.input_responses.as_ref(), extras.request_state.as_ref())
    } else {
        (None, None)
    };
    let is_usual = !extras.progress && responses.is_none() && state.is_none();
    if is_usual && let Some([before, name, after]) = split_around_meta(params) {
        return Ok(concat_request(id, asked, &[before, name, declared.whole.as_str(), after]));
    }
    let mut edits = vec![
        JsonEdit::set(META_VERSION, &declared.version),
        JsonEdit::set(META_INFO, declared.info()),
        JsonEdit::set(META_CAPABILITIES, declared.capabilities.as_str()),
        set_or_remove(META_LOG_LEVEL, declared.log_level.as_deref()),
        set_or_remove(META_PROGRESS, extras.progress.then_some(id)),
        JsonEdit::remove(TASK),
    ];
    if can_ask(asked) {
        edits.push(set_or_remove(INPUT_RESPONSES, responses.map(Raw::as_str)));
        edits.push(set_or_remove(REQUEST_STATE, state.map(Raw::as_str)));
    }
    write_edited_request(id, asked, params, &edits)
}

/// Writes a legacy request, without the modern metadata that a client may have sent.
pub(super) fn write_legacy_request(
    id: &str,
    asked: &str,
    params: Option<&Raw>,
    extras: &RequestExtras,
) -> Result<ByteString, SpliceError> {
    let task = extras.task.as_ref().map(Raw::as_str);
    let is_usual = !extras.progress && task.is_none() && needs_no_edit(params);
    // Positional parameters are not MCP, but pass unchanged.
    if is_usual || params.is_some_and(|params| params.kind() == JsonKind::Array) {
        return Ok(write_request(id, asked, params));
    }
    let edits = [
        JsonEdit::remove(META_VERSION),
        JsonEdit::remove(META_INFO),
        JsonEdit::remove(META_CAPABILITIES),
        JsonEdit::remove(META_LOG_LEVEL),
        set_or_remove(META_PROGRESS, extras.progress.then_some(id)),
        JsonEdit::remove(INPUT_RESPONSES),
        JsonEdit::remove(REQUEST_STATE),
        // A task that the caller asked for stays in the parameters.
        set_or_remove(TASK, task),
    ];
    let wanted = if task.is_some() { &edits[..] } else { &edits[..edits.len() - 1] };
    write_edited_request(id, asked, params, wanted)
}

/// Splits parameters around the value of `_meta`, and supplies the member's name if it is missing. Returns `None` if
/// another member needs a change, or `_meta` has members of the caller.
fn split_around_meta(params: Option<&Raw>) -> Option<[&str; 3]> {
    let text = params.map_or("{}", Raw::as_str);
    let [own, rest @ ..] = JsonMembers::of(text).find_each(OWNED_PARAM_KEYS).ok()?;
    if rest.iter().any(Option::is_some) {
        return None;
    }
    if let Some(own) = own {
        let is_ours =
            |member: JsonMember<'_>| SENDER_META_KEYS.iter().any(|name| member.is_named(name));
        let start = own.as_ptr().addr() - text.as_ptr().addr();
        let is_all = own.starts_with('{') && JsonMembers::of(own).all(is_ours);
        return is_all.then(|| [&text[..start], "", &text[start + own.len()..]]);
    }
    let before = text.strip_suffix('}')?.trim_ascii_end();
    let name = if before == "{" { r#""_meta":"# } else { r#","_meta":"# };
    before.starts_with('{').then_some([before, name, "}"])
}

/// Whether the parameters have no member that the session may change.
fn needs_no_edit(params: Option<&Raw>) -> bool {
    let Some(params) = params else { return true };
    let ours = JsonMembers::of(params.as_str()).find_each(OWNED_PARAM_KEYS);
    params.kind() == JsonKind::Object && ours.is_ok_and(|ours| ours.iter().all(Option::is_none))
}

/// Writes a request after editing its parameters.
fn write_edited_request(
    id: &str,
    asked: &str,
    params: Option<&Raw>,
    edits: &[JsonEdit<'_>],
) -> Result<ByteString, SpliceError> {
    let given = params.cloned().unwrap_or_else(Raw::empty_object);
    if given.kind() != JsonKind::Object {
        return Err(SpliceError::NotAnObject("params".to_owned()));
    }
    let changed = given.with_edits(edits)?;
    // Absent parameters stay absent, unless an edit adds a member.
    let changed = (params.is_some() || changed.as_str() != "{}").then_some(changed);
    Ok(write_request(id, asked, changed.as_ref()))
}

fn write_request(id: &str, asked: &str, params: Option<&Raw>) -> ByteString {
    let params = params.map(Raw::as_str);
    concat_request(id, asked, params.as_slice())
}

/// Concatenates a request. Its parameters are the parts of `params`.
fn concat_request(id: &str, asked: &str, params: &[&str]) -> ByteString {
    let length = id.len() + asked.len() + params.iter().map(|part| part.len()).sum::<usize>();
    let mut text = String::with_capacity(64 + length);
    text.extend([r#"{"jsonrpc":"2.0","id":"#, id, r#","method":"#]);
    quote_into(&mut text, asked);
    if !params.is_empty() {
        text.push_str(r#","params":"#);
        text.extend(params.iter().copied());
    }
    text.push('}');
    text.into()
}

fn set_or_remove<'a>(path: &'a [&'a str], value: Option<&'a str>) -> JsonEdit<'a> {
    match value {
        Some(value) => JsonEdit::set(path, value),
        None => JsonEdit::remove(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_request_is_what_its_caller_wrote_without_what_is_modern() {
        let modern = format!(
            r#"{{"_meta":{{"{}":"x","progressToken":5,"own":1}},"requestState":"s","a":1}}"#,
            meta::PROTOCOL_VERSION
        );
        for (given, progress, task, expected) in [
            (None, false, None, None),
            (None, true, None, Some(r#"{"_meta":{"progressToken":7}}"#)),
            (Some("{}"), false, None, Some("{}")),
            (Some(r#"{ "a" : 1.0 }"#), false, None, Some(r#"{ "a" : 1.0 }"#)),
            (Some(r#"{"task":{}}"#), false, None, Some(r#"{"task":{}}"#)),
            (Some(r#"{"a":1}"#), false, Some("{}"), Some(r#"{"a":1,"task":{}}"#)),
            (
                Some(r#"{"\u005fmeta":{"progressToken":1}}"#),
                false,
                None,
                Some(r#"{"\u005fmeta":{}}"#),
            ),
            (Some(&modern), false, None, Some(r#"{"_meta":{"own":1},"a":1}"#)),
            (Some("[1,2]"), true, None, Some("[1,2]")),
        ] {
            let raw = |text: &str| Raw::parse(text.to_owned()).unwrap();
            let task = task.map(raw);
            let extras = RequestExtras { progress, task, ..RequestExtras::default() };
            let params = given.map(raw);
            let text = write_legacy_request("7", "x/\"y", params.as_ref(), &extras).unwrap();
            let expected = expected.map(|params| format!(r#","params":{params}"#));
            let expected = expected.unwrap_or_default();
            assert_eq!(
                &*text,
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x/\"y"{expected}}}"#),
                "{given:?}"
            );
        }
        let twice = Raw::parse(r#"{"_meta":{},"_meta":{}}"#.to_owned()).unwrap();
        let refused = write_legacy_request("7", "x", Some(&twice), &RequestExtras::default());
        assert_eq!(refused, Err(SpliceError::Duplicate("_meta".to_owned())));
        let word = Raw::parse("\"word\"".to_owned()).unwrap();
        let refused = write_legacy_request("7", "x", Some(&word), &RequestExtras::default());
        assert_eq!(refused, Err(SpliceError::NotAnObject("params".to_owned())));
    }

    #[test]
    fn a_request_is_written_at_once_only_where_nothing_else_is_to_be_changed() {
        let around = |text: &str| {
            let params = Raw::parse(text.to_owned()).unwrap();
            let found = split_around_meta(Some(&params)).map(|parts| parts.join("~"));
            assert_eq!(
                needs_no_edit(Some(&params)),
                found.as_ref().is_some_and(|it| it.ends_with("_meta\":~}"))
            );
            found
        };
        let version = meta::PROTOCOL_VERSION;
        for (params, expected) in [
            ("{}", r#"{~"_meta":~}"#),
            ("{ }", r#"{~"_meta":~}"#),
            (r#"{ "a" : {"_meta":1} }"#, r#"{ "a" : {"_meta":1}~,"_meta":~}"#),
            (r#"{"_meta":{},"a":1}"#, r#"{"_meta":~~,"a":1}"#),
            (
                &format!(r#"{{"\u005fmeta":{{"{version}":"x","progressToken":[1]}}}}"#),
                r#"{"\u005fmeta":~~}"#,
            ),
        ] {
            assert_eq!(around(params).as_deref(), Some(expected), "{params}");
        }
        for left in [
            r#"{"_meta":{"own":1}}"#,
            r#"{"_meta":null}"#,
            r#"{"_meta":[]}"#,
            r#"{"_meta":{},"_meta":{}}"#,
            r#"{"task":{}}"#,
            r#"{"inputResponses":1}"#,
            r#"{"requestState":1}"#,
            "[]",
            "1",
        ] {
            assert_eq!(around(left), None, "{left}");
        }
        assert_eq!(split_around_meta(None), Some(["{", r#""_meta":"#, "}"]));
    }
}
