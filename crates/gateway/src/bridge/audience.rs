//! What all clients of one principal that see the same part have in common: word of changes, and lists that were made
//! already.
//!
//! A bridge has one [`Audience`] for each principal and part, so that nothing that happens on one principal's
//! connections is told to another, and a client that sees one server hears nothing of the others. A client is told once
//! of one change: an audience compares what each client sees with what it was told of last.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use switchboard_core::catalog::{Catalog, Style};
use switchboard_core::engine::Event;
use switchboard_wire::client::List;
use switchboard_wire::server::{Change, Changes};
use tokio::time::Instant;

use super::lists::Made;
use super::view::View;
use crate::front::Part;

/// A server's word that a list changed is not passed on this soon after clients were told of that list, if the list is
/// the same: each connection to the server brings that word.
const ECHO_INTERVAL: Duration = Duration::from_millis(250);

/// The lists that clients are told of. Templates are told of as resources.
const TOLD_LISTS: [List; 3] = [List::Tools, List::Prompts, List::Resources];

/// The clients of one principal that see one part. Their views hold it.
pub(super) struct Audience {
    pub(super) changes: Changes,
    pub(super) made: Made,
    part: Part,
    names: Style,
    views: Mutex<Vec<Weak<View>>>,
}

/// What one client was told of its lists.
#[derive(Debug, Default)]
pub(super) struct ToldLists(Mutex<HashMap<List, ToldList>>);

/// What a client was found to see, each with when that was last.
#[derive(Debug, Default)]
pub(super) struct SeenNumbers(Mutex<Vec<(u64, Instant)>>);

/// For so long a client hears of changes to what it saw before.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// What a client was told of one list.
#[derive(Debug, Clone, Copy)]
struct ToldList {
    /// Of the items that it was last told of, or has listed first.
    digest: u64,
    was_listed: bool,
    announced_at: Option<Instant>,
}

/// Every audience that has a view, by principal and part.
pub(super) struct Audiences {
    names: Style,
    known: Mutex<HashMap<(String, Part), Weak<Audience>>>,
}

// === impl Audience ===

impl Audience {
    fn new(part: Part, names: Style) -> Self {
        Self {
            changes: Changes::default(),
            made: Made::default(),
            part,
            names,
            views: Mutex::default(),
        }
    }

    /// Adds a client.
    pub(super) fn add(&self, view: &Arc<View>) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.retain(|view| view.strong_count() > 0);
        views.push(Arc::downgrade(view));
    }

    /// Begins to compare the lists of a client, from what is shown now.
    pub(super) fn begin(&self, told: &ToldLists, catalog: &Catalog) {
        let mut told = told.lock();
        for list in TOLD_LISTS {
            let digest = self.digest(catalog, list);
            let first = ToldList { digest, was_listed: false, announced_at: None };
            told.entry(list).or_insert(first);
        }
    }

    /// Notes that a client got this list. What came before it need not be told of.
    pub(super) fn note_listed(&self, told: &ToldLists, list: List, catalog: &Catalog) {
        if let Some(told) = told.lock().get_mut(&told_as(list))
            && !told.was_listed
        {
            told.was_listed = true;
            told.digest = self.digest(catalog, told_as(list));
        }
    }

    /// Tells clients of the lists that are not what they were told of, and passes on what servers say of the others.
    /// Clients that see the same hear of it together.
    fn announce_changes(&self, said: &[&(Event, List)]) {
        let views = self.views();
        for list in TOLD_LISTS {
            let mut digests: HashMap<u64, u64> = HashMap::new();
            let mut news: BTreeSet<u64> = BTreeSet::new();
            for view in &views {
                let seen = view.seen_number();
                let digest = match digests.get(&seen) {
                    Some(digest) => *digest,
                    None => {
                        let Some(catalog) = view.catalog() else { continue };
                        let digest = self.digest(&catalog, list);
                        digests.insert(seen, digest);
                        digest
                    }
                };
                let is_said = said
                    .iter()
                    .any(|(event, said)| told_as(*said) == list && view.hears_event(event));
                if view.told.is_news(list, digest, is_said) {
                    news.insert(seen);
                }
            }
            for seen in news {
                self.changes.announce_of(seen, Change::List(list));
            }
        }
    }

    /// Announces that a resource changed, to the clients whose connection an event happened on.
    fn announce_resource(&self, event: &Event, uri: &str) {
        let change = Change::Resource(uri.to_owned());
        if event.connection.is_none() {
            return self.changes.announce(change);
        }
        let views = self.views();
        let seen: BTreeSet<u64> =
            views.iter().flat_map(|view| view.numbers_hearing(event)).collect();
        for seen in seen {
            self.changes.announce_of(seen, change.clone());
        }
    }

    fn views(&self) -> Vec<Arc<View>> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.iter().filter_map(Weak::upgrade).collect()
    }

    /// A digest of a list as clients see it.
    fn digest(&self, catalog: &Catalog, list: List) -> u64 {
        let mut hasher = DefaultHasher::new();
        let named = catalog.named(self.names);
        match list {
            List::Tools => {
                let seen = named.tools().filter(|(_, listed)| self.part.has(listed.server()));
                seen.for_each(|(name, listed)| {
                    (name, listed.tool.item.as_str()).hash(&mut hasher);
                });
            }
            List::Prompts => {
                let seen = named.prompts().filter(|(_, listed)| self.part.has(listed.server()));
                seen.for_each(|(name, listed)| {
                    (name, listed.prompt.item.as_str()).hash(&mut hasher);
                });
            }
            List::Resources | List::Templates => {
                let resources = catalog.resources().iter();
                let resources =
                    resources.map(|listed| (listed.server.as_str(), &listed.resource.item));
                let templates = catalog.templates().iter();
                let templates =
                    templates.map(|listed| (listed.server.as_str(), &listed.template.item));
                let all = resources.chain(templates).filter(|(server, _)| self.part.has(server));
                all.for_each(|(_, item)| item.as_str().hash(&mut hasher));
            }
        }
        hasher.finish()
    }
}

// === impl SeenNumbers ===

impl SeenNumbers {
    pub(super) fn note(&self, number: u64) {
        let mut seen = self.lock();
        seen.retain(|(other, at)| *other != number && at.elapsed() < ON_ITS_WAY);
        seen.push((number, Instant::now()));
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.lock().iter().any(|(seen, at)| *seen == number && at.elapsed() < ON_ITS_WAY)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ToldLists ===

impl ToldLists {
    fn is_news(&self, list: List, digest: u64, is_said: bool) -> bool {
        let mut told = self.lock();
        let Some(told) = told.get_mut(&list) else { return false };
        let is_echo = told.announced_at.is_some_and(|at| at.elapsed() < ECHO_INTERVAL);
        let is_news = told.digest != digest || (is_said && !is_echo);
        if is_news {
            (told.digest, told.announced_at) = (digest, Some(Instant::now()));
        }
        is_news
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<List, ToldList>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list that clients hear of when this one changes.
fn told_as(list: List) -> List {
    match list {
        List::Templates => List::Resources,
        list => list,
    }
}

// === impl Audiences ===

impl Audiences {
    pub(super) fn new(names: Style) -> Self {
        Self { names, known: Mutex::default() }
    }

    /// The audience of a principal and a part.
    pub(super) fn of(&self, principal: &str, part: &Part) -> Arc<Audience> {
        let key = (principal.to_owned(), part.clone());
        let mut known = self.lock();
        if let Some(audience) = known.get(&key).and_then(Weak::upgrade) {
            return audience;
        }
        known.retain(|_, audience| audience.strong_count() > 0);
        let new = Arc::new(Audience::new(part.clone(), self.names));
        known.insert(key, Arc::downgrade(&new));
        new
    }

    /// Announces that a resource changed, to the audiences that an event concerns.
    pub(super) fn announce_resource(&self, event: &Event, uri: &str) {
        for (_, audience) in self.all().iter().filter(|(principal, audience)| {
            event.concerns(principal) && audience.part.has(&event.server)
        }) {
            audience.announce_resource(event, uri);
        }
    }

    /// Announces the lists that changed. `said` are the events of servers that say so of a list that is the same.
    pub(super) fn announce_changes(&self, said: &[(Event, List)]) {
        for (principal, audience) in self.all() {
            let said = said.iter().filter(|(event, _)| {
                event.concerns(&principal) && audience.part.has(&event.server)
            });
            audience.announce_changes(&said.collect::<Vec<_>>());
        }
    }

    fn all(&self) -> Vec<(String, Arc<Audience>)> {
        let known = self.lock();
        let alive = |((principal, _), audience): (&(String, Part), &Weak<Audience>)| {
            Some((principal.clone(), audience.upgrade()?))
        };
        known.iter().filter_map(alive).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Part), Weak<Audience>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use switchboard_core::engine::Happened;
    use switchboard_wire::json::Raw;

    use super::*;

    #[test]
    fn a_change_is_announced_to_the_principals_and_parts_that_it_concerns() {
        let audiences = Audiences::new(Style::Gateway);
        let (everything, two) = (Part::Everything, Part::Server("two".into()));
        let places = [
            ("local", &everything),
            ("ann@1", &everything),
            ("bob@2", &everything),
            ("local", &two),
        ];
        let places = places.map(|(principal, part)| audiences.of(principal, part));
        let check = |principal: Option<&str>, expected: [bool; 4]| {
            let mut news = places.each_ref().map(|audience| audience.changes.listen());
            let principal = principal.map(Into::into);
            let (uri, params) = ("note://a".to_owned(), Raw::empty_object());
            let what = Happened::ResourceUpdated { uri, params };
            let (workspaces, server) = (Vec::new(), "one".to_owned());
            let event = Event { workspaces, server, principal, connection: None, what };
            audiences.announce_resource(&event, "note://a");
            let heard = news.each_mut().map(|news| news.next().now_or_never().is_some());
            assert_eq!(heard, expected, "{event:?}");
        };
        check(Some("ann@1"), [false, true, false, false]);
        check(Some("local"), [true, false, false, false]);
        check(None, [true, true, true, false]);
    }

    #[test]
    fn an_audience_without_views_is_forgotten() {
        let audiences = Audiences::new(Style::Gateway);
        drop(audiences.of("ann@1", &Part::Everything));
        let _bob = audiences.of("bob@2", &Part::Everything);
        assert_eq!(audiences.lock().len(), 1);
    }
}
