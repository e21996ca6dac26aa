//! One session of a connection: what the server says by itself is passed on, its lists are read and kept
//! up to date, and what others ask of the session is done.

use std::sync::Arc;

use switchboard_wire::{
    self as wire,
    client::{Inbox, Incoming, List, Listing},
    envelope::code,
};
use tokio::time::Instant;

use super::{
    Error,
    listener::Notice,
    lists::{LISTS, RawList, RawLists},
    liveness::{Probe, Probed},
    reading::{Read, Reading},
    requests::Urgency,
    state::{Live, State},
    strikes::{self, Weight},
    task::{Ended, Reached, Task},
};

// === impl Task ===

impl Task {
    /// Stays until the session is over, and sees it to its end.
    pub(super) async fn session(&mut self, live: &Arc<Live>, inbox: Inbox) -> Ended {
        self.core.tally.connected();
        self.core.strikes.begin(live.number);
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
                let has_answered = self.core.strikes.has_answered(live.number);
                let reached = if has_answered { Reached::Service } else { Reached::Session };
                self.settle(error.clone(), reached);
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
        let mut probe = Probe::new(live.client.clone(), &self.core.shared.timing);
        self.read_all(live, &mut reading);
        let core = self.core.clone();
        let mut sign_in_changed = core.spec.credentials.sign_in_changed(live.sign_in);
        loop {
            if let Some(ended) = self.obey(live, &mut reading) {
                return ended;
            }
            self.check_if_asked(live, &mut probe);
            tokio::select! {
                () = core.stop.cancelled() => return Ended::Stopped,
                () = &mut sign_in_changed => return Ended::SignInChanged,
                () = core.requests.changed() => {}
                read = reading.next() => if let Some(ended) = self.keep(live, read) {
                    return ended;
                },
                probed = probe.next() => if let Some(ended) = self.probed(live, probed, &mut probe, &reading) {
                    return ended;
                },
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
        (asked.wanted, asked.looked_at) = (false, false);
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

    // --- whether the server answers

    fn check_if_asked(&self, live: &Live, probe: &mut Probe) {
        if !std::mem::take(&mut self.core.requests.lock().checked) {
            return;
        }
        match probe.late_since() {
            Some(since) if !self.has_answered_since(live, since) => self.judge(live, Some(since)),
            Some(_) => self.forgive(live, probe),
            None => probe.ask(),
        }
    }

    fn probed(
        &self,
        live: &Live,
        probed: Probed,
        probe: &mut Probe,
        reading: &Reading,
    ) -> Option<Ended> {
        match probed {
            Probed::Due => self.probe_if_due(live, probe, reading),
            Probed::Late(since) if self.has_answered_since(live, since) => {
                self.forgive(live, probe);
            }
            Probed::Late(since) => self.judge(live, Some(since)),
            Probed::Answered(Ok(())) => {
                self.core.strikes.clear(live.number);
                self.forgive(live, probe);
            }
            Probed::Answered(Err(error)) => match strikes::weight(&error) {
                Weight::Answered => self.forgive(live, probe),
                Weight::Out => return Some(Ended::Failed(error.into())),
                // A server that is busy may not have answered; no call is to be lost for that.
                Weight::Strike | Weight::None => self.judge(live, live.silent_since()),
            },
        }
        None
    }

    /// Asks a server that something waits for, if nothing was heard of it for a while, and a silent one once more.
    fn probe_if_due(&self, live: &Live, probe: &mut Probe, reading: &Reading) {
        if let Some(since) = probe.late_since() {
            if self.has_answered_since(live, since) {
                self.forgive(live, probe);
            }
            return;
        }
        let waits = self.core.in_flight.count() > 0 || reading.is_under_way();
        let quiet_since = Instant::now().checked_sub(self.core.shared.timing.ping_after);
        let is_quiet = live.since.elapsed() >= self.core.shared.timing.ping_after
            && quiet_since.is_some_and(|since| !self.has_answered_since(live, since));
        if live.silent_since().is_some() || waits && is_quiet {
            probe.ask();
        }
    }

    fn has_answered_since(&self, live: &Live, since: Instant) -> bool {
        self.core.strikes.has_answered_since(live.number, since)
    }

    fn forgive(&self, live: &Live, probe: &mut Probe) {
        probe.forget();
        self.judge(live, None);
    }

    /// Publishes whether the server answers.
    fn judge(&self, live: &Live, silent_since: Option<Instant>) {
        let was_silent = live.silent_since().is_some();
        live.verdict.send_modify(|verdict| {
            verdict.count += 1;
            verdict.silent_since = silent_since.map(|since| verdict.silent_since.unwrap_or(since));
        });
        if was_silent != silent_since.is_some() {
            self.tell(Notice::SilenceChanged);
        }
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
                self.change_lists(|lists| {
                    let list = lists.get_mut(list);
                    (list.outdated, list.announced) = (true, true);
                });
                reading.ask(list, Urgency::Now);
            }
        }
    }

    fn compare(&self, list: List, listing: &Listing) -> Notice {
        let lists = self.lists.borrow();
        let before = lists.get(list);
        if before.equals(listing) {
            Notice::ListUnchanged { list, was_announced: before.announced }
        } else {
            Notice::ListsChanged(list)
        }
    }

    /// Publishes what was read. What could not be read leaves what was there before, unless the session is no good.
    fn keep(&mut self, live: &Live, (list, read): Read) -> Option<Ended> {
        let notice = match read {
            Ok(listing) => {
                self.core.strikes.clear(live.number);
                let notice = self.compare(list, &listing);
                self.change_lists(|lists| *lists.get_mut(list) = RawList::read(listing));
                notice
            }
            // Many servers that have resources have never heard of templates.
            Err(wire::Error::Rpc(error))
                if list == List::Templates && error.code == code::METHOD_NOT_FOUND =>
            {
                self.change_lists(|lists| *lists.get_mut(list) = RawList::absent());
                Notice::ListsChanged(list)
            }
            Err(error) => {
                // Before anybody is told: a list that nobody may read without signing in is no problem of the list.
                if self.core.is_out(live.number, &error) {
                    return Some(Ended::Failed(error.into()));
                }
                let error = Error::from(error);
                let problem = error.clone();
                self.change_lists(|lists| lists.get_mut(list).problem = Some(problem));
                Notice::ListProblem { list, error }
            }
        };
        self.tell(notice);
        None
    }

    pub(super) fn change_lists(&mut self, change: impl FnOnce(&mut RawLists)) {
        self.lists.send_modify(|lists| {
            let lists = Arc::make_mut(lists);
            change(lists);
            lists.generation += 1;
        });
    }
}
