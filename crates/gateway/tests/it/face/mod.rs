//! Tests of the faces over real sockets: our own client in every version, and raw HTTP for requests that it never
//! sends.

mod bounds;
mod closing;
mod guarding;
mod headers;
mod probes;
pub(crate) mod raw;
mod replicas;
mod resuming;
mod rules;
mod sessions;
mod shared_sessions;
mod suite;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use switchboard_gateway::{
    face::{FaceError, FaceOptions, serve},
    view_provider::{OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection},
};
use switchboard_testkit::fixture::Fixture;
use switchboard_wire::{
    client::ListKind,
    envelope::{Notification, RpcError},
    json::Raw,
    server::{
        ChangeBroadcaster, ChangeNotification, ClientFacts, HandlerReply, HandlerRequest,
        RequestContext, ServerDescription, ServerHandler,
    },
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub(crate) use switchboard_testkit::deadline::soon;

/// A view provider for the fixture.
#[derive(Default)]
pub(crate) struct Stage {
    scene: Arc<Scene>,
    openings: Mutex<Vec<ViewRequest>>,
}

/// The fixture as a view, with a broadcaster for changes.
#[derive(Default)]
pub(crate) struct Scene {
    fixture: Fixture,
    changes: ChangeBroadcaster,
    /// The capabilities that came with each list of tools.
    lists: Mutex<Vec<String>>,
    /// The methods of the notifications that it got.
    notified: Mutex<Vec<String>>,
}

/// Running faces.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) stage: Arc<Stage>,
    pub(crate) shutdown: CancellationToken,
    serving: JoinHandle<Result<(), FaceError>>,
}

// === impl Served ===

impl Served {
    pub(crate) async fn start(options: FaceOptions) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), options)
    }

    pub(crate) fn on(listener: TcpListener, options: FaceOptions) -> Self {
        let address = listener.local_addr().unwrap();
        let (stage, shutdown) = (Arc::<Stage>::default(), CancellationToken::new());
        let serving = serve(listener, Arc::clone(&stage), options, shutdown.clone());
        Self { address, stage, shutdown, serving: tokio::spawn(serving) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The views opened so far.
    pub(crate) fn openings(&self) -> Vec<ViewRequest> {
        self.stage.openings.lock().unwrap().clone()
    }

    /// The value of a line of the metrics page.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let page = raw::get(self.address, "/metrics", &[]).await.body;
        let line =
            page.lines().find_map(|line| line.strip_prefix(&format!("switchboard_face_{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    /// Waits until a metric has a value.
    pub(crate) async fn until(&self, name: &str, value: u64) {
        soon(async {
            while self.metric(name).await != value {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    /// Shuts down and waits for the end.
    pub(crate) async fn close(self) {
        self.shutdown.cancel();
        soon(self.serving).await.unwrap().unwrap();
    }
}

// === impl Stage ===

impl ViewProvider for Stage {
    type View = Scene;

    async fn open(&self, opening: ViewRequest) -> Result<OpenView<Scene>, ViewError> {
        if matches!(&opening.part, ViewSelection::Server(name) | ViewSelection::Agent(name) if name == "none")
        {
            return Err(ViewError::NoSuchView);
        }
        self.openings.lock().unwrap().push(opening);
        Ok(OpenView { view: Arc::clone(&self.scene), changes: self.scene.changes.clone() })
    }
}

// === impl Scene ===

impl Scene {
    /// How often the tools were listed.
    pub(crate) fn listed(&self) -> usize {
        self.lists.lock().unwrap().len()
    }

    /// The capabilities of the clients that listed the tools.
    pub(crate) fn listed_with(&self) -> Vec<String> {
        self.lists.lock().unwrap().clone()
    }
}

impl ServerHandler for Scene {
    fn describe(&self) -> ServerDescription {
        self.fixture.describe()
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let text = |path: &[&str]| asked.params.get_path(path).ok().flatten()?.to_text();
        if asked.method == "tools/list" {
            self.lists.lock().unwrap().push(context.capabilities.to_string());
        }
        if text(&["name"]).as_deref() == Some("announce") {
            let what = text(&["arguments", "what"]).unwrap_or_default();
            self.changes.announce(match what.as_str() {
                "tools" => ChangeNotification::List(ListKind::Tools),
                "prompts" => ChangeNotification::List(ListKind::Prompts),
                "resources" => ChangeNotification::List(ListKind::Resources),
                _ => ChangeNotification::Resource(what),
            });
            return Box::pin(std::future::ready(Ok(HandlerReply::Complete(Raw::empty_object()))));
        }
        if text(&["name"]).as_deref() == Some("meta") {
            let meta = asked.params.get("_meta").ok().flatten().unwrap_or_else(Raw::null);
            let result = Raw::object([("seen", meta)]);
            return Box::pin(std::future::ready(Ok(HandlerReply::Complete(result))));
        }
        self.fixture.call(asked, context)
    }

    fn on_notification(&self, notification: Notification, _: Option<ClientFacts>) {
        self.notified.lock().unwrap().push(notification.method().into_owned());
    }
}
