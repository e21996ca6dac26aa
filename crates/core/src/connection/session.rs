//! One session of a connection: what the server says by itself is passed on, its lists are read and kept
//! up to date, and what others ask of the session is done.

use std::sync::Arc;

use switchboard_wire::{
    self as wire,
    client::{Inbox, Incoming, List},
    envelope::code,
};

use super::{
    Error,
    listener::Notice,
    lists::{LISTS, RawList, RawLists},
    reading::{Read, Reading},
    requests::Urgency,
    state::{Live, State},
    task::{Ended, Had, Task},
};

// === impl Task ===

impl Task {
    /// Stays until the session is over, and sees it to its end.
    pub(super) async fn session(&mut self, live: &Arc<Live>, inbox: Inbox) -> Ended {
        self.core.tally.connected();
        self.core.strikes.clear(live.number);
        self.publish(State::Connected(live.clone()));
        let ended = self.stay(live, inbox).await;
        match &ended {
            Ended::Stopped => {}
            Ended::Asked => self.publish_pending(),
            Ended::SignInChanged => {
                self.forget_session();
                self.publish_pending();
            }
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
        let mut sign_in_changed = core.spec.credentials.sign_in_changed(live.sign_in);
        loop {
            if let Some(ended) = self.obey(live, &mut reading) {
                return ended;
            }
            tokio::select! {
                () = core.stop.cancelled() => return Ended::Stopped,
                () = &mut sign_in_changed => return Ended::SignInChanged,
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
        if asked.sign_in_changed.take() == Some(live.number) {
            return Some(Ended::SignInChanged);
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
        let offers_none = offered.is_empty();
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
        if offers_none {
            self.tell(Notice::NoLists);
        }
        for list in gone {
            self.tell(Notice::ListsChanged(list));
        }
    }

    /// Whether there is anything in a list.
    pub(super) fn has(&self, list: List) -> bool {
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

    pub(super) fn change_lists(&mut self, change: impl FnOnce(&mut RawLists)) {
        self.lists.send_modify(|lists| {
            let lists = Arc::make_mut(lists);
            change(lists);
            lists.generation += 1;
        });
    }
}
