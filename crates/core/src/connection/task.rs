//! The task: connects, stays, and comes back.
//!
//! An attempt ends in a session or in a reason; a session ends in a reason; and every reason but *stop*
//! ends in a rest, after which comes the next attempt.

use std::{
    future::Future,
    sync::{Arc, Weak},
};

use switchboard_wire::{
    self as wire, Remedy,
    client::{Client, Inbox, Incoming, List},
    envelope::code,
};
use tokio::{sync::watch, time::Instant};

use super::{
    Connection, Core, Error,
    listener::{Listener, Notice},
    lists::{LISTS, RawList, RawLists},
    reading::{Read, Reading},
    requests::Urgency,
    slots::Slot,
    spec::Reach,
    state::{Failed, Live, NeedsAuth, Pending, State},
    target,
};

/// The task behind a connection.
pub(super) struct Task {
    core: Arc<Core>,
    connection: Weak<Connection>,
    listener: Arc<dyn Listener>,
    state: watch::Sender<State>,
    lists: watch::Sender<Arc<RawLists>>,
    /// Attempts ever.
    number: u64,
    /// Attempts since a session lasted, the first one not counted.
    retries: u32,
    /// When the last attempt began.
    began: Instant,
    /// How it ended.
    last: Option<Error>,
    /// What it was to, as eras are remembered.
    target: Option<String>,
}

/// Why an attempt or a session is over.
enum Ended {
    /// Nobody wants the connection any more.
    Stopped,
    /// Somebody wants it anew.
    Asked,
    /// It cannot be made, or is gone.
    Failed(Error),
}

/// Whether there was a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Had {
    Session,
    Nothing,
}

// === impl Task ===

impl Task {
    pub(super) fn new(
        core: Arc<Core>,
        connection: Weak<Connection>,
        listener: Arc<dyn Listener>,
    ) -> (Self, watch::Receiver<State>, watch::Receiver<Arc<RawLists>>) {
        let pending = State::Pending(Pending { number: 1, retries: 0, last: None });
        let (state, reading_state) = watch::channel(pending);
        let (lists, reading_lists) =
            watch::channel(core.shared.former.take(&core.key).unwrap_or_default());
        let task = Self {
            core,
            connection,
            listener,
            state,
            lists,
            number: 0,
            retries: 0,
            began: Instant::now(),
            last: None,
            target: None,
        };
        (task, reading_state, reading_lists)
    }

    pub(super) async fn run(mut self) {
        loop {
            let ended = match self.attempt().await {
                Ok((live, inbox)) => self.session(&live, inbox).await,
                Err(Ended::Failed(error)) => {
                    self.settle(error, Had::Nothing);
                    Ended::Asked
                }
                Err(ended) => ended,
            };
            if matches!(ended, Ended::Stopped) || self.rest().await.is_none() {
                break;
            }
        }
        self.retire();
    }

    // --- one attempt

    async fn attempt(&mut self) -> Result<(Arc<Live>, Inbox), Ended> {
        self.forget_if_asked();
        self.number += 1;
        self.publish_pending();
        let slot = self.unless_stopped(self.turn()).await?;
        self.began = Instant::now();
        let connected = self.connect(slot).await;
        let asked_anew = {
            let mut asked = self.core.requests.lock();
            // Whoever waited has an answer now.
            asked.wanted = false;
            asked.reconnect
        };
        match connected {
            Ok((client, inbox)) => Ok((self.live(client), inbox)),
            Err(_) if self.core.stop.is_cancelled() => Err(Ended::Stopped),
            Err(_) if asked_anew => Err(Ended::Asked),
            Err(error) => Err(Ended::Failed(error)),
        }
    }

    /// A turn, or none for a server that somebody waits for.
    async fn turn(&self) -> Option<Slot> {
        tokio::select! {
            biased;
            () = self.core.requests.until(|asked| asked.wanted) => None,
            slot = self.core.shared.slots.turn(self.core.spec.place()) => slot,
        }
    }

    /// Connects; the slot goes to the next when this takes long.
    async fn connect(&mut self, slot: Option<Slot>) -> Result<(Client, Inbox), Error> {
        let target = self.prepare().await?;
        self.target = Some(target.key());
        let options = target::options(&self.core.spec, &self.core.shared);
        let core = &self.core;
        let abandoned = async {
            tokio::select! {
                () = core.stop.cancelled() => {}
                () = core.requests.until(|asked| asked.reconnect) => {}
            }
        };
        let mut connecting = std::pin::pin!(Client::connect_unless(target, options, abandoned));
        tokio::select! {
            connected = &mut connecting => return Ok(connected?),
            () = tokio::time::sleep(core.shared.timing.slot_kept) => drop(slot),
        }
        Ok(connecting.await?)
    }

    /// What to connect to. Files are looked at where that holds nobody up.
    async fn prepare(&self) -> Result<wire::client::Target, Error> {
        let core = self.core.clone();
        if let Reach::InProcess(_) = core.spec.reach {
            return target::build(&core.spec, &core.shared);
        }
        let building = tokio::task::spawn_blocking(move || target::build(&core.spec, &core.shared));
        match self.core.stop.run_until_cancelled(building).await {
            None => Err(wire::Error::Closed.into()),
            Some(Err(error)) => Err(Error::Preparing(Arc::new(error))),
            Some(Ok(built)) => built,
        }
    }

    fn live(&self, client: Client) -> Arc<Live> {
        let facts = client.server();
        let connect_took = self.began.elapsed();
        Arc::new(Live { client, facts, since: Instant::now(), connect_took, number: self.number })
    }

    // --- one session

    /// Stays until the session is over, and sees it to its end.
    async fn session(&mut self, live: &Arc<Live>, inbox: Inbox) -> Ended {
        self.core.tally.connected();
        self.core.strikes.clear(live.number);
        self.publish(State::Connected(live.clone()));
        let ended = self.stay(live, inbox).await;
        match &ended {
            Ended::Stopped => {}
            Ended::Asked => self.publish_pending(),
            Ended::Failed(error) => {
                if live.since.elapsed() >= self.core.shared.timing.longest_pause {
                    self.retries = 0;
                }
                self.settle(error.clone(), Had::Session);
            }
        }
        self.change_lists(RawLists::outdate);
        let goodbye = self.core.shared.timing.goodbye;
        if tokio::time::timeout(goodbye, live.client.close()).await.is_err() {
            tracing::warn!(server = %self.core.spec.server, "a session that was closed goes on");
        }
        ended
    }

    async fn stay(&mut self, live: &Live, mut inbox: Inbox) -> Ended {
        let between = self.core.shared.timing.between_lists;
        let mut reading = Reading::new(live.client.clone(), between);
        self.read_all(live, &mut reading);
        let core = self.core.clone();
        loop {
            if let Some(ended) = self.obey(live, &mut reading) {
                return ended;
            }
            tokio::select! {
                () = core.stop.cancelled() => return Ended::Stopped,
                () = core.requests.changed() => {}
                read = reading.next() => self.keep(live, read),
                incoming = inbox.next() => match incoming {
                    Ok(incoming) => self.take(live, incoming, &mut reading),
                    Err(error) => return Ended::Failed(error.into()),
                },
            }
        }
    }

    /// Does what was asked; a reason to end the session, if that was.
    fn obey(&self, live: &Live, reading: &mut Reading) -> Option<Ended> {
        let mut asked = self.core.requests.lock();
        asked.wanted = false;
        if asked.reconnect {
            return Some(Ended::Asked);
        }
        for (list, urgency) in std::mem::take(&mut asked.refresh) {
            if live.facts.offers(&[list.capability()]) {
                reading.ask(list, urgency);
            }
        }
        // What was said of an earlier session is no longer of interest.
        let (_, error) = asked.lost.take().filter(|(number, _)| *number == live.number)?;
        Some(Ended::Failed(error))
    }

    fn take(&mut self, live: &Live, incoming: Incoming, reading: &mut Reading) {
        let notice = match incoming {
            Incoming::ListChanged(list) => return self.list_changed(live, list, reading),
            Incoming::ResourceUpdated { uri, params } => Notice::ResourceUpdated { uri, params },
            Incoming::Log(message) => Notice::Log(message),
            Incoming::ElicitationComplete(params) => Notice::ElicitationComplete(params),
            Incoming::Question(question) => Notice::Question(question),
            Incoming::Withdrawn { key } => Notice::Withdrawn { key },
            Incoming::Notification(notification) => Notice::Other(notification),
            Incoming::Problem(error) => Notice::Unreadable(error.into()),
        };
        self.tell(notice);
    }

    // --- lists

    fn read_all(&mut self, live: &Live, reading: &mut Reading) {
        let offered = |list: &List| live.facts.offers(&[list.capability()]);
        let (offered, absent): (Vec<_>, Vec<_>) = LISTS.into_iter().partition(offered);
        for list in offered {
            reading.ask(list, Urgency::Now);
        }
        let gone: Vec<_> = absent.iter().copied().filter(|list| self.has(*list)).collect();
        self.change_lists(|lists| {
            lists.facts = Some(live.facts.clone());
            for list in absent {
                *lists.get_mut(list) = RawList::absent();
            }
        });
        for list in gone {
            self.tell(Notice::ListsChanged(list));
        }
    }

    /// Whether there is anything in a list.
    fn has(&self, list: List) -> bool {
        let lists = self.lists.borrow();
        lists.get(list).listing.as_ref().is_some_and(|listing| !listing.items.is_empty())
    }

    fn list_changed(&mut self, live: &Live, list: List, reading: &mut Reading) {
        // No server says that its templates have changed; those that have any say it of resources.
        let also = (list == List::Resources).then_some(List::Templates);
        for list in std::iter::once(list).chain(also) {
            if live.facts.offers(&[list.capability()]) {
                self.change_lists(|lists| lists.get_mut(list).outdated = true);
                reading.ask(list, Urgency::Now);
            }
        }
    }

    /// Publishes what was read. What could not be read leaves what was there before.
    fn keep(&mut self, live: &Live, (list, read): Read) {
        let notice = match read {
            Ok(listing) => {
                self.core.strikes.clear(live.number);
                self.change_lists(|lists| *lists.get_mut(list) = RawList::read(listing));
                Notice::ListsChanged(list)
            }
            // Many servers that have resources have never heard of templates.
            Err(wire::Error::Rpc(error))
                if list == List::Templates && error.code == code::METHOD_NOT_FOUND =>
            {
                self.change_lists(|lists| *lists.get_mut(list) = RawList::absent());
                Notice::ListsChanged(list)
            }
            Err(error) => {
                self.core.strike(live.number, &error);
                let error = Error::from(error);
                let problem = error.clone();
                self.change_lists(|lists| lists.get_mut(list).problem = Some(problem));
                Notice::ListProblem { list, error }
            }
        };
        self.tell(notice);
    }

    fn change_lists(&mut self, change: impl FnOnce(&mut RawLists)) {
        self.lists.send_modify(|lists| {
            let lists = Arc::make_mut(lists);
            change(lists);
            lists.generation += 1;
        });
    }

    // --- between sessions

    /// Decides what a failure leads to, and publishes it.
    fn settle(&mut self, error: Error, had: Had) {
        self.core.tally.failed(&error);
        self.last = Some(error.clone());
        let remedy = error.remedy();
        if remedy == Remedy::SignIn {
            let needs = NeedsAuth::new(error, self.number);
            return self.publish(State::NeedsAuth(Arc::new(needs)));
        }
        let timing = &self.core.shared.timing;
        // What worked once may work again, whatever ended it.
        let hopeful = had == Had::Session || remedy == Remedy::Retry;
        let since = Instant::now();
        let retry_at = (hopeful && self.retries < timing.retries)
            .then(|| since + timing.pause(self.retries, self.core.key.number()));
        self.retries += u32::from(retry_at.is_some());
        self.publish(State::Failed(Arc::new(Failed {
            error,
            was_connected: had == Had::Session,
            retry_at,
            retries: self.retries,
            number: self.number,
            since,
        })));
    }

    /// Waits until it is time for the next attempt; nothing if there is to be none.
    async fn rest(&self) -> Option<()> {
        loop {
            let due = self.due();
            let coming = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.core.stop.cancelled() => return None,
                () = coming => return Some(()),
                () = self.core.requests.changed() => {}
            }
        }
    }

    /// When the next attempt is to be made, as things stand.
    fn due(&self) -> Option<Instant> {
        let timing = &self.core.shared.timing;
        let asked = self.core.requests.lock();
        let (now, soonest) = (Instant::now(), self.began + timing.between_attempts);
        match &*self.state.borrow() {
            _ if asked.reconnect => Some(now),
            State::Failed(failed) => match failed.retry_at {
                Some(at) if asked.wanted => Some(soonest.min(at)),
                Some(at) => Some(at),
                None => (asked.wanted && failed.since + timing.longest_pause <= now).then_some(now),
            },
            State::NeedsAuth(needs) => {
                (asked.wanted && needs.since + timing.needs_auth <= now).then_some(now)
            }
            State::Pending(_) | State::Connected(_) => Some(now),
            State::Stopped => None,
        }
    }

    /// Somebody wants to begin anew: what was learnt of the server does not count.
    fn forget_if_asked(&mut self) {
        if !std::mem::take(&mut self.core.requests.lock().reconnect) {
            return;
        }
        self.retries = 0;
        self.last = None;
        if let Some(target) = self.target.take() {
            self.core.shared.eras.forget(&target);
        }
        self.change_lists(|lists| {
            *lists = RawLists { generation: lists.generation, ..RawLists::default() };
        });
    }

    // --- telling

    fn publish_pending(&self) {
        let (number, retries, last) = (self.number, self.retries, self.last.clone());
        self.publish(State::Pending(Pending { number, retries, last }));
    }

    fn publish(&self, state: State) {
        self.state.send_replace(state);
        self.tell(Notice::StateChanged);
    }

    /// Tells whoever listens, while there is anybody to whom the connection means something.
    fn tell(&self, notice: Notice) {
        if let Some(connection) = self.connection.upgrade() {
            self.listener.notice(&connection, notice);
        }
    }

    /// The last thing it does.
    fn retire(self) {
        let lists = self.lists.borrow().clone();
        if lists.facts.is_some() {
            self.core.shared.former.keep(self.core.key, lists);
        }
        self.publish(State::Stopped);
    }

    async fn unless_stopped<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Ended> {
        self.core.stop.run_until_cancelled(waiting).await.ok_or(Ended::Stopped)
    }
}
