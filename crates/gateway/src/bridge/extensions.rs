//! Extensions between a client and the servers of its view: the servers' declarations, and the client's notifications.
//!
//! Used by `view`. The client sees the union of the capabilities that its servers declare and the gateway does not know.
//! The client's declaration reaches servers through its session (`core::connection::CapabilityClass`), and its unknown
//! requests through `call`. It does not know what an extension means, but for the settings that it may merge.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use switchboard_core::connection::{CapabilityPath, OpaqueCapabilities};
use switchboard_core::engine::{DescribedExtensions, ServerSnapshot};
use switchboard_core::{Caller, Engine, Request, WorkspaceSnapshot};
use switchboard_wire::Era;
use switchboard_wire::envelope::{Notification, RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SKILLS_EXTENSION, method,
};
use switchboard_wire::sanitize::sanitize_line;
use switchboard_wire::server::{ClientFacts, HandlerRequest, ServerDescription};
use tokio::sync::mpsc;

use super::view::BridgeView;

/// The member of an extension's settings that names the servers, where their settings differ.
const SERVERS_KEY: &str = "switchboard/servers";
/// Extensions whose settings are lists that can be merged, with the name of the list.
const MERGED_LISTS: [(&str, &str); 1] = [("io.modelcontextprotocol/ui", "mimeTypes")];
/// Why names in `subscriptions/listen` do not reach servers.
const LISTENS_FOR_ALL: &str =
    "not passed on: Switchboard listens to a server once for all its clients";
/// The most characters of a name in `subscriptions/listen` that are shown.
const MAX_SHOWN_NAME_CHARS: usize = 80;
/// The most characters of the reason for a lost notification that are shown.
const MAX_SHOWN_REASON_CHARS: usize = 300;
/// The most notifications of one client that wait for their servers.
const MAX_WAITING_NOTIFICATIONS: usize = 64;

/// The notifications of one client that are forwarded, in order. Its task starts with the first one and ends with the
/// view.
#[derive(Default)]
pub(super) struct NotificationQueue(OnceLock<mpsc::Sender<WaitingNotification>>);

/// A notification of a client that waits for those before it.
struct WaitingNotification {
    caller: Caller,
    method: String,
    request: Request,
}

// === impl BridgeView ===

impl BridgeView {
    /// The view's description for a client, whose servers are started for it. A client learns the extensions of servers
    /// here only, so servers are waited for.
    pub(super) async fn describe_for(&self, client: &ClientFacts) -> ServerDescription {
        let ClientFacts { version, client_info, capabilities } = client;
        let session = self.session_with(*version, client_info.as_ref(), capabilities);
        // At a limit of sessions each request is refused with that reason.
        let Ok(caller) = self.attach(session) else {
            return self.description(None, &DescribedExtensions::default());
        };
        // A modern client asks again seldom, and no client need declare the extensions that it would use. A legacy
        // client that declares none shares connections with others, so its servers are mostly known.
        let has_own_kind = version.era() == Era::Modern
            || !OpaqueCapabilities::of_client(capabilities).declared.is_empty();
        if has_own_kind || self.awaits_server(&caller) {
            self.await_session_servers(&caller).await;
        }
        let snapshot = self.bridge().engine.snapshot_of(&caller);
        let declared = snapshot.as_deref().map(|snapshot| self.declared_by_servers(snapshot));
        let declared = declared.unwrap_or_default();
        let description = self.description(snapshot.as_deref(), &declared);
        self.bridge().engine.note_described(&caller, declared);
        self.described.get_or_init(|| caller);
        description
    }

    /// Whether a server of the view is still coming, and has no kept catalog.
    fn awaits_server(&self, caller: &Caller) -> bool {
        let snapshot = self.bridge().engine.snapshot_of(caller);
        snapshot.is_some_and(|snapshot| {
            let is_unknown = |server: &ServerSnapshot| server.facts.is_none();
            snapshot.servers_awaited().any(|server| is_unknown(server) && self.shows(&server.name))
        })
    }

    /// The unknown capabilities that the servers of the view declare, by server.
    pub(super) fn declared_by_servers(&self, snapshot: &WorkspaceSnapshot) -> DescribedExtensions {
        // The catalog lacks servers that rules hide.
        let shown = snapshot.catalog.servers().filter(|server| self.shows(server));
        let declared = |server: &str| {
            let facts = snapshot.server(server)?.facts.as_ref()?;
            let declared = OpaqueCapabilities::of_server(&facts.capabilities).declared;
            Some((server.to_owned(), declared))
        };
        shown.filter_map(declared).collect()
    }

    /// Notes that servers are not asked for notifications that a client wants to listen for, under names of extensions.
    pub(super) fn note_lost_subscriptions(&self, names: &[String], client: &ClientFacts) {
        let ClientFacts { version, client_info, capabilities } = client;
        // At a limit of sessions the request is refused with that reason.
        let Ok(session) = self.session_of(*version, client_info.as_ref(), capabilities) else {
            return;
        };
        for name in names {
            let name: String = name.chars().take(MAX_SHOWN_NAME_CHARS).collect();
            let wish = format!("`{name}` of `subscriptions/listen`");
            self.bridge().engine.note_lost(&session.caller, &wish, LISTENS_FOR_ALL);
        }
    }

    /// Forwards a notification of an extension to the server that it concerns. A modern client need not state its facts
    /// with a notification, so one without facts is taken for one of the view's only session.
    pub(super) fn forward_notification(
        &self,
        notification: &Notification,
        client: Option<ClientFacts>,
    ) {
        let method = notification.method();
        if !method::is_extension_notification(&method) {
            return;
        }
        let session = match client {
            Some(ClientFacts { version, client_info, capabilities }) => {
                self.session_of(version, client_info.as_ref(), &capabilities)
            }
            None => self.sessions.only().ok_or_else(unknown_sender_error),
        };
        let session = match session {
            Ok(session) => session,
            Err(error) => {
                tracing::warn!(%error, %method, "a client's notification is lost");
                return;
            }
        };
        let (engine, caller) = (&self.bridge().engine, session.caller.clone());
        let params = notification.params().map(without_client_facts);
        match self.notification_request(&method, params) {
            Ok(request) => {
                let method = method.into_owned();
                self.notifications.push(engine, WaitingNotification { caller, method, request });
            }
            Err(error) => lose_notification(engine, &caller, &method, &error),
        }
    }

    /// The request for the engine that forwards a notification, directed to the server that the client names in it.
    fn notification_request(&self, method: &str, params: Option<Raw>) -> Result<Request, RpcError> {
        let method = Cow::Owned(method.to_owned());
        let Some(params) = params else {
            return Ok(self.aim_at_server(Request::notification(method, None)));
        };
        let asked = HandlerRequest { method, params, answers: Vec::new(), state: None };
        let (server, params) = match self.find_addressed(&asked)? {
            Some(found) => (Some(found.server), found.params),
            None => (self.named_server(&asked)?, asked.params),
        };
        let request = Request::notification(asked.method, Some(params));
        Ok(match server {
            Some(server) => request.of_server(server),
            None => self.aim_at_server(request),
        })
    }
}

/// The parameters of a notification without the client's facts, which are meant for the gateway: a server has this
/// program for its client.
fn without_client_facts(params: Raw) -> Raw {
    let facts = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES].map(|key| ["_meta", key]);
    let edits = facts.each_ref().map(|path| JsonEdit::remove(path));
    params.overwrite(&edits)
}

/// Notes for the report of extensions that a notification reaches no server. A client gets no answer to it.
fn lose_notification(engine: &Engine, caller: &Caller, method: &str, reason: &dyn Display) {
    let shown = |text: &str, chars: usize| {
        sanitize_line(&text.chars().take(chars).collect::<String>()).into_owned()
    };
    let name = format!("notification `{}`", shown(method, MAX_SHOWN_NAME_CHARS));
    let reason = shown(&reason.to_string(), MAX_SHOWN_REASON_CHARS);
    tracing::warn!(%reason, "a client's {name} is lost");
    engine.note_lost(caller, &name, &reason);
}

/// The error for a notification that could be of several kinds of clients, or of one that has asked for nothing yet.
fn unknown_sender_error() -> RpcError {
    let text =
        "it does not state the capabilities of its client, and its sender is not the only client";
    RpcError::new(code::INVALID_PARAMS, text)
}

/// The declaration of the gateway for those of its servers.
pub(super) fn merge_declarations(by_server: &DescribedExtensions) -> OpaqueCapabilities {
    let mut by_path: BTreeMap<&CapabilityPath, Vec<(String, String)>> = BTreeMap::new();
    for (server, declared) in by_server {
        for (path, settings) in declared.iter().filter(|(path, _)| is_passed(path)) {
            let servers = by_path.entry(path).or_default();
            servers.push((server.clone(), settings.to_owned()));
        }
    }
    let mut union = OpaqueCapabilities::default();
    for (path, servers) in by_path {
        union.insert(path.clone(), merge_settings(path.name(), &servers));
    }
    union
}

/// Whether a capability of a server is shown to clients as it is. The bridge declares skills itself.
fn is_passed(path: &CapabilityPath) -> bool {
    !matches!(path, CapabilityPath::Extension(id) if id == SKILLS_EXTENSION)
}

/// The settings of one capability that several servers declare: those of all if they are equal, merged if the extension
/// says how, else an object with the settings of each server.
fn merge_settings(name: &str, servers: &[(String, String)]) -> String {
    let mut all = servers.iter().map(|(_, settings)| settings);
    let Some(first) = all.next() else { return "{}".to_owned() };
    if all.all(|settings| settings == first) {
        return first.clone();
    }
    let parsed = servers.iter().map(|(server, settings)| {
        (server.clone(), serde_json::from_str(settings).unwrap_or(Value::Null))
    });
    let parsed: Map<String, Value> = parsed.collect();
    let merged = MERGED_LISTS.iter().find(|(known, _)| *known == name);
    let merged = merged.and_then(|(_, list)| merge_list(list, parsed.values()));
    merged.unwrap_or_else(|| json!({ SERVERS_KEY: parsed })).to_string()
}

/// Settings whose only member is a list of strings, merged; `None` if one has another form.
fn merge_list<'a>(list: &str, all: impl Iterator<Item = &'a Value>) -> Option<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for settings in all {
        let members = settings.as_object()?;
        if members.keys().any(|key| key != list) {
            return None;
        }
        let items = members.get(list).map(Value::as_array).unwrap_or_default();
        for item in items.into_iter().flatten().filter(|item| item.is_string()) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
    }
    Some(json!({ list: merged }))
}

// === impl NotificationQueue ===

impl NotificationQueue {
    fn push(&self, engine: &Engine, notification: WaitingNotification) {
        let queue = self.0.get_or_init(|| {
            let (queue, mut waiting) = mpsc::channel(MAX_WAITING_NOTIFICATIONS);
            let engine = engine.clone();
            tokio::spawn(async move {
                while let Some(next) = waiting.recv().await {
                    let WaitingNotification { caller, method, request } = next;
                    let sent = engine.call(&caller, request).outcome().await;
                    if let Err(error) = sent {
                        lose_notification(&engine, &caller, &method, &error);
                    }
                }
            });
            queue
        });
        if let Err(error) = queue.try_send(notification) {
            let WaitingNotification { caller, method, .. } = error.into_inner();
            lose_notification(engine, &caller, &method, &"too many wait for their servers");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_merged_where_the_extension_says_how() {
        let check = |name: &str, settings: &[&str], expected: &str| {
            let servers = ["one", "two", "three"].into_iter().map(str::to_owned);
            let servers: Vec<_> =
                servers.zip(settings.iter().map(|settings| (*settings).to_owned())).collect();
            assert_eq!(merge_settings(name, &servers), expected, "{name} {settings:?}");
        };
        let ui = "io.modelcontextprotocol/ui";
        check("a/b", &[r#"{"n":1.0}"#], r#"{"n":1.0}"#);
        check("a/b", &[r#"{"n":1.0}"#, r#"{"n":1.0}"#], r#"{"n":1.0}"#);
        check("a/b", &["{}", r#"{"n":1}"#], r#"{"switchboard/servers":{"one":{},"two":{"n":1}}}"#);
        check(ui, &[r#"{"mimeTypes":["a"]}"#, "{}"], r#"{"mimeTypes":["a"]}"#);
        check(
            ui,
            &[r#"{"mimeTypes":["a","b"]}"#, r#"{"mimeTypes":["b","c"]}"#],
            r#"{"mimeTypes":["a","b","c"]}"#,
        );
        check(ui, &[r#"{"x":1}"#, "{}"], r#"{"switchboard/servers":{"one":{"x":1},"two":{}}}"#);
    }

    #[test]
    fn no_server_gets_a_clients_facts_however_often_they_are_written() {
        let check = |given: &str, expected: &str| {
            let params = without_client_facts(Raw::parse(given.to_owned()).unwrap());
            assert_eq!(params.as_str(), expected, "{given}");
        };
        let facts = format!(r#"{{"{CLIENT_INFO}":{{"name":"c"}},"{PROTOCOL_VERSION}":"x"}}"#);
        check(&format!(r#"{{"_meta":{facts},"a":1}}"#), r#"{"_meta":{},"a":1}"#);
        check(
            &format!(r#"{{"_meta":{facts},"a":1,"_meta":{facts}}}"#),
            r#"{"_meta":{},"a":1,"_meta":{}}"#,
        );
        check("[1]", "[1]");
    }
}
