//! Every workspace that somebody uses, shown in every way that somebody asked for.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use futures_util::future::BoxFuture;
use switchboard_config::{Asked, Surroundings};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_hub::admin::{self, Admin, Faces, Host, Kind, Opened, Problem, Site};
use switchboard_hub::socket::{Attached, Hello, Refusal, RefusalKind};
use switchboard_sources::Served;
use switchboard_wire::json::Raw;
use tokio::sync::Mutex;

use crate::args::View;
use crate::commands::serve;
use crate::report::Failure;
use crate::serving::{self, Serving, Whose};
use crate::surroundings::{self, Caller};

/// Every workspace that has clients.
pub(in crate::commands) struct Rooms {
    engine: Engine,
    /// Whose administrator this machine has, and who runs it: never a client's to say.
    own: Surroundings,
    /// Held while a room is opened, so that clients that come at once share it.
    opening: Mutex<()>,
    open: std::sync::Mutex<Open>,
}

#[derive(Default)]
struct Open {
    served: HashMap<WorkspaceId, Weak<Served>>,
    /// By workspace and view.
    rooms: HashMap<(WorkspaceId, String), Weak<Serving>>,
}

// === impl Rooms ===

impl Rooms {
    pub(super) fn new(engine: Engine, caller: &Caller) -> Self {
        let own = caller.surroundings.clone();
        Self { engine, own, opening: Mutex::default(), open: std::sync::Mutex::default() }
    }

    /// A room for faces of the network.
    pub(in crate::commands) async fn front(
        &self,
        whose: &admin::Whose,
        view: &View,
    ) -> Result<Arc<Serving>, Problem> {
        let key = format!("{view:?}");
        let shared = self.shared(self.of_admin(whose)?, view, &key).await;
        shared.map_err(|failure| problem(&failure))
    }

    /// A room for this process's own caller.
    pub(in crate::commands) async fn own(
        &self,
        caller: &Caller,
        view: &View,
    ) -> Result<Arc<Serving>, Failure> {
        self.shared(Whose::of(caller), view, &format!("{view:?}")).await
    }

    pub(super) fn is_busy(&self) -> bool {
        self.engine.calls_in_flight() > 0
    }

    /// The servers that a session has called, each with how often.
    pub(super) fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.engine.used_by(session)
    }

    /// Clients of the network's faces.
    pub(super) fn others(&self) -> Vec<Attached> {
        Attached::of_network(&self.engine)
    }

    /// Where the user's state is.
    pub(in super::super) fn state_dir(&self) -> &std::path::Path {
        &self.own.state_dir
    }

    /// The room of a client that speaks MCP.
    pub(super) async fn room(&self, hello: &Hello) -> Result<Arc<Serving>, Refusal> {
        let view: View = hello.view.decode().map_err(|error| {
            refusal(format!("the view that was asked for cannot be understood: {error}"))
        })?;
        let whose = self.whose(&hello.cwd, &hello.env);
        let whose = whose.ok_or_else(|| refusal("no home folder is known".to_owned()))?;
        let shared = self.shared(whose, &view, hello.view.as_str()).await;
        shared.map_err(|failure| refusal(failure.in_one_line()))
    }

    async fn shared(&self, whose: Whose, view: &View, key: &str) -> Result<Arc<Serving>, Failure> {
        let _opening = self.opening.lock().await;
        let agents = serving::agents(&self.engine, view, &whose)?;
        let served = self.served(whose, view).await?;
        let key = (served.workspace().clone(), key.to_owned());
        if let Some(room) = self.open().rooms.get(&key).and_then(Weak::upgrade) {
            return Ok(room);
        }
        let room = Arc::new(Serving::over(self.engine.clone(), served, view, agents)?);
        self.open().rooms.insert(key, Arc::downgrade(&room));
        Ok(room)
    }

    /// The workspace, as somebody has it already, or loaded.
    async fn served(&self, whose: Whose, view: &View) -> Result<Arc<Served>, Failure> {
        let of = view.clone();
        let looked = tokio::task::spawn_blocking(move || (whose.id(&of), whose)).await;
        let (id, whose) =
            looked.map_err(|error| Failure::new("cannot read the configuration", error))?;
        let known = {
            let mut open = self.open();
            open.served.retain(|_, served| served.strong_count() > 0);
            open.rooms.retain(|_, room| room.strong_count() > 0);
            open.served.get(&id).and_then(Weak::upgrade)
        };
        if let Some(served) = known {
            return Ok(served);
        }
        let served = Arc::new(serving::start(&self.engine, view, whose).await?);
        self.open().served.insert(served.workspace().clone(), Arc::downgrade(&served));
        Ok(served)
    }

    /// The client's folder and environment, in place of this process's own; `None` where it has no home.
    fn whose(
        &self,
        cwd: &std::path::Path,
        env: &std::collections::BTreeMap<String, String>,
    ) -> Option<Whose> {
        let usual = Surroundings::usual(surroundings::platform(), env.clone(), cwd.to_owned())?;
        let surroundings = Surroundings {
            config_dir: self.own.config_dir.clone(),
            state_dir: self.own.state_dir.clone(),
            managed_dir: self.own.managed_dir.clone(),
            owner: self.own.owner,
            now: surroundings::now(),
            ..usual
        };
        let variables = env.iter().map(|(name, value)| (name.into(), value.into()));
        Some(Whose { surroundings, asked: Asked::default(), variables: variables.collect() })
    }

    /// The same for whoever came over the admin API.
    fn of_admin(&self, whose: &admin::Whose) -> Result<Whose, Problem> {
        self.whose(&whose.cwd, &whose.env).ok_or_else(|| {
            Problem::new(Kind::Refused, "no home folder is known").hinted("put `HOME` into `env`")
        })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Rooms {
    fn open<'a>(&'a self, whose: &'a admin::Whose) -> BoxFuture<'a, Result<Opened, Problem>> {
        Box::pin(async move {
            let served = {
                let _opening = self.opening.lock().await;
                let view = View::plain(whose.agent.clone());
                self.served(self.of_admin(whose)?, &view).await.map_err(|error| problem(&error))?
            };
            // Whoever asks has just looked at the files.
            served.look().await;
            Ok(Opened { id: served.workspace().clone(), held: Box::new(served) })
        })
    }

    fn workspaces(&self) -> Vec<Site> {
        let served: Vec<_> = self.open().served.values().filter_map(Weak::upgrade).collect();
        let site = |served: Arc<Served>| {
            let snapshot = served.snapshot();
            Site {
                id: served.workspace().to_string(),
                root: snapshot.desired.root.clone(),
                agent: snapshot.desired.agent.as_ref().map(|agent| agent.name.clone()),
            }
        };
        let mut sites: Vec<Site> = served.into_iter().map(site).collect();
        sites.sort_by(|one, other| (&one.root, &one.id).cmp(&(&other.root, &other.id)));
        sites
    }

    fn served(&self, id: &WorkspaceId) -> Option<Arc<Served>> {
        self.open().served.get(id).and_then(Weak::upgrade)
    }

    fn unchanged(&self, doing: &str, error: &switchboard_config::Error) -> Problem {
        problem(&Failure::config(doing, error))
    }

    fn faces<'a>(
        &'a self,
        admin: &'a Admin,
        whose: &'a admin::Whose,
        wanted: &'a Raw,
    ) -> BoxFuture<'a, Result<Faces, Problem>> {
        Box::pin(serve::in_hub(self, admin, whose, wanted))
    }
}

fn refusal(message: String) -> Refusal {
    Refusal { kind: RefusalKind::View, message }
}

/// A failure of ours, for whoever asked over the admin API.
pub(in crate::commands) fn problem(failure: &Failure) -> Problem {
    let mut problem = Problem::new(Kind::Refused, failure.message());
    if !failure.causes().is_empty() {
        problem = problem.detailed(failure.causes().join(": "));
    }
    match failure.hint() {
        Some(hint) => problem.hinted(hint),
        None => problem,
    }
}
