//! The rows of each view: what the search and the filter leave, in the order that the person chose.
//!
//! Used by `act`, `perform`, `update` and `view`. It does not draw, and it changes no data.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use switchboard_core::permission::LastingAnswer;
use switchboard_core::remote::RemoteServer;
use switchboard_core::traffic::TrafficReport;

use super::hub_model::fits;
use super::{HubModel, Item, List, Model, PastCall, ProblemRow, View, problems};
use crate::show;

/// A sort order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the hub lists them: servers as configured, calls newest first.
    Listed,
    Name,
    State,
    Server,
    /// Most calls in the last hour first.
    Calls,
    /// Most tokens first.
    Tokens,
    /// Slowest first.
    Latency,
}

// === impl Order ===

impl Order {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Listed => "as listed",
            Self::Name => "name",
            Self::State => "state",
            Self::Server => "server",
            Self::Calls => "calls",
            Self::Tokens => "tokens",
            Self::Latency => "latency",
        }
    }
}

// === impl View ===

impl View {
    /// The sort orders of the view, the usual one first.
    pub(crate) fn orders(self) -> &'static [Order] {
        match self {
            Self::Servers => {
                &[Order::Listed, Order::Name, Order::State, Order::Calls, Order::Latency]
            }
            Self::Tools => &[Order::Listed, Order::Name, Order::Tokens, Order::Calls],
            Self::Prompts | Self::Resources => &[Order::Listed, Order::Name, Order::Server],
            Self::Calls => &[Order::Listed, Order::Latency, Order::Name],
            Self::Questions | Self::Problems => &[Order::Listed],
        }
    }

    /// Whether several rows can be marked.
    pub(crate) fn can_mark(self) -> bool {
        matches!(self, Self::Servers | Self::Tools | Self::Prompts | Self::Resources)
    }
}

// === impl List ===

impl List {
    pub(crate) fn order(&self, view: View) -> Order {
        view.orders().get(self.order).copied().unwrap_or(Order::Listed)
    }
}

// === impl Model ===

impl Model {
    /// The number of rows of the list that are shown, and of all rows.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        let known = &self.known;
        match self.view {
            View::Servers => (self.servers().len(), known.servers.len()),
            View::Tools => (self.items().len(), known.tools.len()),
            View::Prompts => (self.items().len(), known.prompts.len()),
            View::Resources => (self.items().len(), known.resources.len()),
            View::Questions => {
                let all = known.questions.len() + known.answers.len();
                (self.questions().len() + self.answers().len(), all)
            }
            View::Calls => (self.calls().len(), known.calls.len()),
            View::Problems => (self.troubles().len(), problems::troubles(known).len()),
        }
    }

    /// The search text, in lower case.
    fn sought(&self) -> String {
        self.list().find.text().to_lowercase()
    }

    /// The servers that are shown, in order.
    pub(crate) fn servers(&self) -> Vec<&RemoteServer> {
        let (list, sought) = (self.list(), self.sought());
        let fit = |server: &&RemoteServer| {
            let target = server.entry.as_ref().map(show::target).unwrap_or_default();
            let transport = server.transport.as_deref().unwrap_or_default();
            let words = [&*server.name, server.scope.name(), &server.state, transport, &target];
            let is_state =
                list.filter.as_ref().is_none_or(|state| server_state(server) == state.as_str());
            is_state && fits(&words.join(" ").to_lowercase(), &sought)
        };
        let mut servers: Vec<_> = self.known.servers.iter().filter(fit).collect();
        match list.order(self.view) {
            Order::Name => servers.sort_by_cached_key(|server| server.name.to_lowercase()),
            Order::State => servers.sort_by_key(|server| state_rank(server_state(server))),
            Order::Calls => servers.sort_by_key(|server| {
                Reverse(self.known.server_traffic(&server.name).map(|of| of.counts.calls))
            }),
            Order::Latency => servers.sort_by_key(|server| {
                let traffic = self.known.server_traffic(&server.name);
                Reverse(traffic.and_then(|of| of.counts.latency).map(|of| of.p99_micros))
            }),
            Order::Listed | Order::Server | Order::Tokens => {}
        }
        servers
    }

    /// The tools, prompts or resources that are shown, in order.
    pub(crate) fn items(&self) -> Vec<&Item> {
        let sought = self.sought();
        let all = match self.view {
            View::Prompts => &self.known.prompts,
            View::Resources => &self.known.resources,
            _ => &self.known.tools,
        };
        let mut items: Vec<_> = all.iter().filter(|item| item.fits(&sought)).collect();
        match self.list().order(self.view) {
            Order::Name => items.sort_by_cached_key(|item| item.title.to_lowercase()),
            Order::Server => items.sort_by(|one, other| one.server.cmp(&other.server)),
            Order::Tokens => items.sort_by_key(|item| Reverse(item.cost)),
            Order::Calls => {
                let tools = self.known.traffic.tools.iter();
                let calls: HashMap<&str, u64> =
                    tools.map(|tool| (&*tool.name, tool.counts.calls)).collect();
                items.sort_by_key(|item| Reverse(calls.get(&*item.name).copied()));
            }
            Order::Listed | Order::State | Order::Latency => {}
        }
        items
    }

    /// The past calls that are shown, in order.
    pub(crate) fn calls(&self) -> Vec<&PastCall> {
        let (list, sought) = (self.list(), self.sought());
        let fit = |call: &&PastCall| {
            let line = &call.line;
            let (decision, rule) = (line.decision.as_deref(), line.rule.as_deref());
            let words = [
                &*line.name,
                &line.server,
                &line.client,
                &line.outcome,
                &line.method,
                decision.unwrap_or_default(),
                rule.unwrap_or_default(),
            ];
            list.filter.as_ref().is_none_or(|outcome| line.outcome == *outcome)
                && (sought.is_empty() || fits(&words.join(" ").to_lowercase(), &sought))
        };
        let mut calls: Vec<_> = self.known.calls.iter().filter(fit).collect();
        match list.order(self.view) {
            Order::Latency => calls.sort_by_key(|call| Reverse(call.line.micros)),
            Order::Name => calls.sort_by(|one, other| one.line.name.cmp(&other.line.name)),
            _ => {}
        }
        calls
    }

    /// The questions that match the search.
    pub(crate) fn questions(&self) -> Vec<&super::WaitingQuestion> {
        let sought = self.sought();
        let fit = |asked: &&super::WaitingQuestion| {
            let words = [&*asked.server, asked.text("/kind"), asked.text("/tool")];
            let words = [words.join(" "), asked.text("/params/message").to_owned()].join(" ");
            fits(&words.to_lowercase(), &sought)
        };
        self.known.questions.iter().filter(fit).collect()
    }

    /// The remembered answers that match the search; the queue shows them below the questions.
    pub(crate) fn answers(&self) -> Vec<&LastingAnswer> {
        let sought = self.sought();
        let fit = |answer: &&LastingAnswer| {
            fits(&[&*answer.server, &answer.tool].join(" ").to_lowercase(), &sought)
        };
        self.known.answers.iter().filter(fit).collect()
    }

    /// The problems that match the search.
    pub(crate) fn troubles(&self) -> Vec<ProblemRow<'_>> {
        let sought = self.sought();
        let fit = |row: &ProblemRow<'_>| {
            fits(&[row.title(), row.why()].join(" ").to_lowercase(), &sought)
        };
        problems::troubles(&self.known).into_iter().filter(fit).collect()
    }

    pub(crate) fn chosen_server(&self) -> Option<&str> {
        let servers = self.servers();
        let chosen = self.list().chosen(servers.len());
        servers.get(chosen).map(|server| &*server.name)
    }

    /// The remembered answer under the cursor.
    pub(crate) fn chosen_answer(&self) -> Option<&LastingAnswer> {
        if self.view != View::Questions {
            return None;
        }
        let chosen = self.list().chosen(self.lengths().0);
        let row = chosen.checked_sub(self.questions().len())?;
        self.answers().get(row).copied()
    }

    /// What names each row, whatever the order.
    pub(super) fn row_keys(&self) -> Vec<String> {
        match self.view {
            View::Servers => self.servers().iter().map(|server| server.name.clone()).collect(),
            View::Tools | View::Prompts | View::Resources => {
                self.items().iter().map(|item| item.name.clone()).collect()
            }
            View::Questions => {
                let questions = self.questions().into_iter().map(|asked| asked.id.clone());
                questions.chain(self.answers().iter().map(|answer| answer.id.clone())).collect()
            }
            View::Calls => {
                let key = |call: &&PastCall| format!("{} {}", call.line.time, call.line.name);
                self.calls().iter().map(key).collect()
            }
            View::Problems => self.troubles().iter().map(ProblemRow::title).collect(),
        }
    }

    /// The key of the row under the cursor.
    pub(super) fn chosen_key(&self) -> Option<String> {
        let keys = self.row_keys();
        let chosen = self.list().chosen(keys.len());
        keys.into_iter().nth(chosen)
    }

    /// Changes the data or the order, and leaves the cursor on its row. On the first row it stays on top.
    pub(super) fn keep_cursor<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let key = if self.list().chosen(usize::MAX) > 0 { self.chosen_key() } else { None };
        let changed = change(self);
        let row = key.and_then(|key| self.row_keys().iter().position(|other| *other == key));
        if let Some(row) = row {
            self.list_mut().choose(row);
        }
        changed
    }

    /// Sorts by the next order of the view.
    pub(super) fn sort(&mut self) {
        let orders = self.view.orders().len();
        self.keep_cursor(|model| {
            let list = model.list_mut();
            list.order = (list.order + 1) % orders;
        });
    }

    /// Shows only rows of the next state that some row has; after the last one, all rows.
    pub(super) fn filter(&mut self) {
        let states: BTreeSet<&str> = match self.view {
            View::Servers => self.known.servers.iter().map(server_state).collect(),
            View::Calls => self.known.calls.iter().map(|call| &*call.line.outcome).collect(),
            _ => return,
        };
        let next = match &self.list().filter {
            None => states.first().copied(),
            Some(state) => states
                .range::<str, _>((std::ops::Bound::Excluded(&**state), std::ops::Bound::Unbounded))
                .next()
                .copied(),
        };
        let next = next.map(str::to_owned);
        self.keep_cursor(|model| model.list_mut().filter = next);
    }

    /// Marks the row under the cursor, or takes its mark away, and goes to the next row.
    pub(super) fn mark(&mut self) {
        let Some(key) = self.chosen_key().filter(|_| self.view.can_mark()) else { return };
        let marked = &mut self.list_mut().marked;
        if !marked.remove(&key) {
            marked.insert(key);
        }
        self.go(super::Move::Down);
    }

    /// What differs from the usual list, on one line; `None` for the usual list.
    pub(crate) fn list_summary(&self) -> Option<String> {
        let list = self.list();
        let order = list.order(self.view);
        let parts = [
            (order != Order::Listed).then(|| format!("sorted by {}", order.label())),
            list.filter.as_ref().map(|state| format!("only {}", show::state_word(state))),
            Some(list.marked.len())
                .filter(|marked| *marked > 0)
                .map(|marked| format!("{marked} marked")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{} · Esc resets", parts.join(" · ")))
    }
}

/// The state of a server as one word; a connected server may be silent.
pub(crate) fn server_state(server: &RemoteServer) -> &str {
    if server.silent_since.is_some() { "silent" } else { &server.state }
}

/// The place of a state in the order by state: what needs a person comes first.
fn state_rank(state: &str) -> usize {
    const RANKS: [&str; 9] = [
        "failed",
        "silent",
        "needs-auth",
        "awaiting-approval",
        "invalid",
        "blocked",
        "pending",
        "connected",
        "idle",
    ];
    RANKS.iter().position(|ranked| *ranked == state).unwrap_or(RANKS.len())
}

// === impl HubModel ===

impl HubModel {
    /// Forgets what only a running hub knows: without one, nothing is connected and nothing is asked.
    pub(super) fn forget_hub(&mut self) {
        self.questions.clear();
        self.problems.clear();
        self.approvals.clear();
        self.processes = None;
        self.traffic = TrafficReport::default();
        self.hub = super::HubSummary::default();
        for server in &mut self.servers {
            "unknown".clone_into(&mut server.state);
            server.stats = None;
            server.silent_since = None;
            server.why = None;
            server.error = None;
        }
    }
}
