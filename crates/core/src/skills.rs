//! Skills of servers, of the extension `io.modelcontextprotocol/skills`: which servers have them, and their entries.
//!
//! Used by the gateway, the admin API and the command `skills`. Skills are not part of the catalog: they are listed
//! with a call whenever they are wanted, which goes through the one pipeline like any other. It reads no file of a
//! skill and checks no digest (`wire::client::skills`).

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use switchboard_wire::client::skills::Skill;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::{SKILLS_EXTENSION, method};

use crate::engine::WorkspaceSnapshot;
use crate::{CallError, Request, RunningCall};

/// The most pages that are read of one server's skills.
const MAX_SKILL_PAGES: usize = 100;
/// The number of concurrent requests for skills.
const MAX_CONCURRENT_LISTS: usize = 16;
/// How long one page of skills may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The skills that one server lists.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerSkills {
    /// The server's name in the configuration.
    pub server: String,
    /// The entries that obey the rules of the extension, as the server sent them.
    pub skills: Vec<Raw>,
    /// The other entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<ExcludedSkill>,
    /// Why the list is incomplete, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An entry that breaks the rules of the extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedSkill {
    /// The entry's URI, as far as it has one.
    pub uri: String,
    /// The rule that the entry breaks.
    pub reason: String,
}

/// The settings with which a server that is not hidden declares the extension; `None` unless they are an object.
pub fn declared_settings(snapshot: &WorkspaceSnapshot, server: &str) -> Option<Raw> {
    let facts = snapshot.server(server)?.facts.as_ref()?;
    let settings = facts.capabilities.get_path(&["extensions", SKILLS_EXTENSION]).ok()??;
    let is_shown = snapshot.catalog.servers().any(|shown| shown == server);
    Some(settings).filter(|settings| is_shown && settings.as_str().starts_with('{'))
}

/// The servers that are not hidden and declare the extension, in the order of the catalog.
pub fn servers_with_skills(snapshot: &WorkspaceSnapshot) -> impl Iterator<Item = &str> {
    snapshot.catalog.servers().filter(|server| declared_settings(snapshot, server).is_some())
}

/// Lists the skills of all servers that have some, or of `only`, several at the same time.
pub async fn list_all_skills(
    snapshot: &WorkspaceSnapshot,
    only: Option<&str>,
    call: impl Fn(Request) -> RunningCall,
) -> Vec<ServerSkills> {
    let is_wanted = |server: &str| only.is_none_or(|only| only == server);
    let servers: Vec<String> = servers_with_skills(snapshot).map(str::to_owned).collect();
    // Collected first: a stream of lazy futures over borrowed names is not `Send`.
    let listing: Vec<_> = servers
        .into_iter()
        .filter(|server| is_wanted(server))
        .map(|server| list_skills(server, &call))
        .collect();
    stream::iter(listing).buffered(MAX_CONCURRENT_LISTS).collect().await
}

/// Lists the skills of one server, all pages. A page that fails or takes too long ends the list with a problem.
async fn list_skills(server: String, call: impl Fn(Request) -> RunningCall) -> ServerSkills {
    let mut listed = ServerSkills { server, ..ServerSkills::default() };
    let mut cursor: Option<Raw> = None;
    for _ in 0..MAX_SKILL_PAGES {
        let params = Raw::object(cursor.iter().map(|cursor| ("cursor", cursor)));
        let request =
            Request::forward(method::SKILLS_LIST, Some(params)).of_server(&*listed.server);
        let page = tokio::time::timeout(PAGE_TIMEOUT, call(request).outcome()).await;
        let page = match page {
            Ok(Ok(outcome)) => outcome.result,
            Ok(Err(error)) => {
                listed.problem = Some(reason_of(&error));
                return listed;
            }
            Err(_) => {
                let after = PAGE_TIMEOUT.as_secs();
                listed.problem = Some(format!("no answer to `skills/list` within {after} s"));
                return listed;
            }
        };
        listed.add_page(&page);
        let next = page.get("nextCursor").ok().flatten().filter(|next| next.to_text().is_some());
        if next.is_none() {
            return listed;
        }
        if next == cursor {
            listed.problem = Some("it gives the same `nextCursor` again".to_owned());
            return listed;
        }
        cursor = next;
    }
    listed.problem = Some(format!("it has more than {MAX_SKILL_PAGES} pages of skills"));
    listed
}

/// An error and its causes, in one line.
fn reason_of(error: &CallError) -> String {
    switchboard_wire::error_chain(error).join(": ")
}

// === impl ServerSkills ===

impl ServerSkills {
    fn add_page(&mut self, page: &Raw) {
        let entries = page.get("skills").ok().flatten();
        for entry in entries.iter().flat_map(Raw::elements) {
            match Skill::from_entry(&entry) {
                // Detached, since the page may be large.
                Ok(_) => self.skills.push(entry.to_detached()),
                Err(reason) => {
                    let uri = entry.get("uri").ok().flatten().and_then(|uri| uri.to_text());
                    self.excluded.push(ExcludedSkill { uri: uri.unwrap_or_default(), reason });
                }
            }
        }
    }

    /// The skills, read from their entries.
    pub fn read(&self) -> impl Iterator<Item = Skill> {
        self.skills.iter().filter_map(|entry| Skill::from_entry(entry).ok())
    }
}
