//! One session of a connection: handles messages of the server, keeps the lists up to date and does requested work.
//!
//! Part of [`ConnectionTask`]; used by `connection::task`. It does not connect or reconnect (`connection::task`
//! does).

use std::sync::{Arc, atomic::Ordering};

use switchboard_wire::{
    self as wire,
    client::{FetchedList, InboxEvent, ListKind, ServerInbox},
    envelope::code,
};
use tokio::time::Instant;

use super::{
    ConnectionError,
    list_reader::{ListReadResult, ListReader},
    listener::ConnectionEvent,
    lists::{ALL_LISTS, RawList, RawLists},
    liveness::{Probe, ProbeEvent},
    state::{ConnectionState, LiveSession},
    strikes::{self, FailureWeight},
    task::{AttemptProgress, ConnectionTask, EndReason},
    task_requests::ReadUrgency,
};

// === impl ConnectionTask ===

impl ConnectionTask {
    /// Runs the session until it ends, and closes it.
    pub(super) async fn session(
        &mut self,
        live: &Arc<LiveSession>,
        inbox: ServerInbox,
    ) -> EndReason {
        self.core.tally.record_connect();
        self.core.is_overdue.store(false, Ordering::Relaxed);
        self.core.strikes.begin(live.number);
        self.publish(ConnectionState::Connected(live.clone()));
        let ended = self.run_session(live, inbox).await;
        match &ended {
            EndReason::Stopped | EndReason::Idle => {}
            EndReason::Requested => self.publish_pending(),
            EndReason::SignInChanged => {
                self.forget_session();
                self.publish_pending();
            }
            EndReason::Failed(error) => {
                let has_answered = self.core.strikes.has_answered(live.number);
                let reached =
                    if has_answered { AttemptProgress::Service } else { AttemptProgress::Session };
                self.publish_failure(error.clone(), reached);
            }
        }
        // The lists of a server that stops count until it is started again.
        match ended {
            EndReason::Idle => self.change_lists(RawLists::mark_unconfirmed),
            _ => self.change_lists(RawLists::mark_stale),
        }
        let goodbye = self.core.shared.timing.goodbye;
        if tokio::time::timeout(goodbye, live.client.close()).await.is_err() {
            tracing::warn!(server = %self.core.spec.server, "a session that was closed goes on");
        }
        ended
    }

    async fn run_session(&mut self, live: &Arc<LiveSession>, mut inbox: ServerInbox) -> EndReason {
        let between = self.core.shared.timing.between_lists;
        let mut reading = ListReader::new(live.client.clone(), between);
        let mut probe = Probe::new(live.client.clone(), &self.core.shared.timing);
        self.read_all(live, &mut reading);
        let core = self.core.clone();
        let mut sign_in_changed = core.spec.credentials.sign_in_changed(live.sign_in);
        loop {
            if let Some(ended) = self.handle_requests(live, &mut reading) {
                return ended;
            }
            self.check_if_asked(live, &mut probe);
            let idle_check = sleep_until(self.idle_check_at(live));
            tokio::select! {
                () = core.stop.cancelled() => return EndReason::Stopped,
                () = &mut sign_in_changed => return EndReason::SignInChanged,
                () = core.requests.changed() => {}
                () = idle_check => if let Some(ended) = self.end_if_idle(live) {
                    return ended;
                },
                read = reading.next() => if let Some(ended) = self.publish_list(live, read) {
                    return ended;
                },
                probed = probe.next() => if let Some(ended) = self.handle_probe(live, probed, &mut probe, &reading) {
                    return ended;
                },
                incoming = inbox.next() => match incoming {
                    Ok(incoming) => self.handle_incoming(live, incoming, &mut reading),
                    Err(error) => return EndReason::Failed(error.into()),
                },
            }
        }
    }

    /// Does the requested work. Returns a reason to end the session, if one was requested.
    fn handle_requests(&self, live: &LiveSession, reading: &mut ListReader) -> Option<EndReason> {
        let mut asked = self.core.requests.lock();
        (asked.wanted, asked.looked_at) = (false, false);
        if asked.reconnect {
            return Some(EndReason::Requested);
        }
        if asked.sign_in_changed.take() == Some(live.number) {
            return Some(EndReason::SignInChanged);
        }
        for (list, urgency) in std::mem::take(&mut asked.refresh) {
            if live.facts.has_capability(&[list.capability()]) {
                reading.ask(list, urgency);
            }
        }
        // Failures of an earlier session do not count.
        let (_, error) = asked.lost.take().filter(|(number, _)| *number == live.number)?;
        Some(EndReason::Failed(error))
    }

    fn handle_incoming(
        &mut self,
        live: &LiveSession,
        incoming: InboxEvent,
        reading: &mut ListReader,
    ) {
        let notice = match incoming {
            InboxEvent::ListChanged(list) => return self.list_changed(live, list, reading),
            InboxEvent::ResourceUpdated { uri, params } => {
                ConnectionEvent::ResourceUpdated { uri, params }
            }
            InboxEvent::Log(message) => ConnectionEvent::Log(message),
            InboxEvent::ElicitationComplete(params) => ConnectionEvent::ElicitationComplete(params),
            InboxEvent::Question(question) => ConnectionEvent::Question(question),
            InboxEvent::Withdrawn { key } => ConnectionEvent::Withdrawn { key },
            InboxEvent::Notification(notification) => ConnectionEvent::Other(notification),
            InboxEvent::Problem(error) => ConnectionEvent::Unreadable(error.into()),
        };
        self.tell(notice);
    }

    // --- liveness

    fn check_if_asked(&self, live: &LiveSession, probe: &mut Probe) {
        if !std::mem::take(&mut self.core.requests.lock().checked) {
            return;
        }
        match probe.late_since() {
            Some(since) if !self.has_answered_since(live, since) => {
                self.publish_liveness(live, Some(since));
            }
            Some(_) => self.mark_answering(live, probe),
            None => probe.ask(),
        }
    }

    fn handle_probe(
        &self,
        live: &LiveSession,
        probed: ProbeEvent,
        probe: &mut Probe,
        reading: &ListReader,
    ) -> Option<EndReason> {
        match probed {
            ProbeEvent::Due => self.probe_if_due(live, probe, reading),
            ProbeEvent::Late(since) if self.has_answered_since(live, since) => {
                self.mark_answering(live, probe);
            }
            ProbeEvent::Late(since) => self.publish_liveness(live, Some(since)),
            ProbeEvent::Answered(Ok(()), took) => {
                self.core.strikes.clear(live.number);
                live.note_answer_time(took);
                self.mark_answering(live, probe);
            }
            ProbeEvent::Answered(Err(error), took) => match strikes::failure_weight(&error) {
                FailureWeight::Answered => {
                    live.note_answer_time(took);
                    self.mark_answering(live, probe);
                }
                FailureWeight::Out => return Some(EndReason::Failed(error.into())),
                // A busy server may not have answered; its calls must not be lost.
                FailureWeight::Strike | FailureWeight::None => {
                    self.publish_liveness(live, live.silent_since());
                }
            },
        }
        None
    }

    /// Sends a probe if requests wait and the server has been quiet for a while, or if it is silent.
    fn probe_if_due(&self, live: &LiveSession, probe: &mut Probe, reading: &ListReader) {
        if let Some(since) = probe.late_since() {
            if self.has_answered_since(live, since) {
                self.mark_answering(live, probe);
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

    fn has_answered_since(&self, live: &LiveSession, since: Instant) -> bool {
        self.core.strikes.has_answered_since(live.number, since)
    }

    fn mark_answering(&self, live: &LiveSession, probe: &mut Probe) {
        probe.forget();
        self.publish_liveness(live, None);
    }

    /// Publishes whether the server answers.
    fn publish_liveness(&self, live: &LiveSession, silent_since: Option<Instant>) {
        let was_silent = live.silent_since().is_some();
        live.verdict.send_modify(|verdict| {
            verdict.count += 1;
            verdict.silent_since = silent_since.map(|since| verdict.silent_since.unwrap_or(since));
            verdict.answer_took = verdict.answer_took.filter(|_| silent_since.is_none());
        });
        if was_silent != silent_since.is_some() {
            self.tell(ConnectionEvent::SilenceChanged);
        }
    }

    // --- lists

    fn read_all(&mut self, live: &LiveSession, reading: &mut ListReader) {
        let offered = |list: &ListKind| live.facts.has_capability(&[list.capability()]);
        let (offered, absent): (Vec<_>, Vec<_>) = ALL_LISTS.into_iter().partition(offered);
        let offers_none = offered.is_empty();
        for list in offered {
            reading.ask(list, ReadUrgency::Now);
        }
        let gone: Vec<_> = absent.iter().copied().filter(|list| self.has_items(*list)).collect();
        self.change_lists(|lists| {
            lists.facts = Some(live.facts.clone());
            for list in absent {
                *lists.get_mut(list) = RawList::absent();
            }
        });
        if offers_none {
            self.tell(ConnectionEvent::NoLists);
        }
        for list in gone {
            self.tell(ConnectionEvent::ListsChanged(list));
        }
    }

    /// Whether a list has items.
    pub(super) fn has_items(&self, list: ListKind) -> bool {
        let lists = self.lists.borrow();
        lists.get(list).listing.as_ref().is_some_and(|listing| !listing.items.is_empty())
    }

    fn list_changed(&mut self, live: &LiveSession, list: ListKind, reading: &mut ListReader) {
        // No notification announces changed templates; servers announce changed resources instead.
        let also = (list == ListKind::Resources).then_some(ListKind::Templates);
        for list in std::iter::once(list).chain(also) {
            if live.facts.has_capability(&[list.capability()]) {
                self.change_lists(|lists| {
                    let list = lists.get_mut(list);
                    (list.outdated, list.announced) = (true, true);
                });
                reading.ask(list, ReadUrgency::Now);
            }
        }
    }

    fn compare(&self, list: ListKind, listing: &FetchedList) -> ConnectionEvent {
        let lists = self.lists.borrow();
        let before = lists.get(list);
        if before.equals(listing) {
            ConnectionEvent::ListUnchanged { list, was_announced: before.announced }
        } else {
            ConnectionEvent::ListsChanged(list)
        }
    }

    /// Publishes a list. After a failed read the former list stays, unless the session is broken.
    fn publish_list(
        &mut self,
        live: &LiveSession,
        (list, read): ListReadResult,
    ) -> Option<EndReason> {
        let notice = match read {
            Ok(listing) => {
                self.core.strikes.clear(live.number);
                let notice = self.compare(list, &listing);
                self.change_lists(|lists| *lists.get_mut(list) = RawList::from_listing(listing));
                notice
            }
            // Many servers with resources do not know the method for templates.
            Err(wire::Error::Rpc(error))
                if list == ListKind::Templates && error.code == code::METHOD_NOT_FOUND =>
            {
                self.change_lists(|lists| *lists.get_mut(list) = RawList::absent());
                ConnectionEvent::ListsChanged(list)
            }
            Err(error) => {
                // Before the event: a list that needs a sign-in is no problem of the list.
                if self.core.note_failure(live.number, &error) {
                    return Some(EndReason::Failed(error.into()));
                }
                let error = ConnectionError::from(error);
                let problem = error.clone();
                self.change_lists(|lists| {
                    let list = lists.get_mut(list);
                    (list.problem, list.unconfirmed) = (Some(problem), false);
                });
                ConnectionEvent::ListProblem { list, error }
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

/// Waits until a moment; forever, if there is none.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
