//! Lists of a server, read page by page, with each item left as text.
//!
//! Used by `core::connection` and `switchboard probe` through `Client::list`. Items are not decoded
//! here, so one bad item never costs the others. A list that does not end, or that repeats a
//! cursor, stops at a bound and reports it. It does not cache (`core::connection::lists`).

use std::{borrow::Cow, collections::HashMap, collections::HashSet, sync::Arc, time::Duration};

use super::{deep_items, headers, session::ClientSession, tool_facts::ToolFacts};
use crate::{
    Era, Error,
    json::{JsonEdit, JsonKind, Raw, decode_string},
    meta::method,
};

/// The kinds of lists that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
    /// Resource templates.
    Templates,
}

/// The members beside the items that the protocol defines.
const KNOWN_MEMBERS: [&str; 5] = ["nextCursor", "ttlMs", "cacheScope", "resultType", META];
/// The member with metadata. What the protocol itself keeps there is for this client.
const META: &str = "_meta";
/// The beginning of the protocol's own keys in metadata.
const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";
/// The most other members of a list that are kept.
const MAX_OTHER_MEMBERS: usize = 8;
/// The most bytes of the name and of the value of such a member; a longer value is not kept.
const MAX_MEMBER_NAME_BYTES: usize = 80;
const MAX_MEMBER_BYTES: usize = 16 * 1024;

/// A complete list.
#[derive(Debug, Clone, Default)]
pub struct FetchedList {
    /// The items, unchanged.
    pub items: Vec<Raw>,
    /// Items that were left out, and why.
    pub excluded: Vec<ExcludedItem>,
    /// How long the list stays fresh: the shortest TTL of its pages. `None`: the server named none.
    pub ttl: Option<Duration>,
    /// Whether users may share the list; `false` unless every page says `public`.
    pub public: bool,
    /// Why the list is incomplete, if it is.
    pub cut_short: Option<ListTruncation>,
    /// The members beside the items that the protocol does not define, and metadata that is not the protocol's own, up
    /// to a limit: each with the first value that a page has. `None`: a value that is too long.
    pub other_members: Vec<(String, Option<Raw>)>,
}

/// An item that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedItem {
    /// The item's name, if it has one.
    pub name: String,
    /// Why the item cannot be used.
    pub reason: String,
}

/// Why a list was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListTruncation {
    /// The list has more pages than the limit.
    #[error("the list has more than {0} pages")]
    TooManyPages(usize),
    /// The list is larger than the limit in bytes.
    #[error("the list is larger than {0} bytes")]
    TooLarge(usize),
    /// A cursor came twice.
    #[error("the list's cursor goes in circles")]
    Circle,
}

// === impl ListKind ===

impl ListKind {
    /// The method that reads the list.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::Templates => method::TEMPLATES_LIST,
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The server capability that announces the list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

impl ClientSession {
    /// Reads a complete list. Of tools, it stores the [`ToolFacts`] that calls need.
    pub(crate) async fn list(self: &Arc<Self>, list: ListKind) -> Result<FetchedList, Error> {
        let mut listing = self.read_list(list.method(), list.member()).await?;
        if list == ListKind::Tools {
            self.keep_tools(&mut listing);
        }
        Ok(listing)
    }

    /// Reads all pages that the method `asked` returns, with items in `member`.
    pub(crate) async fn read_list(
        self: &Arc<Self>,
        asked: &str,
        member: &str,
    ) -> Result<FetchedList, Error> {
        let mut listing = FetchedList { public: true, ..FetchedList::default() };
        let mut seen = HashSet::new();
        let mut cursor: Option<Raw> = None;
        let mut bytes = 0;
        for page in 0.. {
            if page == self.options.limits.max_pages {
                listing.cut_short = Some(ListTruncation::TooManyPages(page));
                break;
            }
            let params = cursor
                .as_ref()
                .map(|cursor| Raw::from_trusted(format!(r#"{{"cursor":{cursor}}}"#).into()));
            let (result, is_shallow) = match self.request(asked, params.as_ref()).await {
                Err(Error::Malformed(malformed)) => {
                    let shallow = deep_items::remove_deep_items(&malformed);
                    let shallow = shallow.ok_or(Error::Malformed(malformed))?;
                    listing.excluded.extend(shallow.excluded);
                    (shallow.result, true)
                }
                result => (result?, false),
            };
            bytes += result.as_str().len();
            if bytes > self.options.limits.max_list {
                listing.cut_short = Some(ListTruncation::TooLarge(self.options.limits.max_list));
                break;
            }
            cursor = listing.add_page(asked, member, &result)?;
            if is_shallow {
                listing.items.retain(|item| item.kind() != JsonKind::Null);
            }
            match &cursor {
                None => break,
                Some(next) if !seen.insert(next.as_str().to_owned()) => {
                    listing.cut_short = Some(ListTruncation::Circle);
                    break;
                }
                Some(_) => {}
            }
        }
        Ok(listing)
    }

    /// Stores the [`ToolFacts`] of each tool, and removes tools that cannot be called.
    fn keep_tools(&self, listing: &mut FetchedList) {
        let with_headers = self.era() == Era::Modern && self.channel.is_http();
        let mut book = HashMap::new();
        listing.items.retain(|tool| {
            let name = tool.get("name").ok().flatten().and_then(|name| name.to_text());
            let headers =
                if with_headers { headers::header_annotations(tool) } else { Ok(Vec::new()) };
            match (headers, name) {
                (Ok(headers), name) => {
                    let facts = ToolFacts { headers, needs_task: ToolFacts::needs_task(tool) };
                    name.map(|name| book.insert(name, Arc::new(facts)));
                    true
                }
                (Err(reason), name) => {
                    let name = name.unwrap_or_default();
                    tracing::warn!(tool = %name, %reason, "a tool was left out");
                    listing.excluded.push(ExcludedItem { name, reason });
                    false
                }
            }
        });
        self.tools.replace(book);
    }
}

// === impl FetchedList ===

impl FetchedList {
    /// Adds a page. Returns the cursor of the next page.
    fn add_page(&mut self, asked: &str, items: &str, result: &Raw) -> Result<Option<Raw>, Error> {
        let member =
            |key: &str| result.get(key).map_err(|error| Error::invalid(asked, error.to_string()));
        self.keep_other_members(items, result);
        let items = member(items)?
            .filter(|found| found.kind() == JsonKind::Array)
            .ok_or_else(|| Error::invalid(asked, format!("`{items}` is not a list")))?;
        self.items.extend(items.elements());
        if let Some(ttl) = member("ttlMs")?.and_then(|ttl| ttl.decode::<i64>().ok()) {
            let ttl = Duration::from_millis(u64::try_from(ttl).unwrap_or(0));
            self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        }
        self.public &= member("cacheScope")?.is_some_and(|scope| scope.as_str() == "\"public\"");
        // Some servers send an empty cursor on the last page.
        let next = member("nextCursor")?.filter(|cursor| cursor.kind() == JsonKind::String);
        Ok(next.filter(|cursor| cursor.as_str() != "\"\""))
    }

    /// Keeps the members that the protocol does not define.
    fn keep_other_members(&mut self, items: &str, result: &Raw) {
        for (key, value) in result.entries() {
            let Some(name) = decode_string(key) else { continue };
            let value = if name == META { other_metadata(&value) } else { Some(value) };
            let is_known = name == items || (name != META && KNOWN_MEMBERS.contains(&&*name));
            let is_new = self.other_members.iter().all(|(known, _)| *known != name);
            let has_room =
                self.other_members.len() < MAX_OTHER_MEMBERS && name.len() <= MAX_MEMBER_NAME_BYTES;
            if let (false, true, true, Some(value)) = (is_known, is_new, has_room, value) {
                let value = Some(value).filter(|value| value.as_str().len() <= MAX_MEMBER_BYTES);
                self.other_members.push((name.into_owned(), value));
            }
        }
    }
}

/// The metadata without the protocol's own; `None` if there is no other.
fn other_metadata(meta: &Raw) -> Option<Raw> {
    let own = meta.entries().filter_map(|(key, _)| decode_string(key));
    let own: Vec<String> =
        own.filter(|key| key.starts_with(PROTOCOL_PREFIX)).map(Cow::into_owned).collect();
    let paths: Vec<[&str; 1]> = own.iter().map(|key| [key.as_str()]).collect();
    let edits: Vec<_> = paths.iter().map(|path| JsonEdit::remove(path)).collect();
    let other = meta.with_edits(&edits).ok()?;
    other.members().next().is_some().then_some(other)
}
