//! Test helper: a gateway with all faces open, and clients of each face. Used by `compatibility`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use switchboard_config::{HostContext, Platform, ResolveOptions, resolve_desired};
use switchboard_core::catalog::NameStyle;
use switchboard_core::{Engine, EngineOptions, Workspace, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions};
use switchboard_gateway::face::{self, FaceOptions};
use switchboard_hub::socket::{
    ClientHello, HelloRefusal, HubBackend, HubFolders, HubLifetime, HubListener, HubPaths,
    ListenOptions,
};
use switchboard_process::ProcessGuard;
use switchboard_wire::client::{
    Client as Wire, ClientOptions, HttpTarget, RootFolder, ServerInbox, ServerTarget,
    VersionNegotiation,
};
use switchboard_wire::http::{
    EndpointOptions, HttpPool, HttpPoolOptions, ProxySettings, TlsOptions,
};
use switchboard_wire::json::Raw;
use switchboard_wire::link::lines;
use switchboard_wire::ws::WsOptions;
use switchboard_wire::{Era, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::server::{Behind, Server};
use crate::socket::room::HELLO;
use switchboard_testkit::deadline::soon;

/// Where clients come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    Http,
    Sse,
    WebSocket,
    Socket,
}

pub(super) const FACES: [Face; 4] = [Face::Http, Face::Sse, Face::WebSocket, Face::Socket];

/// What a client says that it can be asked.
const CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},
    "sampling":{"compatibility.example":{ "n":1.50 }},
    "extensions":{"compatibility.example":{ "n":1.50 },"io.modelcontextprotocol/ui":{}},
    "experimental":{"compatibility.example":{ "n":1.50 }}}"#;

/// The header `baggage` of every client over HTTP.
pub(super) const HEADER_BAGGAGE: &str = "place=header";

/// One server, shown through all faces.
pub(super) struct Gateway {
    engine: Engine,
    server: Arc<Server>,
    address: SocketAddr,
    place: HubPaths,
    _folder: tempfile::TempDir,
    _faces: DropGuard,
}

/// A client, and the server at the far end.
pub(super) struct Client {
    pub(super) wire: Wire,
    pub(super) inbox: ServerInbox,
    pub(super) server: Arc<Server>,
}

/// The bridge, for whoever comes through the socket.
struct ForAll(Arc<Bridge>);

// === impl Face ===

impl Face {
    /// Whether the version is spoken over this transport.
    pub(super) fn carries(self, version: Version) -> bool {
        match self {
            // Before Streamable HTTP there was HTTP+SSE, which the newest version has no place for.
            Self::Http => version > Version::V2024_11_05,
            Self::Sse => version.era() == Era::Legacy,
            Self::WebSocket | Self::Socket => true,
        }
    }
}

// === impl Gateway ===

impl Gateway {
    pub(super) async fn start(behind: Behind) -> Self {
        Self::start_with(behind, &json!({})).await
    }

    /// With these settings of the user.
    pub(super) async fn start_with(behind: Behind, settings: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join(".config/switchboard");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("settings.json"), settings.to_string()).unwrap();
        let server = Arc::<Server>::default();
        let engine = engine(&folder, &server, behind).await;
        let names = BridgeOptions { names: NameStyle::Bare, ..BridgeOptions::default() };
        let bridge = Arc::new(Bridge::new(engine.clone(), WorkspaceId::from("test"), names));
        let over = CancellationToken::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let faces = face::serve(listener, bridge.clone(), FaceOptions::local(), over.clone());
        tokio::spawn(faces);
        let place = HubPaths::find(&HubFolders {
            config: folder.path().join("config"),
            state: folder.path().join("state"),
            runtime: None,
            short: folder.path().to_owned(),
        });
        let place = place.unwrap();
        let listener = HubListener::bind(&place, Duration::from_secs(10)).await.unwrap();
        let options = ListenOptions::new("0.1.0", HubLifetime::UntilStopped);
        tokio::spawn(listener.serve(Arc::new(ForAll(bridge)), options, over.clone()));
        Self { engine, server, address, place, _folder: folder, _faces: over.drop_guard() }
    }

    /// A client of one version.
    pub(super) async fn client(&self, face: Face, version: Version) -> Client {
        let mut options = ClientOptions::new("client", "1");
        options.greeting = VersionNegotiation::Only(version);
        options.capabilities = Raw::parse(CAPABILITIES).unwrap();
        options.roots = Some(vec![RootFolder { uri: "file:///of/the/client".into(), name: None }]);
        let target = self.target(face).await;
        let (wire, inbox) = soon(Wire::connect(target, options)).await.unwrap();
        Client { wire, inbox, server: self.server.clone() }
    }

    async fn target(&self, face: Face) -> ServerTarget {
        let tls = TlsOptions { platform_roots: false, ..TlsOptions::default() };
        let pool =
            HttpPoolOptions { tls, proxies: ProxySettings::Off, ..HttpPoolOptions::default() };
        let pool = HttpPool::new(&pool).unwrap();
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("baggage"),
            HeaderValue::from_static(HEADER_BAGGAGE),
        )]);
        let http = |path: &str| HttpTarget {
            url: format!("http://{}{path}", self.address).parse().unwrap(),
            pool: pool.clone(),
            options: EndpointOptions { headers: headers.clone(), ..EndpointOptions::default() },
        };
        match face {
            Face::Http => ServerTarget::Http(http("/mcp")),
            Face::Sse => ServerTarget::Sse(http("/sse")),
            Face::WebSocket => ServerTarget::WebSocket {
                url: format!("ws://{}/ws", self.address).parse().unwrap(),
                pool,
                options: Box::new(WsOptions::default()),
            },
            Face::Socket => self.attached().await,
        }
    }

    /// As `connect` does: a hello, and then the client's own lines.
    async fn attached(&self) -> ServerTarget {
        let mut stream = UnixStream::connect(self.place.socket_path()).await.unwrap();
        stream.write_all(format!("{HELLO}\n").as_bytes()).await.unwrap();
        // Nothing comes after the answer until the client has spoken.
        while soon(stream.read_u8()).await.unwrap() != b'\n' {}
        let (reader, writer) = stream.into_split();
        let (writer, reader, writing) = lines::line_link(reader, writer, 64 << 20);
        tokio::spawn(writing);
        ServerTarget::InProcess((writer, reader))
    }

    /// The address of Streamable HTTP.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) async fn close(self) {
        self.engine.shutdown().await;
    }
}

async fn engine(folder: &tempfile::TempDir, server: &Arc<Server>, behind: Behind) -> Engine {
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.path().join("managed");
    let workspace = Workspace {
        id: WorkspaceId::from("test"),
        environment: Arc::new([]),
        in_process: vec![server.in_process(behind)],
    };
    let mut options = EngineOptions::new("gateway", "1", ProcessGuard::none());
    options.state_dir = Some(folder.path().join("state"));
    let engine = Engine::start(options).await;
    engine.apply(&workspace, resolve_desired(&surroundings, &ResolveOptions::default()));
    engine
}

// === impl ForAll ===

impl HubBackend for ForAll {
    type Views = Bridge;

    fn view_provider<'a>(
        &'a self,
        _: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<Bridge>, HelloRefusal>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
