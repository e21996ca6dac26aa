//! The UI's copy of the hub's state: responses of the admin API, as far as the UI shows them.
//!
//! Used by `view` and `act`, which read it; only events write it (`update`). Unknown members are skipped, as the API
//! requires. It does not send requests (`ui::link` does).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use switchboard_core::audit::AuditCallLine;
use switchboard_core::catalog::{RemoteCatalog, RemoteCatalogItem};
use switchboard_core::permission::LastingAnswer;
use switchboard_core::problem::EngineProblem;
use switchboard_core::remote::RemoteServer;
use switchboard_core::traffic::{ServerTraffic, TrafficReport};
use switchboard_wire::json::Raw;

/// The most past calls that are kept.
pub(crate) const MAX_CALLS_KEPT: usize = 2_000;

/// The state of the hub. Only events write it.
#[derive(Debug, Default)]
pub(crate) struct HubModel {
    pub(crate) link: LinkState,
    pub(crate) hub: HubSummary,
    pub(crate) servers: Vec<RemoteServer>,
    pub(crate) problems: Vec<EngineProblem>,
    pub(crate) approvals: Vec<ApprovalCase>,
    pub(crate) tools: Vec<Item>,
    pub(crate) prompts: Vec<Item>,
    pub(crate) resources: Vec<Item>,
    /// Questions, oldest first.
    pub(crate) questions: Vec<WaitingQuestion>,
    /// Answers that are remembered beyond a session.
    pub(crate) answers: Vec<LastingAnswer>,
    /// Past calls, newest first.
    pub(crate) calls: Vec<PastCall>,
    /// The counted calls of the last hour.
    pub(crate) traffic: TrafficReport,
    /// The processes of the server in the open window.
    pub(crate) processes: Option<(String, Vec<Process>)>,
}

/// The state of the link to the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum LinkState {
    #[default]
    Opening,
    Open,
    /// The hub is gone, and the link looks for one.
    Lost {
        why: String,
    },
}

/// The hub's status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HubSummary {
    pub(crate) version: String,
    pub(crate) pid: u32,
    pub(crate) clients: usize,
    pub(crate) attached: Vec<Client>,
    pub(crate) calls: usize,
}

/// A client of the hub.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Client {
    pub(crate) session: String,
    pub(crate) name: String,
    /// The number of calls to each server.
    pub(crate) servers: BTreeMap<String, u64>,
}

/// One process of a server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    #[serde(default)]
    pub(crate) parent: Option<u32>,
    #[serde(default)]
    pub(crate) name: String,
    /// Resident memory in bytes.
    #[serde(default)]
    pub(crate) resident: u64,
}

/// A past call.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PastCall {
    /// The id under which the hub still has parameters and result, if it does.
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(flatten)]
    pub(crate) line: AuditCallLine,
}

/// An item that awaits approval.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ApprovalCase {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) at: Value,
    pub(crate) content: Value,
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    /// The secrets that the item gets once it is approved.
    #[serde(default)]
    pub(crate) secrets: Vec<String>,
    pub(crate) digest: String,
}

/// A field that differs from the approved content.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Change {
    pub(crate) field: String,
    #[serde(default)]
    pub(crate) before: Option<Value>,
    #[serde(default)]
    pub(crate) after: Option<Value>,
}

/// A question that waits.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingQuestion {
    pub(crate) id: String,
    pub(crate) server: String,
    /// The client that made the waiting call, where the hub names it.
    #[serde(default)]
    pub(crate) client: Option<String>,
    pub(crate) about: Value,
}

/// A tool, prompt, resource or resource template.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The full name, or the URI.
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) cost: Option<usize>,
    pub(crate) kind: ItemKind,
    /// The definition as the server sent it.
    pub(crate) raw: Raw,
    /// The text to search, in lower case.
    words: String,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Tool,
    Prompt,
    Resource,
    Template,
}

/// The items of all servers.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Item>,
    pub(crate) prompts: Vec<Item>,
    pub(crate) resources: Vec<Item>,
}

/// The error of a request to the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFailure {
    pub(crate) title: String,
    pub(crate) hint: Option<String>,
}

// === impl HubModel ===

impl HubModel {
    pub(crate) fn server(&self, name: &str) -> Option<&RemoteServer> {
        self.servers.iter().find(|server| server.name == name)
    }

    pub(crate) fn question(&self, id: &str) -> Option<&WaitingQuestion> {
        self.questions.iter().find(|asked| asked.id == id)
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Item> {
        self.prompts.iter().find(|prompt| prompt.name == name)
    }

    /// Whether a server offers completions.
    pub(crate) fn completes(&self, server: &str) -> bool {
        self.server(server).is_some_and(|server| server.offers.iter().any(|o| o == "completions"))
    }

    /// The clients that have called a server.
    pub(crate) fn users(&self, server: &str) -> Vec<&str> {
        let users = self.hub.attached.iter().filter(|client| client.servers.contains_key(server));
        users
            .map(|client| if client.name.is_empty() { &*client.session } else { &*client.name })
            .collect()
    }

    /// The calls of a server in the last hour, if there were any.
    pub(crate) fn server_traffic(&self, name: &str) -> Option<&ServerTraffic> {
        self.traffic.servers.iter().find(|traffic| traffic.server == name)
    }

    /// The processes of a server, as far as they are known.
    pub(crate) fn processes(&self, server: &str) -> &[Process] {
        match &self.processes {
            Some((of, processes)) if of == server => processes,
            _ => &[],
        }
    }

    /// Adds a question, unless it is known.
    pub(crate) fn add_question(&mut self, asked: WaitingQuestion) {
        if self.question(&asked.id).is_none() {
            self.questions.push(asked);
        }
    }

    /// Adds a call at the front.
    pub(crate) fn add_call(&mut self, call: PastCall) {
        self.calls.insert(0, call);
        self.calls.truncate(MAX_CALLS_KEPT);
    }
}

// === impl Item ===

impl Item {
    fn new(told: RemoteCatalogItem, kind: ItemKind) -> Self {
        let text = |key| told.item.get(key).ok().flatten().and_then(|raw| raw.to_text());
        let address = text("uri").or_else(|| text("uriTemplate"));
        let name = told.name.clone().or_else(|| address.clone()).unwrap_or_default();
        let title = text("title").or_else(|| text("name")).unwrap_or_else(|| name.clone());
        let description = text("description").or(address).unwrap_or_default();
        let words = [&*name, &told.server, &title, &description].join(" ").to_lowercase();
        let RemoteCatalogItem { server, cost, item: raw, .. } = told;
        Self { name, server, title, description, cost, kind, raw, words }
    }

    /// Whether the item contains every word of `typed`, which is in lower case.
    pub(crate) fn fits(&self, typed: &str) -> bool {
        fits(&self.words, typed)
    }
}

/// Whether `words` contains every word of `typed`; both are in lower case.
pub(crate) fn fits(words: &str, typed: &str) -> bool {
    typed.split_whitespace().all(|word| words.contains(word))
}

// === impl Catalog ===

impl From<RemoteCatalog> for Catalog {
    fn from(told: RemoteCatalog) -> Self {
        let all = |items: Vec<RemoteCatalogItem>, kind| -> Vec<Item> {
            items.into_iter().map(|item| Item::new(item, kind)).collect()
        };
        let mut resources = all(told.resources, ItemKind::Resource);
        resources.extend(all(told.templates, ItemKind::Template));
        Self {
            tools: all(told.tools, ItemKind::Tool),
            prompts: all(told.prompts, ItemKind::Prompt),
            resources,
        }
    }
}

// === impl RequestFailure ===

impl RequestFailure {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), hint: None }
    }

    /// The error on one line.
    pub(crate) fn line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.title),
            None => self.title.clone(),
        }
    }
}
