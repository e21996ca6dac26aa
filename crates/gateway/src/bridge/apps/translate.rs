//! Translation of the addresses of UI resources in messages, for clients that see several servers.
//!
//! Used by `lists`, `call`, `tasks`, `audience` and `apps`. Only members that hold an address are replaced; texts that
//! mention one, and every other byte, pass unchanged. A view of one server needs no translation
//! ([`UiAddressForm::Original`]). The form of addresses is in `apps::address`.

use std::borrow::Cow;

use switchboard_core::dispatch::READ_RESOURCE_TOOL;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{
    JsonEdit, JsonElements, JsonMemberError, JsonMembers, Raw, decode_string, quote, splice,
};
use switchboard_wire::meta::method;
use switchboard_wire::server::HandlerRequest;

use super::address::{self, UiAddress};
use crate::view_provider::ViewSelection;

/// The members of `_meta` that hold the address of a UI: the present form, an older one, and that of the Apps SDK of
/// `OpenAI`.
const UI_MEMBERS: [&[&str]; 3] = [
    &["_meta", "ui", "resourceUri"],
    &["_meta", "ui/resourceUri"],
    &["_meta", "openai/outputTemplate"],
];

/// The form in which a view shows the addresses of UI resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum UiAddressForm {
    /// As its one server names them.
    Original,
    /// With the server in the address.
    Qualified,
}

/// A request that names a resource by an address of the view, with the resource's own URI.
pub(in super::super) struct AddressedRequest {
    pub(in super::super) server: String,
    pub(in super::super) params: Raw,
}

/// The new text of a JSON value; `None` if it stays as it is.
type Translated = Result<Option<String>, JsonMemberError>;

// === impl UiAddressForm ===

impl UiAddressForm {
    /// The form for clients that see this part.
    pub(in super::super) fn of_part(part: &ViewSelection) -> Self {
        match part {
            ViewSelection::Server(_) => Self::Original,
            ViewSelection::Everything | ViewSelection::Agent(_) => Self::Qualified,
        }
    }

    /// The address for clients of a server's resource, if it differs from the server's URI.
    pub(in super::super) fn address(self, server: &str, uri: &str) -> Option<String> {
        if self == Self::Original { None } else { address::to_address(server, uri) }
    }

    /// A tool of a list, with the address of its UI.
    pub(in super::super) fn translate_tool(self, item: Raw, server: &str) -> Raw {
        self.translate_members(item, server, &UI_MEMBERS)
    }

    /// A resource or template of a list, with the address in `member`.
    pub(in super::super) fn translate_item(self, item: Raw, server: &str, member: &str) -> Raw {
        self.translate_members(item, server, &[&[member]])
    }

    fn translate_members(self, item: Raw, server: &str, paths: &[&[&str]]) -> Raw {
        if self == Self::Original || !could_hold_address(item.as_str()) {
            return item;
        }
        // Items of a list have no key twice where these members stand: the catalog refuses those.
        let edited = edit_members(item.as_str(), server, paths).ok().flatten();
        edited.and_then(|text| Raw::parse(text).ok()).unwrap_or(item)
    }

    /// The result of a request to `server`, with addresses in its links, embedded resources and metadata.
    pub(in super::super) fn translate_result(
        self,
        asked: &str,
        result: Raw,
        server: Option<&str>,
    ) -> Result<Raw, RpcError> {
        let Some(server) = server else { return Ok(result) };
        if self == Self::Original || !could_hold_address(result.as_str()) {
            return Ok(result);
        }
        let translated = match asked {
            method::RESOURCES_READ => {
                edit_list(result.as_str(), "contents", |item| edit_uri(item, server))
            }
            method::PROMPTS_GET => {
                edit_list(result.as_str(), "messages", |item| edit_message(item, server))
            }
            method::TOOLS_CALL => edit_tool_result(result.as_str(), server),
            _ => return Ok(result),
        };
        let translated = translated.map_err(|error| unclear_error("result", server, &error))?;
        // The parts are well formed, so the whole is.
        Ok(translated.and_then(|text| Raw::parse(text).ok()).unwrap_or(result))
    }

    /// A question of `server`, with addresses in the messages and tools that it gives to the client's model.
    pub(in super::super) fn translate_question(
        self,
        question: InputRequest,
        server: &str,
    ) -> Result<InputRequest, RpcError> {
        let params = question.params.as_str();
        let is_sampling = question.method == method::SAMPLE;
        if self == Self::Original || !is_sampling || !could_hold_address(params) {
            return Ok(question);
        }
        let translated = edit_sampling(params, server);
        let translated =
            translated.map_err(|error| unclear_error(&question.method, server, &error))?;
        // The parts are well formed, so the whole is.
        let params = translated.and_then(|text| Raw::parse(text).ok());
        Ok(InputRequest { params: params.unwrap_or(question.params), ..question })
    }

    /// The state of a server's task, with addresses in its result and its questions.
    pub(in super::super) fn translate_task(
        self,
        state: Raw,
        server: &str,
    ) -> Result<Raw, RpcError> {
        if self == Self::Original || !could_hold_address(state.as_str()) {
            return Ok(state);
        }
        let mut state = state;
        if let Some(result) = state.get("result").ok().flatten() {
            let result = self.translate_result(method::TOOLS_CALL, result, Some(server))?;
            state = state.overwrite(&[JsonEdit::set(&["result"], result.as_str())]);
        }
        let questions = state.get("inputRequests").ok().flatten();
        let Some(questions) = questions.as_ref().and_then(InputRequest::from_input_requests) else {
            return Ok(state);
        };
        let translate = |question| self.translate_question(question, server);
        let questions = questions.into_iter().map(translate).collect::<Result<Vec<_>, _>>()?;
        let questions = InputRequest::to_input_requests(&questions);
        Ok(state.overwrite(&[JsonEdit::set(&["inputRequests"], questions.as_str())]))
    }

    /// An error of `server`, with the address of the resource that its data names.
    pub(in super::super) fn translate_error(self, error: RpcError, server: &str) -> RpcError {
        let uri = error.data.as_ref().and_then(|data| data.get("uri").ok().flatten()?.to_text());
        let address = uri.and_then(|uri| self.address(server, &uri));
        let (Some(address), Some(data)) = (address, &error.data) else { return error };
        let data = data.clone().overwrite(&[JsonEdit::set(&["uri"], &quote(&address))]);
        error.with_data(data)
    }

    /// The server that a client's request names with the address of a UI resource, and the parameters for the server.
    pub(in super::super) fn find_request(self, asked: &HandlerRequest) -> Option<AddressedRequest> {
        if self == Self::Original || !could_hold_address(asked.params.as_str()) {
            return None;
        }
        let path: &[&str] = match &*asked.method {
            method::TOOLS_CALL if is_named(&asked.params, READ_RESOURCE_TOOL) => {
                &["arguments", "uri"]
            }
            method::TOOLS_CALL | method::PROMPTS_GET => return None,
            method::COMPLETE => &["ref", "uri"],
            method::RESOURCES_READ => &["uri"],
            _ => return find_in_extension(&asked.params),
        };
        let UiAddress { server, uri } = address_at(&asked.params, path)?;
        let (uri, name) = (quote(&uri), quote(&server));
        let mut edits = vec![JsonEdit::set(path, &uri)];
        if asked.method == method::TOOLS_CALL {
            edits.push(JsonEdit::set(&["arguments", "server"], &name));
        }
        let params = asked.params.with_edits(&edits).ok()?;
        Some(AddressedRequest { server, params })
    }
}

fn address_at(params: &Raw, path: &[&str]) -> Option<UiAddress> {
    let address = params.peek_path(path).ok().flatten().and_then(decode_string)?;
    UiAddress::parse(&address)
}

/// The server that the parameters of an unknown method name, if they have addresses of one server only, and the
/// parameters with its own URIs.
fn find_in_extension(params: &Raw) -> Option<AddressedRequest> {
    let mut found: Vec<(&[&str], UiAddress)> = Vec::new();
    for path in [["uri"].as_slice(), &["ref", "uri"]] {
        found.extend(address_at(params, path).map(|address| (path, address)));
    }
    let listed = params.get("uris").ok().flatten();
    let listed: Vec<Raw> = listed.iter().flat_map(Raw::elements).collect();
    let addresses: Vec<Option<UiAddress>> =
        listed.iter().map(|uri| UiAddress::parse(&uri.to_text()?)).collect();
    let single = found.iter().map(|(_, address)| address);
    let mut servers = single.chain(addresses.iter().flatten());
    let server = servers.next()?.server.clone();
    if servers.any(|address| address.server != server) {
        return None;
    }
    let mut edits: Vec<(&[&str], String)> =
        found.iter().map(|(path, address)| (*path, quote(&address.uri))).collect();
    if addresses.iter().any(Option::is_some) {
        let own = listed.iter().zip(&addresses).map(|(uri, address)| match address {
            Some(address) => Raw::string(&address.uri),
            None => uri.clone(),
        });
        edits.push((&["uris"], Raw::array(own).to_string()));
    }
    let edits: Vec<_> = edits.iter().map(|(path, text)| JsonEdit::set(path, text)).collect();
    Some(AddressedRequest { server, params: params.with_edits(&edits).ok()? })
}

fn is_named(params: &Raw, tool: &str) -> bool {
    let name = params.peek_path(&["name"]).ok().flatten().and_then(decode_string);
    name.is_some_and(|name| name == tool)
}

/// Whether a JSON text could hold the address of a UI resource, also one with escapes. Nearly all results hold none,
/// and three searches cost less than a walk over the members.
fn could_hold_address(text: &str) -> bool {
    let text = text.as_bytes();
    let has_scheme = |end: &[u8]| {
        memchr::memmem::find_iter(text, end)
            .any(|at| at > 0 && text[at - 1].eq_ignore_ascii_case(&b'u'))
    };
    has_scheme(b"i:") || has_scheme(b"I:") || memchr::memmem::find(text, b"\\u").is_some()
}

fn edit_tool_result(result: &str, server: &str) -> Translated {
    let content = edit_list(result, "content", |item| edit_content(item, server))?;
    let whole = content.as_deref().unwrap_or(result);
    let meta = edit_members(whole, server, &UI_MEMBERS)?;
    Ok(meta.or(content))
}

/// Replaces addresses in the parameters of `sampling/createMessage`.
fn edit_sampling(params: &str, server: &str) -> Translated {
    let messages = edit_list(params, "messages", |item| edit_message(item, server))?;
    let whole = messages.as_deref().unwrap_or(params);
    let tools = edit_list(whole, "tools", |tool| edit_members(tool, server, &UI_MEMBERS))?;
    Ok(tools.or(messages))
}

/// Replaces the address of a resource link or an embedded resource, also inside the result of a tool.
fn edit_content(item: &str, server: &str) -> Translated {
    let [kind, resource] = JsonMembers::of(item).find_each(["type", "resource"])?;
    match (kind.and_then(decode_string).as_deref(), resource) {
        (Some("resource_link"), _) => edit_uri(item, server),
        (Some("resource"), Some(_)) => edit_members(item, server, &[&["resource", "uri"]]),
        (Some("tool_result"), _) => edit_list(item, "content", |inner| edit_content(inner, server)),
        _ => Ok(None),
    }
}

/// Replaces addresses in the content of a message of a prompt, or of one for a model.
fn edit_message(message: &str, server: &str) -> Translated {
    let [content] = JsonMembers::of(message).find_each(["content"])?;
    let Some(content) = content else { return Ok(None) };
    if content.starts_with('[') {
        return edit_list(message, "content", |item| edit_content(item, server));
    }
    let edited = edit_content(content, server)?;
    edited.map(|new| set_member(message, &["content"], &new)).transpose()
}

fn edit_uri(item: &str, server: &str) -> Translated {
    edit_members(item, server, &[&["uri"]])
}

/// Replaces the addresses at these paths.
fn edit_members(object: &str, server: &str, paths: &[&[&str]]) -> Translated {
    let mut edited: Option<String> = None;
    for path in paths {
        let text = edited.as_deref().unwrap_or(object);
        let uri = find_path(text, path)?.and_then(decode_string).map(Cow::into_owned);
        if let Some(address) = uri.and_then(|uri| address::to_address(server, &uri)) {
            edited = Some(set_member(text, path, &quote(&address))?);
        }
    }
    Ok(edited)
}

fn find_path<'t>(object: &'t str, path: &[&str]) -> Result<Option<&'t str>, JsonMemberError> {
    let mut found = Some(object);
    for key in path {
        let Some(text) = found else { return Ok(None) };
        [found] = JsonMembers::of(text).find_each([*key])?;
    }
    Ok(found)
}

/// Replaces elements of the list at `member` of an object.
fn edit_list(object: &str, member: &str, edit: impl Fn(&str) -> Translated) -> Translated {
    let [list] = JsonMembers::of(object).find_each([member])?;
    let Some(list) = list else { return Ok(None) };
    let mut edited = String::new();
    let mut copied = 0;
    for element in JsonElements::of(list) {
        if let Some(new) = edit(element)? {
            // An element is a part of the list's text.
            let start = element.as_ptr() as usize - list.as_ptr() as usize;
            edited.push_str(&list[copied..start]);
            edited.push_str(&new);
            copied = start + element.len();
        }
    }
    if copied == 0 {
        return Ok(None);
    }
    edited.push_str(&list[copied..]);
    set_member(object, &[member], &edited).map(Some)
}

fn set_member(object: &str, path: &[&str], value: &str) -> Result<String, JsonMemberError> {
    let edited = splice(object, &[JsonEdit::set(path, value)]);
    // The member was found before, so every value on the way is an object.
    edited.map_err(|_| JsonMemberError::Duplicate(path.join("/")))
}

/// A key stands twice where an address has to be read. Client and gateway could disagree about which one counts.
fn unclear_error(what: &str, server: &str, error: &JsonMemberError) -> RpcError {
    let text = format!("the {what} of `{server}` cannot be passed on: {error}");
    RpcError::new(code::INTERNAL_ERROR, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn addresses_in_results_are_translated_and_nothing_else() {
        let check = |asked: &str, result: &str, expected: &str| {
            let form = UiAddressForm::Qualified;
            let translated = form.translate_result(asked, raw(result), Some("s")).unwrap();
            assert_eq!(translated.as_str(), expected);
            let own =
                UiAddressForm::Original.translate_result(asked, raw(result), Some("s")).unwrap();
            assert_eq!(own.as_str(), result);
        };
        let tool = method::TOOLS_CALL;
        check(
            tool,
            r#"{ "content":[ {"type":"resource_link", "uri":"ui://a" ,"odd":1.0}, {"type":"text","text":"ui://a"} ],"x":1e400}"#,
            r#"{ "content":[ {"type":"resource_link", "uri":"ui://s.switchboard/a" ,"odd":1.0}, {"type":"text","text":"ui://a"} ],"x":1e400}"#,
        );
        check(
            tool,
            r#"{"content":[{"type":"resource","resource":{"uri":"ui:\/\/a","text":"ui://b","_meta":{"ui":{"csp":{}}}}}]}"#,
            r#"{"content":[{"type":"resource","resource":{"uri":"ui://s.switchboard/a","text":"ui://b","_meta":{"ui":{"csp":{}}}}}]}"#,
        );
        check(
            tool,
            r#"{"content":[{"type":"resource_link","uri":"\u0075i://a"}]}"#,
            r#"{"content":[{"type":"resource_link","uri":"ui://s.switchboard/a"}]}"#,
        );
        check(
            tool,
            r#"{"content":[],"_meta":{"ui":{"resourceUri":"ui://a"},"ui/resourceUri":"ui://b","openai/outputTemplate":"ui://c"}}"#,
            r#"{"content":[],"_meta":{"ui":{"resourceUri":"ui://s.switchboard/a"},"ui/resourceUri":"ui://s.switchboard/b","openai/outputTemplate":"ui://s.switchboard/c"}}"#,
        );
        for same in [
            r#"{"content":[{"type":"text","text":"ui://a","uri":"ui://a"}],"structuredContent":{"uri":"ui://a"}}"#,
            r#"{"content":[{"type":"resource_link","uri":"note://ui://a"},5,null,{"type":1}]}"#,
            r#"{"content":{"type":"resource_link","uri":"ui://a"},"_meta":"ui://a"}"#,
            r#"{"_meta":{"ui":"ui://a"},"contents":[{"uri":"ui://a"}]}"#,
        ] {
            check(tool, same, same);
        }
        check(
            method::RESOURCES_READ,
            r#"{"contents":[{"uri":"ui://a","text":"<a href='ui://b'>"},{"uri":"UI://c"},{"uri":5}],"_meta":{}}"#,
            r#"{"contents":[{"uri":"ui://s.switchboard/a","text":"<a href='ui://b'>"},{"uri":"UI://s.switchboard/c"},{"uri":5}],"_meta":{}}"#,
        );
        check(
            method::PROMPTS_GET,
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"ui://a"}},{"content":[{"type":"resource_link","uri":"ui://a"}]},5]}"#,
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"ui://s.switchboard/a"}},{"content":[{"type":"resource_link","uri":"ui://s.switchboard/a"}]},5]}"#,
        );
    }

    fn question(method: &str, params: &str) -> InputRequest {
        InputRequest { key: "q".to_owned(), method: method.to_owned(), params: raw(params) }
    }

    #[test]
    fn addresses_for_the_clients_model_are_translated() {
        let check = |method: &str, params: &str, expected: &str| {
            let form = UiAddressForm::Qualified;
            let translated = form.translate_question(question(method, params), "s").unwrap();
            assert_eq!((&*translated.key, &*translated.method), ("q", method));
            assert_eq!(translated.params.as_str(), expected);
            let own =
                UiAddressForm::Original.translate_question(question(method, params), "s").unwrap();
            assert_eq!(own.params.as_str(), params);
        };
        check(
            method::SAMPLE,
            r#"{ "messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"ui://a" ,"odd":1.0}]}]},{"role":"user","content":{"type":"resource","resource":{"uri":"ui://b"}}}],"maxTokens":5}"#,
            r#"{ "messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"ui://s.switchboard/a" ,"odd":1.0}]}]},{"role":"user","content":{"type":"resource","resource":{"uri":"ui://s.switchboard/b"}}}],"maxTokens":5}"#,
        );
        check(
            method::SAMPLE,
            r#"{"messages":[{"content":{"type":"text","text":"ui://a"}}],"tools":[{"name":"t","_meta":{"ui":{"resourceUri":"ui://a"}}}]}"#,
            r#"{"messages":[{"content":{"type":"text","text":"ui://a"}}],"tools":[{"name":"t","_meta":{"ui":{"resourceUri":"ui://s.switchboard/a"}}}]}"#,
        );
        let form =
            r#"{"message":"see","messages":[{"content":{"type":"resource_link","uri":"ui://a"}}]}"#;
        check(method::ELICIT, form, form);
        let twice =
            r#"{"messages":[{"content":{"type":"resource_link","uri":"x:","uri":"ui://a"}}]}"#;
        let form = UiAddressForm::Qualified;
        let error = form.translate_question(question(method::SAMPLE, twice), "s").unwrap_err();
        assert_eq!(
            error.message,
            "the sampling/createMessage of `s` cannot be passed on: member `uri` occurs more than once"
        );
    }

    #[test]
    fn questions_of_a_task_are_translated() {
        let state = |uri: &str| {
            format!(
                r#"{{"taskId":"t","inputRequests":{{"q":{{"method":"sampling/createMessage","params":{{"messages":[{{"content":{{"type":"resource_link","uri":"{uri}"}}}}]}}}}}}}}"#
            )
        };
        let translated = UiAddressForm::Qualified.translate_task(raw(&state("ui://a")), "s");
        assert_eq!(translated.unwrap().as_str(), state("ui://s.switchboard/a"));
    }

    #[test]
    fn an_unclear_address_fails_its_result() {
        let twice =
            r#"{"content":[{"type":"resource_link","uri":"x:","uri":"ui://good.switchboard/a"}]}"#;
        let form = UiAddressForm::Qualified;
        let error = form.translate_result(method::TOOLS_CALL, raw(twice), Some("s")).unwrap_err();
        assert_eq!(
            error.message,
            "the result of `s` cannot be passed on: member `uri` occurs more than once"
        );
    }

    #[test]
    fn a_text_without_an_address_is_seen_at_once() {
        for (text, expected) in [
            (r#"{"uri":"ui://a"}"#, true),
            (r#"{"uri":"Ui:\/\/a"}"#, true),
            (r#"{"uri":"\u0075i://a"}"#, true),
            (r#"{"hi: there, I: you":"gui of mine"}"#, false),
            ("i:", false),
        ] {
            assert_eq!(could_hold_address(text), expected, "{text}");
        }
    }

    #[test]
    fn a_request_is_translated_back() {
        let check = |method: &'static str, params: &str, expected: Option<(&str, &str)>| {
            let asked = HandlerRequest {
                method: method.into(),
                params: raw(params),
                answers: Vec::new(),
                state: None,
            };
            let found = UiAddressForm::Qualified.find_request(&asked);
            let found = found.as_ref().map(|found| (&*found.server, found.params.as_str()));
            assert_eq!(found, expected, "{params}");
            assert!(UiAddressForm::Original.find_request(&asked).is_none());
        };
        check(
            method::RESOURCES_READ,
            r#"{"uri":"ui://s.switchboard/a","_meta":{"x":1.0}}"#,
            Some(("s", r#"{"uri":"ui://a","_meta":{"x":1.0}}"#)),
        );
        check(
            method::COMPLETE,
            r#"{"ref":{"type":"ref/resource","uri":"ui://s.switchboard/t/{x}"}}"#,
            Some(("s", r#"{"ref":{"type":"ref/resource","uri":"ui://t/{x}"}}"#)),
        );
        check(
            method::TOOLS_CALL,
            r#"{"name":"ReadMcpResource","arguments":{"uri":"ui://s.switchboard/a"}}"#,
            Some(("s", r#"{"name":"ReadMcpResource","arguments":{"uri":"ui://a","server":"s"}}"#)),
        );
        check(method::TOOLS_CALL, r#"{"name":"x","uri":"ui://s.switchboard/a"}"#, None);
        check(method::RESOURCES_READ, r#"{"uri":"ui://a"}"#, None);
        check(method::RESOURCES_READ, r#"{"uri":"note://s.switchboard/a"}"#, None);
        check(
            "vendor/thing",
            r#"{"uri":"ui://s.switchboard/a"}"#,
            Some(("s", r#"{"uri":"ui://a"}"#)),
        );
    }
}
