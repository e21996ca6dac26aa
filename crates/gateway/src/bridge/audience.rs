//! Audiences: the clients of one principal that see one part of a workspace, with their change notifications and
//! cached lists.
//!
//! Used by the bridge, its announcer and its views. A bridge has one [`Audience`] for each principal and part, so
//! that an event on one principal's connections does not reach another principal, and a client that sees one server
//! gets no notification about the others. A client gets one notification for one change: an audience compares the
//! lists that each session sees with the lists last announced to its clients. It does not write messages:
//! `wire::server` sends the notifications.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::catalog::{Catalog, NameStyle};
use switchboard_core::engine::EngineEvent;
use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::Notification;
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::SUBSCRIPTION_ID;
use switchboard_wire::server::{ChangeBroadcaster, ChangeNotification};
use tokio::time::Instant;

use super::apps::{UiAddress, UiAddressForm};
use super::lists::ListCache;
use super::skills;
use super::view::BridgeView;
use super::view_session::ViewSession;
use crate::view_provider::ViewSelection;

/// A server's notification about an unchanged list is dropped this soon after an announcement of the list: each
/// connection to the server brings one.
const ECHO_INTERVAL: Duration = Duration::from_millis(250);

/// The lists that are announced to clients. Templates are announced as resources.
const ANNOUNCED_LISTS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

/// The clients of one principal that see one selection. Their views hold the audience.
pub(super) struct Audience {
    pub(super) changes: ChangeBroadcaster,
    pub(super) made: ListCache,
    part: ViewSelection,
    names: NameStyle,
    views: Mutex<Vec<Weak<BridgeView>>>,
}

/// The lists last announced to the clients of one session.
#[derive(Debug, Default)]
pub(super) struct AnnouncedLists(Mutex<HashMap<ListKind, AnnouncedList>>);

/// The view numbers of a session, each with the time when it was last seen.
#[derive(Debug, Default)]
pub(super) struct RecentViewNumbers(Mutex<Vec<(u64, Instant)>>);

/// The time for which a session still hears of changes to a view that it had before.
const RECENT_VIEW_WINDOW: Duration = Duration::from_secs(2);

/// The state of one list as last announced to clients.
#[derive(Debug, Clone, Copy)]
struct AnnouncedList {
    /// The digest of the items that were last announced, or that the clients listed first.
    digest: u64,
    was_listed: bool,
    announced_at: Option<Instant>,
}

/// All audiences with a view, by principal and selection.
pub(super) struct Audiences {
    names: NameStyle,
    known: Mutex<HashMap<(String, ViewSelection), Weak<Audience>>>,
}

// === impl Audience ===

impl Audience {
    fn new(part: ViewSelection, names: NameStyle) -> Self {
        Self {
            changes: ChangeBroadcaster::default(),
            made: ListCache::default(),
            part,
            names,
            views: Mutex::default(),
        }
    }

    /// Adds a client.
    pub(super) fn add(&self, view: &Arc<BridgeView>) {
        let mut views = self.views.lock();
        views.retain(|view| view.strong_count() > 0);
        views.push(Arc::downgrade(view));
    }

    /// Begins to compare the lists of a session with the present `catalog`.
    pub(super) fn begin(&self, told: &AnnouncedLists, catalog: &Catalog) {
        let mut told = told.lock();
        for list in ANNOUNCED_LISTS {
            let digest = self.digest(catalog, list);
            let first = AnnouncedList { digest, was_listed: false, announced_at: None };
            told.entry(list).or_insert(first);
        }
    }

    /// Records that a client got this list, so that earlier changes need no announcement.
    pub(super) fn note_listed(&self, told: &AnnouncedLists, list: ListKind, catalog: &Catalog) {
        if let Some(told) = told.lock().get_mut(&announced_as(list))
            && !told.was_listed
        {
            told.was_listed = true;
            told.digest = self.digest(catalog, announced_as(list));
        }
    }

    /// Announces lists that differ from the last announcement, and passes on the notifications of servers for the
    /// others. Clients with equal view numbers get one announcement.
    fn announce_changes(&self, said: &[&(EngineEvent, ListKind)]) {
        let sessions = self.sessions();
        for list in ANNOUNCED_LISTS {
            let mut digests: HashMap<u64, u64> = HashMap::new();
            let mut news: BTreeSet<u64> = BTreeSet::new();
            for session in &sessions {
                let seen = session.seen_number();
                let digest = match digests.get(&seen) {
                    Some(digest) => *digest,
                    None => {
                        let Some(catalog) = session.catalog() else { continue };
                        let digest = self.digest(&catalog, list);
                        digests.insert(seen, digest);
                        digest
                    }
                };
                let is_said = said
                    .iter()
                    .any(|(event, said)| announced_as(*said) == list && session.hears_event(event));
                if session.is_news(list, digest, is_said) {
                    news.insert(seen);
                }
            }
            for seen in news {
                self.changes.announce_from(seen, ChangeNotification::List(list));
            }
        }
    }

    /// Announces a changed resource to the clients that use the event's connection, under each address that they may
    /// know it by. A client hears of the addresses that it subscribed to.
    fn announce_resource(&self, event: &EngineEvent, uri: &str) {
        let ui = UiAddressForm::of_part(&self.part).address(&event.server, uri);
        // A URI that looks like the address of another server's resource is not announced as that.
        let is_taken = ui.is_some() && UiAddress::parse(uri).is_some();
        let others = skills::announced_addresses(&self.part, &event.server, uri).into_iter();
        let others = others.filter(|address| address != uri || !is_taken);
        for address in ui.into_iter().chain(others) {
            self.announce_event(event, ChangeNotification::Resource(address));
        }
    }

    /// Announces a change to the clients that use the event's connection.
    fn announce_event(&self, event: &EngineEvent, change: ChangeNotification) {
        if event.connection.is_none() {
            return self.changes.announce(change);
        }
        let sessions = self.sessions();
        let hearing = sessions.iter().filter(|session| session.hears_event(event));
        let seen: BTreeSet<u64> = hearing.map(|session| session.seen_number()).collect();
        for seen in seen {
            self.changes.announce_from(seen, change.clone());
        }
    }

    /// The sessions of all its clients.
    fn sessions(&self) -> Vec<Arc<ViewSession>> {
        let views = self.views.lock();
        let alive: Vec<Arc<BridgeView>> = views.iter().filter_map(Weak::upgrade).collect();
        // Not under the lock: a view may end with the last of its holders, which this can be.
        drop(views);
        alive.iter().flat_map(|view| view.sessions.all()).collect()
    }

    /// The digest of a list as clients see it.
    fn digest(&self, catalog: &Catalog, list: ListKind) -> u64 {
        let mut hasher = DefaultHasher::new();
        let named = catalog.names(self.names);
        match list {
            ListKind::Tools => {
                let seen = named.tools().filter(|(_, listed)| self.part.has(listed.server()));
                seen.for_each(|(name, listed)| {
                    (name, listed.tool.item.as_str()).hash(&mut hasher);
                });
            }
            ListKind::Prompts => {
                let seen = named.prompts().filter(|(_, listed)| self.part.has(listed.server()));
                seen.for_each(|(name, listed)| {
                    (name, listed.prompt.item.as_str()).hash(&mut hasher);
                });
            }
            ListKind::Resources | ListKind::Templates => {
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

// === impl RecentViewNumbers ===

impl RecentViewNumbers {
    pub(super) fn note(&self, number: u64) {
        let mut seen = self.lock();
        seen.retain(|(other, at)| *other != number && at.elapsed() < RECENT_VIEW_WINDOW);
        seen.push((number, Instant::now()));
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.lock().iter().any(|(seen, at)| *seen == number && at.elapsed() < RECENT_VIEW_WINDOW)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Instant)>> {
        self.0.lock()
    }
}

// === impl AnnouncedLists ===

impl AnnouncedLists {
    pub(super) fn was_listed(&self, list: ListKind) -> bool {
        self.lock().get(&list).is_some_and(|announced| announced.was_listed)
    }

    pub(super) fn is_news(&self, list: ListKind, digest: u64, is_said: bool) -> bool {
        let mut told = self.lock();
        let Some(told) = told.get_mut(&list) else { return false };
        let is_echo = told.announced_at.is_some_and(|at| at.elapsed() < ECHO_INTERVAL);
        let is_news = told.digest != digest || (is_said && !is_echo);
        if is_news {
            (told.digest, told.announced_at) = (digest, Some(Instant::now()));
        }
        is_news
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ListKind, AnnouncedList>> {
        self.0.lock()
    }
}

/// The list that is announced when this one changes.
fn announced_as(list: ListKind) -> ListKind {
    match list {
        ListKind::Templates => ListKind::Resources,
        list => list,
    }
}

// === impl Audiences ===

impl Audiences {
    pub(super) fn new(names: NameStyle) -> Self {
        Self { names, known: Mutex::default() }
    }

    /// The audience of a principal and a selection.
    pub(super) fn of(&self, principal: &str, part: &ViewSelection) -> Arc<Audience> {
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

    /// Announces a changed resource to the audiences that an event concerns.
    pub(super) fn announce_resource(&self, event: &EngineEvent, uri: &str) {
        self.for_each_concerned(event, |audience| audience.announce_resource(event, uri));
    }

    /// Passes a notification of an extension on to the audiences that an event concerns.
    pub(super) fn pass_on(&self, event: &EngineEvent, notification: &Notification) {
        let params = notification.params().unwrap_or_else(Raw::empty_object);
        // The tag of the gateway's own subscription means nothing to clients.
        let untagged = [JsonEdit::remove(&["_meta", SUBSCRIPTION_ID])];
        let params = params.overwrite(&untagged);
        let method = notification.method().into_owned();
        let change = ChangeNotification::Other(method, params);
        self.for_each_concerned(event, |audience| audience.announce_event(event, change.clone()));
    }

    fn for_each_concerned(&self, event: &EngineEvent, announce: impl Fn(&Audience)) {
        for (_, audience) in self.all().iter().filter(|(principal, audience)| {
            event.concerns(principal) && audience.part.has(&event.server)
        }) {
            announce(audience);
        }
    }

    /// Announces the lists that changed. `said` are notifications of servers for lists that may be unchanged.
    pub(super) fn announce_changes(&self, said: &[(EngineEvent, ListKind)]) {
        for (principal, audience) in self.all() {
            let said = said.iter().filter(|(event, _)| {
                event.concerns(&principal) && audience.part.has(&event.server)
            });
            audience.announce_changes(&said.collect::<Vec<_>>());
        }
    }

    fn all(&self) -> Vec<(String, Arc<Audience>)> {
        let known = self.lock();
        let alive = |((principal, _), audience): (&(String, ViewSelection), &Weak<Audience>)| {
            Some((principal.clone(), audience.upgrade()?))
        };
        known.iter().filter_map(alive).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, ViewSelection), Weak<Audience>>> {
        self.known.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use switchboard_core::engine::EngineEventKind;

    use super::*;

    #[test]
    fn a_change_is_announced_to_the_principals_and_parts_that_it_concerns() {
        let audiences = Audiences::new(NameStyle::Gateway);
        let (everything, two) = (ViewSelection::Everything, ViewSelection::Server("two".into()));
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
            let what = EngineEventKind::ResourceUpdated { uri, params };
            let (workspaces, server) = (Vec::new(), "one".to_owned());
            let event = EngineEvent { workspaces, server, principal, connection: None, what };
            audiences.announce_resource(&event, "note://a");
            let heard = news.each_mut().map(|news| news.next().now_or_never().is_some());
            assert_eq!(heard, expected, "{event:?}");
        };
        check(Some("ann@1"), [false, true, false, false]);
        check(Some("local"), [true, false, false, false]);
        check(None, [true, true, true, false]);
    }

    #[test]
    fn a_ui_resource_is_announced_under_the_address_of_its_own_server() {
        let audiences = Audiences::new(NameStyle::Gateway);
        let (everything, one) = (ViewSelection::Everything, ViewSelection::Server("one".into()));
        let check = |part: &ViewSelection, uri: &str, expected: &[&str]| {
            let audience = audiences.of("local", part);
            let mut news = audience.changes.listen();
            let what = EngineEventKind::ResourceUpdated {
                uri: uri.to_owned(),
                params: Raw::empty_object(),
            };
            let (workspaces, server) = (Vec::new(), "one".to_owned());
            let event = EngineEvent { workspaces, server, principal: None, connection: None, what };
            audience.announce_resource(&event, uri);
            let mut heard = Vec::new();
            while let Some(announced) = news.next().now_or_never() {
                match announced.change {
                    ChangeNotification::Resource(uri) => heard.push(uri),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(heard, expected, "{uri}");
        };
        // Any resource may be a file of a skill.
        check(&everything, "note://a", &["note://a", "skill://note+one.switchboard/a"]);
        let addresses = ["ui://one.switchboard/a", "ui://a", "skill://ui+one.switchboard/a"];
        check(&everything, "ui://a", &addresses);
        let hostile = "ui://two.switchboard/a";
        let (app, skill) = (
            "ui://one.switchboard/two.switchboard/a",
            "skill://ui+one.switchboard/two.switchboard/a",
        );
        check(&everything, hostile, &[app, skill]);
        check(&one, hostile, &[hostile]);
    }

    #[test]
    fn an_audience_without_views_is_forgotten() {
        let audiences = Audiences::new(NameStyle::Gateway);
        drop(audiences.of("ann@1", &ViewSelection::Everything));
        let _bob = audiences.of("bob@2", &ViewSelection::Everything);
        assert_eq!(audiences.lock().len(), 1);
    }
}
