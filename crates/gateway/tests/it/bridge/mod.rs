//! Tests of the bridge: every feature in the four pairings of client and server eras.

mod app_server;
mod apps;
mod arguments;
mod changes;
mod changes_of_kinds;
mod extension_messages;
mod extension_report;
mod extensions;
mod first_lists;
mod imperfect;
mod limits;
mod matrix;
mod methods;
mod names;
mod outcomes;
mod own;
mod parked;
mod resources;
mod search;
mod server;
mod skills;
mod tasks;
mod thing_server;

use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{
    Desired, DynamicConfig, HostContext, PermissionMode, Platform, ResolveOptions, resolve_desired,
};
use switchboard_core::engine::InProcessServer;
use switchboard_core::principal::{LOCAL_PRINCIPAL, Principal};
use switchboard_core::{Engine, EngineOptions, Workspace, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions, BridgeView};
use switchboard_gateway::view_provider::{
    OpenView, SessionClients, ViewProvider, ViewRequest, ViewSelection,
};
use switchboard_process::ProcessGuard;
use switchboard_wire::client::{
    Client, ClientOptions, ServerInbox, ServerTarget, VersionNegotiation,
};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::{LinkEnd, link_pair};
use switchboard_wire::server::{ServeOptions, serve};
use switchboard_wire::{Era, Version};

use server::Server;

/// A gateway with two servers, `one` and `two`, of one era.
struct Gateway {
    engine: Engine,
    bridge: Bridge,
    server: Arc<Server>,
    folder: Arc<tempfile::TempDir>,
}

/// What the files of a folder, and settings of one run, desire.
fn desired_in(folder: &tempfile::TempDir, settings: &str) -> Desired {
    let dynamic = vec![DynamicConfig::Text(settings.to_owned())];
    resolve(folder, &ResolveOptions { dynamic, ..ResolveOptions::default() })
}

/// What the files of a folder desire for an agent.
fn desired_for_agent(folder: &tempfile::TempDir, agent: &str) -> Desired {
    resolve(folder, &ResolveOptions { agent: Some(agent.to_owned()), ..ResolveOptions::default() })
}

fn resolve(folder: &tempfile::TempDir, options: &ResolveOptions) -> Desired {
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.path().join("managed");
    resolve_desired(&surroundings, options)
}

impl Gateway {
    async fn start(era: Era, settings: &str) -> Self {
        Self::with(era, settings, BridgeOptions::default()).await
    }

    async fn with(era: Era, settings: &str, options: BridgeOptions) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::within(folder, &["one", "two"], era, settings, options).await
    }

    /// A gateway with these servers.
    async fn before(servers: &[&str], era: Era, settings: &str, options: BridgeOptions) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::within(folder, servers, era, settings, options).await
    }

    /// A gateway with user settings.
    async fn with_user_settings(era: Era, settings: &str, options: BridgeOptions) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let config = folder.path().join(".config/switchboard");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("settings.json"), settings).unwrap();
        Self::within(folder, &["one", "two"], era, "{}", options).await
    }

    /// A new gateway with the files of this one, as after a restart.
    async fn restarted(self, era: Era) -> Self {
        self.engine.shutdown().await;
        Self::within(self.folder, &["one", "two"], era, "{}", BridgeOptions::default()).await
    }

    async fn within(
        folder: Arc<tempfile::TempDir>,
        servers: &[&str],
        era: Era,
        settings: &str,
        options: BridgeOptions,
    ) -> Self {
        let server = Arc::new(Server::default());
        let in_process = servers.iter().map(|name| server.in_process(name, era)).collect();
        Self { server, ..Self::among(folder, in_process, settings, options).await }
    }

    /// A gateway with servers of a test.
    async fn among(
        folder: Arc<tempfile::TempDir>,
        in_process: Vec<InProcessServer>,
        settings: &str,
        options: BridgeOptions,
    ) -> Self {
        let desired = desired_in(&folder, settings);
        Self::desiring(folder, in_process, desired, options).await
    }

    /// A gateway with servers of a test, and a desired state.
    async fn desiring(
        folder: Arc<tempfile::TempDir>,
        in_process: Vec<InProcessServer>,
        desired: Desired,
        options: BridgeOptions,
    ) -> Self {
        let workspace =
            Workspace { id: WorkspaceId::from("test"), environment: Arc::new([]), in_process };
        let mut engine = EngineOptions::new("gateway", "1", ProcessGuard::none());
        engine.state_dir = Some(folder.path().join("state"));
        let engine = Engine::start(engine).await;
        engine.apply(&workspace, desired);
        let bridge = Bridge::new(engine.clone(), workspace.id, options);
        Self { engine, bridge, server: Arc::default(), folder }
    }

    /// Applies what the files of the gateway's folder say now, with these servers of a test.
    fn apply_again(&self, in_process: Vec<InProcessServer>) {
        let workspace =
            Workspace { id: WorkspaceId::from("test"), environment: Arc::new([]), in_process };
        self.engine.apply(&workspace, desired_in(&self.folder, "{}"));
    }

    async fn link(&self, principal: &str, part: ViewSelection) -> LinkEnd {
        let opened = self.open(principal, part, SessionClients::One).await;
        link_to(&opened)
    }

    async fn open(
        &self,
        principal: &str,
        part: ViewSelection,
        clients: SessionClients,
    ) -> OpenView<BridgeView> {
        let opening = ViewRequest {
            principal: principal_of(principal),
            session: format!("session of {principal}"),
            part,
            transport: "test",
            clients,
        };
        self.bridge.open(opening).await.unwrap()
    }

    /// Modern clients that share one view, as those of one principal over HTTP do: one for each declaration.
    async fn clients_of_one_view(&self, declared: &[&str]) -> Vec<(Client, ServerInbox)> {
        let opened = self.open("me", ViewSelection::Everything, SessionClients::Several).await;
        let connecting =
            declared.iter().map(|declared| connect(link_to(&opened), Version::LATEST, declared));
        futures_util::future::join_all(connecting).await
    }

    async fn client(&self, version: Version, capabilities: &str) -> (Client, ServerInbox) {
        self.client_of(version, capabilities, "me", ViewSelection::Everything).await
    }

    async fn client_of(
        &self,
        version: Version,
        capabilities: &str,
        principal: &str,
        part: ViewSelection,
    ) -> (Client, ServerInbox) {
        connect(self.link(principal, part).await, version, capabilities).await
    }
}

/// The local principal, or the user of this name.
fn principal_of(name: &str) -> Principal {
    if name == LOCAL_PRINCIPAL { Principal::local() } else { Principal::user(name) }
}

/// A link on which a view is served.
fn link_to(opened: &OpenView<BridgeView>) -> LinkEnd {
    let (ours, theirs) = link_pair();
    let (view, changes) = (Arc::clone(&opened.view), opened.changes.clone());
    tokio::spawn(async move {
        // It ends with its link.
        let _ = serve(theirs, view, &changes, ServeOptions::default()).await;
    });
    ours
}

async fn connect(link: LinkEnd, version: Version, capabilities: &str) -> (Client, ServerInbox) {
    let mut options = ClientOptions::new("client", "1");
    options.greeting = VersionNegotiation::Only(version);
    options.capabilities = Raw::parse(capabilities.to_owned()).unwrap();
    Client::connect(ServerTarget::InProcess(link), options).await.unwrap()
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

/// All capabilities for questions.
const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it takes too long")
}

/// Options with the permission mode that asks the caller.
fn asking() -> BridgeOptions {
    BridgeOptions { mode: Some(PermissionMode::Default), ..BridgeOptions::default() }
}
