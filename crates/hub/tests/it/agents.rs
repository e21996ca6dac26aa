//! Tests of agent views: their servers and tools, and the lifetime of the servers that an agent adds.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use switchboard_config::{HostContext, Platform, ResolveOptions};
use switchboard_core::principal::Principal;
use switchboard_core::{Engine, EngineOptions};
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::{SessionClients, ViewRequest, ViewSelection};
use switchboard_hub::AgentBridges;
use switchboard_process::ProcessGuard;
use switchboard_sources::{SourcesOptions, SyncedWorkspace, WorkspaceExtras};
use switchboard_testkit::processes::working_in;
use switchboard_testkit::{guard_path, programs::program};
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, ListKind, ServerTarget, VersionNegotiation,
};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{ServeOptions, serve};
use switchboard_wire::{Error, Version};
use tempfile::TempDir;

use switchboard_testkit::deadline::soon;

/// A person's folders.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.path("project")).unwrap();
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn settings(&self) -> PathBuf {
        self.path(".config/switchboard/settings.json")
    }

    fn surroundings(&self) -> HostContext {
        let home = self.path("").to_str().unwrap().to_owned();
        let env = [("HOME", home.as_str()), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let usual =
            HostContext::for_platform(Platform::Linux, env.into(), self.path("project")).unwrap();
        HostContext { managed_dir: self.path("etc/switchboard"), ..usual }
    }
}

struct World {
    home: Home,
    engine: Engine,
    served: SyncedWorkspace,
    agents: AgentBridges,
}

impl World {
    /// Two servers of the user, and an agent that has one of them and one of its own, and sees only what echoes.
    async fn new() -> Self {
        let home = Home::new();
        let echo = program("echo-server");
        let echo = echo.to_str().unwrap();
        fs::create_dir_all(home.path(".config/switchboard/agents")).unwrap();
        let servers = json!({ "mcpServers": {
            "shared": { "command": echo }, "other": { "command": echo },
        } });
        fs::write(home.settings(), servers.to_string()).unwrap();
        let inline = home.path("inline");
        fs::create_dir_all(&inline).unwrap();
        let agent = format!(
            "---\nmcpServers:\n  - shared\n  - own:\n      command: {echo}\n      cwd: {}\n\
             disallowedTools: [mcp__shared__echo]\n---\nBe brief.\n",
            inline.display(),
        );
        fs::write(home.path(".config/switchboard/agents/helper.md"), agent).unwrap();
        let guard = ProcessGuard::at(guard_path()).unwrap();
        let engine = Engine::start(EngineOptions::new("test", "1", guard.clone())).await;
        let options = SourcesOptions::new(guard);
        let (around, asked) = (home.surroundings(), ResolveOptions::default());
        let served = SyncedWorkspace::start(
            engine.clone(),
            around.clone(),
            asked.clone(),
            Vec::new(),
            options.clone(),
            WorkspaceExtras::default(),
        );
        let served = served.await;
        let shown = BridgeOptions { first_list: Duration::from_secs(30), ..Default::default() };
        let agents = AgentBridges::new(engine.clone(), around, asked, Vec::new(), options, shown);
        Self { home, engine, served, agents }
    }

    async fn client(&self, agent: &str) -> Option<Client> {
        let opening = ViewRequest {
            principal: Principal::user("me"),
            session: format!("session {}", number()),
            part: ViewSelection::Agent(agent.into()),
            transport: "test",
            clients: SessionClients::One,
        };
        let opened = soon(self.agents.open(opening)).await.ok()?;
        let (ours, theirs) = link_pair();
        tokio::spawn(async move {
            // It ends with its link.
            let _ = serve(theirs, opened.view, &opened.changes, ServeOptions::default()).await;
        });
        let mut options = ClientOptions::new("client", "1");
        options.greeting = VersionNegotiation::Only(Version::LATEST);
        Some(Client::connect(ServerTarget::InProcess(ours), options).await.unwrap().0)
    }

    /// How many processes of the agent's own server there are.
    fn own(&self) -> usize {
        working_in(&self.home.path("inline")).len()
    }
}

/// Closes a client, and its link with it.
async fn leave(client: Client) {
    client.close().await;
}

/// Tells sessions apart.
fn number() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

async fn tools(client: &Client) -> Vec<String> {
    let tools = soon(client.list(ListKind::Tools)).await.unwrap();
    let name = |tool: &Raw| tool.get("name").unwrap().unwrap().to_text().unwrap();
    tools.items.iter().map(name).filter(|name| name.contains("__")).collect()
}

async fn echo(client: &Client, tool: &str) -> Result<Raw, Error> {
    let arguments = Raw::parse(r#"{"text":"hi"}"#.to_owned()).unwrap();
    soon(client.call(CallRequest::call_tool(tool, &arguments)).result()).await
}

#[tokio::test]
async fn an_agent_sees_its_servers_and_tools_and_what_it_brought_ends_with_its_last_client() {
    let world = World::new().await;
    assert_eq!(world.own(), 0, "it was started for nobody");
    let client = world.client("helper").await.unwrap();
    assert_eq!(tools(&client).await, ["own__echo"]);
    let told = client.server_facts().instructions.clone().unwrap_or_default();
    assert!(told.starts_with("Be brief."), "the agent's prompt is not told: {told:?}");
    assert!(echo(&client, "own__echo").await.unwrap().as_str().contains("hi"));
    assert!(echo(&client, "shared__echo").await.is_err(), "the agent may not");
    assert!(echo(&client, "other__echo").await.is_err(), "it is not the agent's");
    assert!(world.own() > 0);

    // Another client of the same agent shares what is there.
    let second = world.client("helper").await.unwrap();
    assert_eq!(tools(&second).await, ["own__echo"]);
    leave(client).await;
    assert!(echo(&second, "own__echo").await.is_ok());
    leave(second).await;
    let ended = async {
        while world.own() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(ended).await;

    // And it comes back with the next.
    let third = world.client("helper").await.unwrap();
    assert!(echo(&third, "own__echo").await.is_ok());
    leave(third).await;
    world.served.shutdown().await;
    world.engine.shutdown().await;
}

/// An agent whose required server is missing exists: its client is told what is missing.
#[tokio::test]
async fn an_agent_that_lacks_a_server_says_which() {
    let world = World::new().await;
    let needy = "---\nrequiredMcpServers: [gone]\n---\nWork.\n";
    fs::write(world.home.path(".config/switchboard/agents/needy.md"), needy).unwrap();
    let open = async |agent: &str| {
        let opening = ViewRequest {
            principal: Principal::user("me"),
            session: "session".into(),
            part: ViewSelection::Agent(agent.into()),
            transport: "test",
            clients: SessionClients::One,
        };
        soon(world.agents.open(opening)).await.err().unwrap().to_string()
    };
    let reason = open("needy").await;
    assert_eq!(reason, "the agent `needy` requires the server `gone`, which is not configured");
    assert_eq!(open("nobody").await, "there is no such server or agent here");
    world.served.shutdown().await;
    world.engine.shutdown().await;
}

#[tokio::test]
async fn asking_for_an_agent_that_is_not_there_changes_nothing() {
    let world = World::new().await;
    let id = world.served.workspace();
    let before = soon(world.engine.settled_snapshot(id, Duration::from_secs(30))).await.unwrap();
    assert_eq!(before.servers.len(), 2);
    assert!(world.client("nobody").await.is_none());
    assert_eq!(world.engine.snapshot(id).unwrap().servers.len(), 2, "everybody lost their servers");
    world.served.shutdown().await;
    world.engine.shutdown().await;
}
