//! Names of tools and prompts that are exact both ways: each name means one item, in every session.
//!
//! Used by `catalog::compose`, `dispatch::find`, `permission` and the gateway. A tool is shown as
//! `mcp__<server>__<tool>`, both parts reduced to `[A-Za-z0-9_-]`. Two tools could get one name that way, so a name
//! that could be mistaken for another ends in `_` and eight hex digits of a hash of the original names:
//!
//! - every item of two servers with names that could be confused: equal, or one followed by `__` begins the other,
//!   as `a` with tool `b__c` and `a__b` with tool `c`;
//! - every item of one list that is reduced to the text of another item of that list;
//! - every name that is too long, after it is cut;
//! - every name that *looks* as if it ended in a hash. So a name without a hash never equals one with a hash.
//!
//! A bare name has no server in it, and keeps the `.` that the protocol allows in names. Bare names that are
//! unchanged never collide within their list, so only reduced ones get a hash.
//!
//! Names follow from the configured server names and the one list of an item, never from which servers are
//! connected, so a name keeps its meaning. Two items with equal hashes remain; `catalog::compose` shows neither.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write,
    sync::Arc,
};

use sha2::{Digest, Sha256};
use switchboard_config::{
    Scope,
    server_name::{normalize_connector_name, normalize_server_name},
};

/// How many characters `_` and the digits of the hash take.
const HASH_SUFFIX_CHARS: usize = 9;

/// A form in which names are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameStyle {
    /// `mcp__<server>__<tool>`, at most 64 characters.
    Full,
    /// `<server>__<tool>`, at most 46 characters: clients add a prefix of their own.
    Gateway,
    /// `<tool>`, at most the 128 characters that the protocol allows, reduced to `[A-Za-z0-9_.-]`; for a view of
    /// one server.
    Bare,
}

/// A configured server, connected or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfiguredServer<'a> {
    /// The server's name.
    pub name: &'a str,
    /// The scope of the server's entry.
    pub scope: Scope,
}

/// The configured servers that could be mistaken for one another.
#[derive(Debug, Clone, Default)]
pub struct NameCollisions {
    /// The normalised names of those servers.
    crowded: HashSet<String>,
}

/// The names of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    raw: String,
    normal: String,
    is_crowded: bool,
}

/// The parts that the names of one item are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemLabel {
    server: Arc<ServerName>,
    normal: String,
    /// The bare name, where it differs from `normal`.
    bare: Option<String>,
    /// Whether the bare name differs from the server's name for the item.
    is_reduced: bool,
    /// Whether another item of the list is reduced to an equal text.
    has_twin: bool,
    hash: [u8; 4],
}

/// Normalises a server's name for tool names and rules.
pub fn normalize_configured_server(configured: ConfiguredServer<'_>) -> String {
    match configured.scope {
        Scope::Connectors => normalize_connector_name(configured.name),
        _ => normalize_server_name(configured.name),
    }
}

// === impl NameCollisions ===

impl NameCollisions {
    /// Compares all configured servers, in any order. Duplicates change nothing.
    pub fn among_servers<'a>(configured: impl IntoIterator<Item = ConfiguredServer<'a>>) -> Self {
        let heads: BTreeSet<_> = configured
            .into_iter()
            .map(|server| (format!("{}__", normalize_configured_server(server)), server.name))
            .collect();
        let mut crowded = HashSet::new();
        // In sorted order, every name that begins with a head directly follows that head.
        let mut first: Option<&str> = None;
        for (head, _) in &heads {
            match first {
                Some(first) if head.starts_with(first) => {
                    crowded.extend([first, head].map(|head| head[..head.len() - 2].to_owned()));
                }
                _ => first = Some(head),
            }
        }
        Self { crowded }
    }

    /// Returns the names of one server.
    pub fn server(&self, configured: ConfiguredServer<'_>) -> Arc<ServerName> {
        let normal = normalize_configured_server(configured);
        let is_crowded = self.crowded.contains(&normal);
        Arc::new(ServerName { raw: configured.name.to_owned(), normal, is_crowded })
    }
}

// === impl ServerName ===

impl ServerName {
    /// Whether another configured server could be mistaken for this one.
    pub(super) fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// Restores a server of a catalog from another process.
    pub(super) fn from_remote(raw: String, normal: String, is_crowded: bool) -> Arc<Self> {
        Arc::new(Self { raw, normal, is_crowded })
    }

    /// Returns the name as configured.
    pub fn as_str(&self) -> &str {
        &self.raw
    }

    /// Returns the name as it stands in tool names and rules.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Makes the labels of all items of one list, in the list's order.
    pub fn labels<'i>(
        self: &Arc<Self>,
        items: impl IntoIterator<Item = &'i str>,
    ) -> Vec<ItemLabel> {
        let mut labels: Vec<_> = items.into_iter().map(|item| self.label(item)).collect();
        let mut count: HashMap<&str, usize> = HashMap::with_capacity(labels.len());
        for label in &labels {
            *count.entry(&label.normal).or_default() += 1;
        }
        let twins: Vec<_> = labels.iter().map(|label| count[&*label.normal] > 1).collect();
        for (label, has_twin) in labels.iter_mut().zip(twins) {
            label.has_twin = has_twin;
        }
        labels
    }

    fn label(self: &Arc<Self>, item: &str) -> ItemLabel {
        let digest =
            Sha256::new().chain_update(&self.raw).chain_update([0]).chain_update(item).finalize();
        let hash = [digest[0], digest[1], digest[2], digest[3]];
        let (normal, bare) = (normalize_server_name(item), reduce_bare(item));
        let is_reduced = bare != item;
        let bare = (bare != normal).then_some(bare);
        ItemLabel { server: self.clone(), normal, bare, is_reduced, has_twin: false, hash }
    }
}

// === impl ItemLabel ===

impl ItemLabel {
    /// Returns the item's server.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Returns the item's name as it stands in rules.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Whether another item of the list is reduced to an equal text.
    pub(super) fn has_twin(&self) -> bool {
        self.has_twin
    }

    /// Makes the label of one item without its whole list.
    pub(super) fn for_single_item(server: &Arc<ServerName>, item: &str, has_twin: bool) -> Self {
        Self { has_twin, ..server.label(item) }
    }

    /// Returns `mcp__<server>__<tool>`, neither cut nor marked: rules and globs are written against it.
    pub fn full_name(&self) -> String {
        self.plain(NameStyle::Full)
    }

    /// Returns the name to show.
    pub fn name(&self, style: NameStyle) -> String {
        let mut name = self.plain(style);
        let is_mistakable = match style {
            NameStyle::Full | NameStyle::Gateway => self.server.is_crowded || self.has_twin,
            NameStyle::Bare => self.has_twin && self.is_reduced,
        };
        if is_mistakable || name.len() > style.limit() || looks_marked(&name) {
            name.truncate(style.limit() - HASH_SUFFIX_CHARS);
            // Writing to a string cannot fail.
            let _ = write!(name, "_{:08x}", u32::from_be_bytes(self.hash));
        }
        name
    }

    fn plain(&self, style: NameStyle) -> String {
        let (server, item) = (&*self.server.normal, &*self.normal);
        match style {
            NameStyle::Full => ["mcp__", server, "__", item].concat(),
            NameStyle::Gateway => [server, "__", item].concat(),
            NameStyle::Bare => self.bare.as_deref().unwrap_or(item).to_owned(),
        }
    }
}

/// Reduces an item's name to the characters of bare names.
fn reduce_bare(item: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    item.chars().map(|c| if is_kept(c) { c } else { '_' }).collect()
}

/// Whether a name ends as if a hash had been appended.
fn looks_marked(name: &str) -> bool {
    let Some((_, [b'_', digits @ ..])) = name.as_bytes().split_last_chunk::<HASH_SUFFIX_CHARS>()
    else {
        return false;
    };
    digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

// === impl NameStyle ===

impl NameStyle {
    /// Every style.
    pub const ALL: [Self; 3] = [Self::Full, Self::Gateway, Self::Bare];

    /// The maximum length of a name in characters.
    pub fn limit(self) -> usize {
        match self {
            Self::Full => 64,
            Self::Gateway => 46,
            Self::Bare => 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of `items` of the first of `servers`.
    fn check(servers: &[&str], items: &[&str], style: NameStyle, expected: &[&str]) {
        let configured = servers.iter().map(|name| ConfiguredServer { name, scope: Scope::User });
        let neighbours = NameCollisions::among_servers(configured);
        let server = neighbours.server(ConfiguredServer { name: servers[0], scope: Scope::User });
        let labels = server.labels(items.iter().copied());
        let names: Vec<_> = labels.iter().map(|label| label.name(style)).collect();
        assert_eq!(names, expected, "{servers:?} {items:?}");
    }

    #[test]
    fn plain_names_stay_plain() {
        check(
            &["git-hub", "gitlab"],
            &["get_issue", "a.b/c"],
            NameStyle::Full,
            &["mcp__git-hub__get_issue", "mcp__git-hub__a_b_c"],
        );
        check(&["a"], &["x"], NameStyle::Gateway, &["a__x"]);
        check(&["a"], &["x y"], NameStyle::Bare, &["x_y"]);
    }

    #[test]
    fn whoever_could_be_mistaken_is_marked() {
        for neighbour in ["a__b", "a_", "a__"] {
            check(&["a", neighbour], &["x"], NameStyle::Full, &["mcp__a__x_8b86bced"]);
            check(&["a", neighbour], &["x"], NameStyle::Bare, &["x"]);
        }
        check(&["a", "a"], &["x"], NameStyle::Full, &["mcp__a__x"]);
        check(&["a", "a_b", "ab", "b__a"], &["x"], NameStyle::Full, &["mcp__a__x"]);
        check(&["a.b", "a/b"], &["x"], NameStyle::Gateway, &["a_b__x_c6f9c73b"]);
    }

    #[test]
    fn twins_of_a_list_are_all_marked() {
        let items = ["a.b", "c", "a/b"];
        check(&["s"], &items, NameStyle::Gateway, &["s__a_b_407e8e5c", "s__c", "s__a_b_fb3c0e4c"]);
        check(&["s"], &items, NameStyle::Bare, &["a.b", "c", "a_b_fb3c0e4c"]);
        check(&["s"], &["a_b", "a b"], NameStyle::Bare, &["a_b", "a_b_eae83beb"]);
    }

    #[test]
    fn a_name_that_looks_marked_is_marked() {
        check(&["s"], &["x_0123abcd"], NameStyle::Bare, &["x_0123abcd_0a0aab3e"]);
        check(&["s"], &["x_0123ABCD"], NameStyle::Bare, &["x_0123ABCD"]);
        check(&["s"], &["0123abcd"], NameStyle::Bare, &["0123abcd"]);
        check(&["s"], &["0123abcd"], NameStyle::Gateway, &["s__0123abcd_8a886ac9"]);
    }

    #[test]
    fn long_names_are_cut_each_style_by_itself() {
        let tool = "t".repeat(43);
        let name = |style| {
            let server = NameCollisions::default()
                .server(ConfiguredServer { name: "s", scope: Scope::User });
            server.labels([&*tool])[0].name(style)
        };
        assert_eq!(name(NameStyle::Full), format!("mcp__s__{tool}"));
        assert_eq!(name(NameStyle::Gateway), format!("s__{tool}"));
        let tool = "t".repeat(44);
        let server =
            NameCollisions::default().server(ConfiguredServer { name: "s", scope: Scope::User });
        let label = &server.labels([&*tool])[0];
        assert_eq!(label.name(NameStyle::Full), format!("mcp__s__{tool}"));
        assert_eq!(label.name(NameStyle::Gateway).len(), 46);
        assert!(looks_marked(&label.name(NameStyle::Gateway)));
        let (longest, longer) = ("t".repeat(128), "t".repeat(129));
        let labels = server.labels([&*longest, &*longer]);
        assert_eq!(labels[0].name(NameStyle::Bare), longest);
        let cut = labels[1].name(NameStyle::Bare);
        assert!(cut.len() == 128 && looks_marked(&cut), "{cut}");
        assert_eq!(labels[0].name(NameStyle::Full).len(), 64);
    }

    #[test]
    fn only_connectors_are_collapsed() {
        let normal =
            |scope| normalize_configured_server(ConfiguredServer { name: "_My  App_", scope });
        assert_eq!(normal(Scope::Connectors), "My_App");
        assert_eq!(normal(Scope::Plugin), "_My__App_");
    }
}
