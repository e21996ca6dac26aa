//! W3C trace context of a request or notification: carried between HTTP headers and `_meta`.
//!
//! Used by `client` and `link::sse` (from `_meta` to the headers for a server) and by the gateway's HTTP faces
//! (from a client's headers to `_meta`). Members of `_meta` that a client sent win over its headers, and always pass
//! unchanged. A value becomes a header, or a member, only if it has the form that the W3C gives it: a server's or a
//! client's text cannot add a header. It starts no trace and records none.

mod grammar;

use std::borrow::Cow;

use bytestring::ByteString;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::json::{JsonEdit, JsonKind, JsonMembers, Raw, decode_string, quote};
use crate::meta::method;

/// The `_meta` key, and the header, of the span that a request belongs to.
pub const TRACE_PARENT: &str = "traceparent";
/// The `_meta` key, and the header, of what vendors add to [`TRACE_PARENT`].
pub const TRACE_STATE: &str = "tracestate";
/// The `_meta` key, and the header, of properties that travel with a request.
pub const BAGGAGE: &str = "baggage";

const KEYS: [&str; 3] = [TRACE_PARENT, TRACE_STATE, BAGGAGE];
const PARENT_PATH: &[&str] = &["params", "_meta", TRACE_PARENT];
const STATE_PATH: &[&str] = &["params", "_meta", TRACE_STATE];
const BAGGAGE_PATH: &[&str] = &["params", "_meta", BAGGAGE];

/// Adds the headers for the trace context in the `_meta` of a request's parameters.
pub(crate) fn add_headers(headers: &mut HeaderMap, params: &str) {
    let Ok([Some(meta)]) = JsonMembers::of(params).find_each(["_meta"]) else { return };
    let Ok(found) = JsonMembers::of(meta).find_each(KEYS) else { return };
    if found.iter().all(Option::is_none) {
        return;
    }
    let [parent, state, baggage] = found.map(|value| decode_string(value?));
    if let Some(parent) = parent.filter(|text| grammar::is_trace_parent(text)) {
        insert(headers, TRACE_PARENT, &parent);
        // A state belongs to its parent and means nothing without it.
        if let Some(state) = state.filter(|text| grammar::is_trace_state(text)) {
            insert(headers, TRACE_STATE, &state);
        }
    }
    if let Some(baggage) = baggage.filter(|text| grammar::is_baggage(text)) {
        insert(headers, BAGGAGE, &baggage);
    }
}

/// The headers for the trace context of a whole message.
pub(crate) fn message_headers(message: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok([Some(params)]) = JsonMembers::of(message).find_each(["params"]) {
        add_headers(&mut headers, params);
    }
    headers
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Returns the text of a client's HTTP request with the trace context of its headers in the `_meta` of each JSON-RPC
/// request, and of each notification that goes on to a server. A text without such headers, or that is no JSON, is
/// returned as it is.
pub fn with_header_context(text: ByteString, headers: &HeaderMap) -> ByteString {
    if !KEYS.iter().any(|key| headers.contains_key(*key)) {
        return text;
    }
    let context = HeaderContext::of(headers);
    if context == HeaderContext::default() {
        return text;
    }
    match Raw::parse(text.clone()) {
        Ok(message) => context.add_to(&message).map_or(text, Raw::into_text),
        Err(_) => text,
    }
}

/// The well-formed trace context in the headers of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeaderContext<'a> {
    parent: Option<Cow<'a, str>>,
    state: Option<Cow<'a, str>>,
    baggage: Option<Cow<'a, str>>,
}

// === impl HeaderContext ===

impl<'a> HeaderContext<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let parent = one_value(headers, TRACE_PARENT);
        let parent = parent.filter(|text| grammar::is_trace_parent(text));
        let state = list_value(headers, TRACE_STATE);
        let state = state.filter(|text| parent.is_some() && grammar::is_trace_state(text));
        let baggage = list_value(headers, BAGGAGE).filter(|text| grammar::is_baggage(text));
        Self { parent, state, baggage }
    }

    /// The message, or batch, with the context; `None` if nothing changes.
    fn add_to(&self, message: &Raw) -> Option<Raw> {
        if message.kind() != JsonKind::Array {
            return self.add_to_single(message);
        }
        let mut changed = false;
        let mut messages: Vec<Raw> = message.elements().collect();
        for message in &mut messages {
            if let Some(with) = self.add_to_single(message) {
                *message = with;
                changed = true;
            }
        }
        changed.then(|| Raw::array(messages))
    }

    /// The message with the members that it lacks. Answers and the protocol's own notifications stay as they are, and
    /// so does a message with parameters that are no object.
    fn add_to_single(&self, message: &Raw) -> Option<Raw> {
        let found = message.members().find_each(["method", "id", "params"]);
        let Ok([Some(method), id, params]) = found else { return None };
        let is_forwarded =
            || decode_string(method).is_some_and(|name| method::is_extension_notification(&name));
        if id.is_none() && !is_forwarded() {
            return None;
        }
        let meta = JsonMembers::of(params.unwrap_or("{}")).find_each(["_meta"]).ok()?[0];
        let [parent, state, baggage] =
            JsonMembers::of(meta.unwrap_or("{}")).find_each(KEYS).ok()?;
        let quoted = |value: &Option<Cow<'_, str>>| value.as_deref().map(quote);
        // A parent and its state are taken from one place.
        let is_traced = parent.is_some() || state.is_some();
        let own_parent = quoted(&self.parent).filter(|_| !is_traced);
        let own_state = quoted(&self.state).filter(|_| !is_traced);
        let own_baggage = quoted(&self.baggage).filter(|_| baggage.is_none());
        let edits: Vec<JsonEdit<'_>> = [
            own_parent.as_deref().map(|value| JsonEdit::set(PARENT_PATH, value)),
            own_state.as_deref().map(|value| JsonEdit::set(STATE_PATH, value)),
            own_baggage.as_deref().map(|value| JsonEdit::set(BAGGAGE_PATH, value)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if edits.is_empty() { None } else { message.with_edits(&edits).ok() }
    }
}

/// The value of a header that may stand once.
fn one_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<Cow<'a, str>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().map(str::trim).map(Cow::Borrowed),
        _ => None,
    }
}

/// The value of a header whose lines form one list.
fn list_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<Cow<'a, str>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?.trim();
    let mut all = Cow::Borrowed(first);
    for value in values {
        let text = value.to_str().ok()?.trim();
        let list = all.to_mut();
        list.push(',');
        list.push_str(text);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn meta_becomes_headers_where_it_is_well_formed() {
        let check = |params: &str, expected: &[(&'static str, &str)]| {
            let mut made = HeaderMap::new();
            add_headers(&mut made, params);
            assert_eq!(made, headers(expected), "{params}");
        };
        let parent = format!(r#""traceparent":"{PARENT}""#);
        check(&format!(r#"{{"_meta":{{{parent}}}}}"#), &[(TRACE_PARENT, PARENT)]);
        check(
            &format!(
                r#"{{"_meta":{{{parent},"tracestate":"a=1, b@c=2","baggage":"k=v;p, l=%20"}}}}"#
            ),
            &[(TRACE_PARENT, PARENT), (TRACE_STATE, "a=1, b@c=2"), (BAGGAGE, "k=v;p, l=%20")],
        );
        check(r#"{"_meta":{"tracestate":"a=1","baggage":"k=v"}}"#, &[(BAGGAGE, "k=v")]);
        check(r#"{"_meta":{"traceparent":"x\r\nevil: 1","baggage":"k=v\r\nevil: 1"}}"#, &[]);
        check(&format!(r#"{{"_meta":{{{parent},"tracestate":5}}}}"#), &[(TRACE_PARENT, PARENT)]);
        for without in
            ["{}", r#"{"_meta":null}"#, r#"{"_meta":{"a":1}}"#, "[]", r#"{"a":{"_meta":1}}"#]
        {
            check(without, &[]);
        }
        check(&format!(r#"{{"_meta":{{{parent},{parent}}}}}"#), &[]);
    }

    #[test]
    fn headers_become_meta_where_it_has_none() {
        let check = |given: &[(&'static str, &str)], text: &str, expected: &str| {
            let made = with_header_context(text.to_owned().into(), &headers(given));
            assert_eq!(&*made, expected);
        };
        let request = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m"{params}}}"#);
        let parent = [(TRACE_PARENT, PARENT)];
        let added = format!(r#","params":{{"_meta":{{"traceparent":"{PARENT}"}}}}"#);
        check(&parent, &request(""), &request(&added));
        check(&[], &request(""), &request(""));
        let own = r#","params":{"a":1,"_meta":{"traceparent":"theirs"}}"#;
        check(&[(TRACE_PARENT, PARENT), (TRACE_STATE, "a=1")], &request(own), &request(own));
        check(
            &[(TRACE_PARENT, PARENT), (TRACE_STATE, "a=1"), (TRACE_STATE, "b=2"), (BAGGAGE, "k=v")],
            &request(r#","params":{"_meta":{"x":1}}"#),
            &request(&format!(
                r#","params":{{"_meta":{{"x":1,"traceparent":"{PARENT}","tracestate":"a=1,b=2","baggage":"k=v"}}}}"#
            )),
        );
        check(
            &[(BAGGAGE, "k=v")],
            &request(own),
            &request(r#","params":{"a":1,"_meta":{"traceparent":"theirs","baggage":"k=v"}}"#),
        );
        for wrong in
            [&[(TRACE_PARENT, "00-0-0-0")][..], &[(TRACE_STATE, "a=1")], &[parent[0], parent[0]]]
        {
            check(wrong, &request(""), &request(""));
        }
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[]}}"#,
            "{no JSON",
        ] {
            check(&parent, other, other);
        }
        let note = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/things/moved"{params}}}"#)
        };
        check(&parent, &note(""), &note(&added));
        let known = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        check(
            &parent,
            &format!("[{known}, {}]", request("")),
            &format!("[{known},{}]", request(&added)),
        );
    }
}
