//! A server with an extension, for the tests of `extensions` and `extension_messages`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{Notification, RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::meta::CLIENT_CAPABILITIES;
use switchboard_wire::server::{
    ChangeBroadcaster, ClientFacts, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};
use switchboard_wire::{Era, Version};
use tokio::sync::watch;

use super::{Gateway, raw};

/// The extension.
pub(super) const ID: &str = "vendor.example/things";
/// The client's declaration, spelled as no writer here would spell it.
pub(super) const CLIENT: &str =
    r#"{"extensions":{"vendor.example/things":{ "depth":1.50 }},"experimental":{"odd":{}}}"#;
/// The versions of clients: one of each era.
pub(super) const VERSIONS: [Version; 2] = [Version::LATEST_LEGACY, Version::LATEST];

/// A server with the extension.
pub(super) struct ThingServer {
    capabilities: String,
    /// Whether it declares the extension only to clients that declare it.
    is_choosy: bool,
    pub(super) changes: ChangeBroadcaster,
    /// Whether its handshake waits.
    pub(super) held: watch::Sender<bool>,
    /// The notifications that it got: method and parameters.
    pub(super) notified: watch::Sender<Vec<String>>,
    /// The requests that it got: methods, without those of lists.
    pub(super) requested: watch::Sender<Vec<String>>,
    /// How many requests of `things/wait` were cancelled.
    pub(super) cancelled: watch::Sender<usize>,
}

/// Counts a request that is dropped.
struct CountedDrop<'a>(&'a watch::Sender<usize>);

// === impl ThingServer ===

impl ThingServer {
    pub(super) fn new(settings: &str) -> Arc<Self> {
        Self::declaring(&format!(
            r#"{{"tools":{{"listChanged":true,"later":{{ "c":2.50 }}}},"extensions":{{"{ID}":{settings}}},"experimental":{{"odd":{{"n":1e2}}}}}}"#
        ))
    }

    pub(super) fn declaring(capabilities: &str) -> Arc<Self> {
        Arc::new(Self::with(capabilities, false))
    }

    /// A server that declares the extension only to clients that declare it.
    pub(super) fn choosy() -> Arc<Self> {
        let capabilities = format!(r#"{{"tools":{{}},"extensions":{{"{ID}":{{ "b":2.50 }}}}}}"#);
        Arc::new(Self::with(&capabilities, true))
    }

    fn with(capabilities: &str, is_choosy: bool) -> Self {
        Self {
            capabilities: capabilities.to_owned(),
            is_choosy,
            changes: ChangeBroadcaster::default(),
            held: watch::Sender::default(),
            notified: watch::Sender::default(),
            requested: watch::Sender::default(),
            cancelled: watch::Sender::default(),
        }
    }

    pub(super) fn in_process(self: &Arc<Self>, name: &str, era: Era) -> InProcessServer {
        let server = Arc::clone(self);
        InProcessServer::from_link(name, move || {
            let (ours, theirs) = link_pair();
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                let changes = server.changes.clone();
                // It ends with its link.
                let _ = serve(theirs, server, &changes, ServeOptions::default()).await;
            });
            Ok(match era {
                Era::Modern => ours,
                Era::Legacy => switchboard_testkit::older::legacy_only(ours),
            })
        })
    }

    /// The list of tools, with members of its own.
    fn tools(context: &RequestContext) -> Raw {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let has_extension = context.has_capability(&["extensions", ID]);
        let shown = if has_extension { vec!["plain", "thing"] } else { vec!["plain"] };
        let tools = Value::from(shown.into_iter().map(tool).collect::<Vec<_>>());
        let members = r#""vendor":{ "v":1.50 },"_meta":{"vendor.example/v":2.50}"#;
        raw(&format!(r#"{{"tools":{tools},{members}}}"#))
    }

    fn describe_with(capabilities: &str) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"things","version":"1"}"#),
            capabilities: raw(capabilities),
            instructions: None,
        }
    }

    async fn answer(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        match (&*asked.method, asked.answers.first()) {
            ("tools/call", Some(answer)) => {
                let said = answer.outcome.as_ref().map_or_else(ToString::to_string, Raw::to_string);
                Ok(HandlerReply::Complete(raw(&json!({ "content": [], "said": said }).to_string())))
            }
            ("tools/call", None) => {
                let method = asked.params.get_path(&["arguments", "method"]).ok().flatten();
                let method = method.and_then(|method| method.to_text());
                let question = InputRequest {
                    key: "q".to_owned(),
                    method: method.unwrap_or_else(|| "things/ask".to_owned()),
                    params: raw(r#"{"which":1.0}"#),
                };
                Ok(HandlerReply::NeedsInput { questions: vec![question], state: None })
            }
            ("things/list", _) => Ok(HandlerReply::Complete(raw(&format!(
                r#"{{"things":[1.50],"asked":{},"declared":{}}}"#,
                asked.params, context.capabilities
            )))),
            ("things/count", _) => {
                for number in 1..=3 {
                    context.progress(&raw(&json!({ "progress": number }).to_string())).await;
                }
                Ok(HandlerReply::Complete(raw(r#"{"counted":3}"#)))
            }
            ("things/offer", _) => {
                Ok(HandlerReply::Complete(raw(r#"{"resultType":"things/offer","offer":[1.50]}"#)))
            }
            ("things/wait", _) => {
                let _counted = CountedDrop(&self.cancelled);
                std::future::pending().await
            }
            (other, _) => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
        }
    }
}

impl Drop for CountedDrop<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|cancelled| *cancelled += 1);
    }
}

impl ServerHandler for ThingServer {
    fn describe(&self) -> ServerDescription {
        Self::describe_with(&self.capabilities)
    }

    fn describe_to<'a>(&'a self, client: &'a ClientFacts) -> BoxFuture<'a, ServerDescription> {
        let declared = client.capabilities.get_path(&["extensions", ID]).ok().flatten();
        let hides = self.is_choosy && declared.is_none();
        let capabilities = if hides { r#"{"tools":{}}"# } else { self.capabilities.as_str() };
        Box::pin(async move {
            // It fails if the server is dropped, and then nothing waits.
            let _ = self.held.subscribe().wait_for(|held| !held).await;
            Self::describe_with(capabilities)
        })
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        if &*asked.method == "tools/list" {
            let listed = Self::tools(context);
            return Box::pin(std::future::ready(Ok(HandlerReply::Complete(listed))));
        }
        self.requested.send_modify(|requested| requested.push(asked.method.to_string()));
        Box::pin(self.answer(asked, context))
    }

    fn on_notification(&self, notification: Notification, _: Option<ClientFacts>) {
        let params = notification.params().unwrap_or_else(Raw::empty_object);
        let depth = params.get("depth").ok().flatten();
        // The facts of a client are for the gateway.
        let is_stated = params.get_path(&["_meta", CLIENT_CAPABILITIES]).ok().flatten().is_some();
        let stated = if is_stated { " with the facts of a client" } else { "" };
        let depth = depth.unwrap_or_else(Raw::null);
        let note = format!("{} {depth}{stated}", notification.method());
        self.notified.send_modify(|notified| notified.push(note));
    }
}

/// A gateway with these servers of one era.
pub(super) async fn gateway(servers: &[(&str, &Arc<ThingServer>)], era: Era) -> Gateway {
    with_settings(servers, era, "{}", BridgeOptions::default()).await
}

/// A gateway with these servers of one era, with `settings` as those of the user.
pub(super) async fn with_settings(
    servers: &[(&str, &Arc<ThingServer>)],
    era: Era,
    settings: &str,
    options: BridgeOptions,
) -> Gateway {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let config = folder.path().join(".config/switchboard");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("settings.json"), settings).unwrap();
    let in_process = servers.iter().map(|(name, server)| server.in_process(name, era)).collect();
    Gateway::among(folder, in_process, "{}", options).await
}

/// The four pairings of eras: that of the servers, and the version of the client.
pub(super) fn pairings() -> impl Iterator<Item = (Era, Version)> {
    [Era::Legacy, Era::Modern].into_iter().flat_map(|era| VERSIONS.map(|version| (era, version)))
}
