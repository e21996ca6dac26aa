//! The views that modern requests share: one for each principal and endpoint.
//!
//! Used by `modern`; `face` closes idle ones. Legacy sessions have their own views (`session`).

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::principal::Principal;
use switchboard_wire::{
    client::ListKind,
    server::{ChangeBroadcaster, ChangeNotification, ChangeReceiver, ServerHandler},
};
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::mirrored::MirroredHeaders;
use crate::{
    face::{metrics::Transport, refusal::HttpRefusal, sessions::SessionOwner},
    view_provider::{OpenView, SessionClients, ViewProvider, ViewRequest, ViewSelection},
};

/// The open views.
pub(in crate::face) struct SharedViews<V>(Mutex<ViewTable<V>>);

struct ViewTable<V>(HashMap<SessionOwner, Arc<SharedView<V>>>);

/// One view, kept while it is in use.
pub(super) struct SharedView<V> {
    pub(super) handler: Arc<V>,
    pub(super) changes: ChangeBroadcaster,
    pub(super) mirrored_headers: MirroredHeaders,
    used: Mutex<Instant>,
    /// Ends the task that follows the view's changes when the view is dropped.
    _followed: DropGuard,
}

// === impl SharedViews ===

impl<V> Default for SharedViews<V> {
    fn default() -> Self {
        Self(Mutex::new(ViewTable(HashMap::new())))
    }
}

impl<V: ServerHandler> SharedViews<V> {
    fn lock(&self) -> MutexGuard<'_, ViewTable<V>> {
        self.0.lock()
    }

    /// Returns the view of this owner, or opens it; then one of `tasks` follows its changes.
    pub(super) async fn get<F: ViewProvider<View = V>>(
        &self,
        front: &F,
        owner: &SessionOwner,
        most: usize,
        tasks: &TaskTracker,
    ) -> Result<Arc<SharedView<V>>, HttpRefusal> {
        if let Some(view) = self.lock().find(owner) {
            return Ok(view);
        }
        // Opened without the lock, since that may take long. Boxed, since the future is large and runs once for each
        // owner.
        let opened = Box::pin(open(front, owner)).await?;
        let mut views = self.lock();
        if let Some(view) = views.find(owner) {
            return Ok(view);
        }
        if views.0.len() >= most {
            views.forget_oldest();
        }
        let (view, following) = SharedView::new(opened);
        tasks.spawn(following.run());
        views.0.insert(owner.clone(), Arc::clone(&view));
        Ok(view)
    }

    /// Closes the views that have been idle for `after`.
    pub(in crate::face) fn sweep(&self, after: Duration) {
        self.lock().0.retain(|_, view| Arc::strong_count(view) > 1 || !view.is_idle(after));
    }

    pub(in crate::face) fn clear(&self) {
        self.lock().0.clear();
    }
}

// === impl ViewTable ===

impl<V> ViewTable<V> {
    fn find(&self, owner: &SessionOwner) -> Option<Arc<SharedView<V>>> {
        let view = self.0.get(owner)?;
        view.touch();
        Some(Arc::clone(view))
    }

    /// Drops the least recently used view; requests in progress keep theirs.
    fn forget_oldest(&mut self) {
        let oldest = self.0.iter().min_by_key(|(_, view)| view.last_used());
        if let Some(owner) = oldest.map(|(owner, _)| owner.clone()) {
            self.0.remove(&owner);
        }
    }
}

async fn open<F: ViewProvider>(
    front: &F,
    owner: &SessionOwner,
) -> Result<OpenView<F::View>, HttpRefusal> {
    let place = match &owner.part {
        ViewSelection::Everything => "/mcp".to_owned(),
        ViewSelection::Server(name) => format!("/mcp/{name}"),
        ViewSelection::Agent(name) => format!("/mcp/agent/{name}"),
    };
    let opening = ViewRequest {
        principal: owner.principal.clone(),
        session: session_name(&owner.principal, &place),
        part: owner.part.clone(),
        transport: Transport::Http.as_str(),
        clients: SessionClients::Several,
    };
    front.open(opening).await.map_err(|error| HttpRefusal::no_view(&owner.part, &error))
}

/// Names the session of a principal at a place. Clients with other groups have another one: the permission of their
/// calls depends on them.
fn session_name(principal: &Principal, place: &str) -> String {
    let groups = principal.groups().flat_map(|group| [" +", group]);
    let groups: String = groups.collect();
    format!("{principal}{groups} {place}")
}

// === impl SharedView ===

impl<V> SharedView<V> {
    fn last_used(&self) -> Instant {
        *self.used.lock()
    }

    fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    fn is_idle(&self, after: Duration) -> bool {
        self.last_used().elapsed() >= after
    }

    fn new(opened: OpenView<V>) -> (Arc<Self>, ToolChangeFollower<V>) {
        let news = opened.changes.listen();
        let over = CancellationToken::new();
        let view = Arc::new(Self {
            handler: opened.view,
            changes: opened.changes,
            mirrored_headers: MirroredHeaders::default(),
            used: Mutex::new(Instant::now()),
            _followed: over.clone().drop_guard(),
        });
        let following = ToolChangeFollower { view: Arc::downgrade(&view), news, over };
        (view, following)
    }
}

/// Drops the cached header arguments of a view when its tools change.
struct ToolChangeFollower<V> {
    view: std::sync::Weak<SharedView<V>>,
    news: ChangeReceiver,
    over: CancellationToken,
}

// === impl ToolChangeFollower ===

impl<V> ToolChangeFollower<V> {
    async fn run(self) {
        let Self { view, mut news, over } = self;
        while let Some(change) = over.run_until_cancelled(news.next()).await {
            if let (ChangeNotification::List(ListKind::Tools), Some(view)) =
                (change.change, view.upgrade())
            {
                view.mirrored_headers.forget();
            }
        }
    }
}
