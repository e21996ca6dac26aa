//! The views that modern requests share: one for each principal and endpoint.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_wire::{
    client::List,
    server::{Change, Changes, Handler, News},
};
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::mirrored::Book;
use crate::{
    face::{metrics::Transport, refusal::Refusal, sessions::Owner},
    front::{Front, Opened, Opening, Part},
};

/// The open views.
pub(in crate::face) struct Views<V>(Mutex<Known<V>>);

struct Known<V>(HashMap<Owner, Arc<View<V>>>);

/// One view, as long as somebody uses it.
pub(super) struct View<V> {
    pub(super) handler: Arc<V>,
    pub(super) changes: Changes,
    pub(super) book: Book,
    used: Mutex<Instant>,
    /// Held by whoever follows the view's changes, so that they are followed no longer than it.
    _followed: DropGuard,
}

// === impl Views ===

impl<V> Default for Views<V> {
    fn default() -> Self {
        Self(Mutex::new(Known(HashMap::new())))
    }
}

impl<V: Handler> Views<V> {
    fn lock(&self) -> MutexGuard<'_, Known<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view of this owner, opened if need be; then one of `tasks` follows its changes.
    pub(super) async fn get<F: Front<View = V>>(
        &self,
        front: &F,
        owner: &Owner,
        most: usize,
        tasks: &TaskTracker,
    ) -> Result<Arc<View<V>>, Refusal> {
        if let Some(view) = self.lock().known(owner) {
            return Ok(view);
        }
        // Not under the lock: it may have to be made first. Apart, since that is large and happens once for each owner.
        let opened = Box::pin(open(front, owner)).await?;
        let mut views = self.lock();
        if let Some(view) = views.known(owner) {
            return Ok(view);
        }
        if views.0.len() >= most {
            views.forget_oldest();
        }
        let (view, following) = View::new(opened);
        tasks.spawn(following.run());
        views.0.insert(owner.clone(), Arc::clone(&view));
        Ok(view)
    }

    /// Closes those that nobody has used for so long.
    pub(in crate::face) fn sweep(&self, after: Duration) {
        self.lock().0.retain(|_, view| Arc::strong_count(view) > 1 || !view.is_idle(after));
    }

    pub(in crate::face) fn clear(&self) {
        self.lock().0.clear();
    }
}

// === impl Known ===

impl<V> Known<V> {
    fn known(&self, owner: &Owner) -> Option<Arc<View<V>>> {
        let view = self.0.get(owner)?;
        view.touch();
        Some(Arc::clone(view))
    }

    /// Those in use live on with their users.
    fn forget_oldest(&mut self) {
        let oldest = self.0.iter().min_by_key(|(_, view)| view.used());
        if let Some(owner) = oldest.map(|(owner, _)| owner.clone()) {
            self.0.remove(&owner);
        }
    }
}

async fn open<F: Front>(front: &F, owner: &Owner) -> Result<Opened<F::View>, Refusal> {
    let place = match &owner.part {
        Part::Everything => "/mcp".to_owned(),
        Part::Server(name) => format!("/mcp/{name}"),
        Part::Agent(name) => format!("/mcp/agent/{name}"),
    };
    let opening = Opening {
        principal: owner.principal.to_string(),
        session: format!("{} {place}", owner.principal),
        part: owner.part.clone(),
        transport: Transport::Http.as_str(),
    };
    front.open(opening).await.map_err(|_| Refusal::no_such_part(&owner.part))
}

// === impl View ===

impl<V> View<V> {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self, after: Duration) -> bool {
        self.used().elapsed() >= after
    }

    fn new(opened: Opened<V>) -> (Arc<Self>, Following<V>) {
        let news = opened.changes.listen();
        let over = CancellationToken::new();
        let view = Arc::new(Self {
            handler: opened.view,
            changes: opened.changes,
            book: Book::default(),
            used: Mutex::new(Instant::now()),
            _followed: over.clone().drop_guard(),
        });
        let following = Following { view: Arc::downgrade(&view), news, over };
        (view, following)
    }
}

/// Whoever forgets what was known of a view's tools when they change.
struct Following<V> {
    view: std::sync::Weak<View<V>>,
    news: News,
    over: CancellationToken,
}

// === impl Following ===

impl<V> Following<V> {
    async fn run(self) {
        let Self { view, mut news, over } = self;
        while let Some(change) = over.run_until_cancelled(news.next()).await {
            if let (Change::List(List::Tools), Some(view)) = (change, view.upgrade()) {
                view.book.forget();
            }
        }
    }
}
