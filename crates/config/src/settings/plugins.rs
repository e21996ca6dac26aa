//! The settings of native plugins: workers, timeouts, memory and sandbox.
//!
//! Used by `cli::plugins`. The documentation of members is published in the JSON schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::parse::last_of_each;
use crate::problem::ConfigProblemKind;
use crate::source::ObjectFields;

/// The largest number of workers of one plugin.
const MAX_WORKERS: u64 = 64;

/// How native plugins are run. User and managed settings only.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
pub struct PluginSettings {
    /// How every plugin is run.
    #[schemars(flatten)]
    pub all: PluginTerms,
    /// Settings of single plugins, by the name of the file without `lib` and its extension.
    pub each: BTreeMap<String, PluginTerms>,
}

/// How one plugin is run; absent means the built-in value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
pub struct PluginTerms {
    /// Workers of a plugin that answers one call at a time, 64 at most.
    #[schemars(range(min = 1, max = 64))]
    pub pool: Option<u64>,
    /// Milliseconds without progress after which a call fails.
    #[schemars(range(min = 1))]
    pub deadline_ms: Option<u64>,
    /// The maximum memory of a worker, in bytes.
    #[schemars(range(min = 1))]
    pub memory_bytes: Option<u64>,
    /// The maximum number of files and sockets that a worker may open.
    #[schemars(range(min = 1))]
    pub open_files: Option<u64>,
    /// Whether a worker may read only what programs need to run, write nothing and start nothing. Linux only; elsewhere a
    /// plugin with a sandbox does not run.
    pub sandbox: Option<bool>,
}

// === impl PluginSettings ===

impl PluginSettings {
    pub(crate) fn read(fields: &mut ObjectFields<'_>) -> Self {
        let all = PluginTerms::read(fields);
        let Some(node) = fields.node("each") else {
            return Self { all, each: BTreeMap::new() };
        };
        let what = format!("`each` of {}", fields.what());
        fields.check_names(node, &what);
        let each = last_of_each(node).into_iter().map(|member| {
            let what = format!("`{}` of {what}", member.key);
            (member.key, fields.element(&member.value, &what, PluginTerms::read))
        });
        Self { all, each: each.collect() }
    }

    /// Applies the settings of a scope with greater precedence. Its settings for all plugins also override
    /// those of single plugins here, so that no plugin escapes a restriction of the administrator.
    pub(crate) fn overlay(&mut self, greater: &Self) {
        for name in greater.each.keys() {
            self.each.entry(name.clone()).or_insert(self.all);
        }
        self.all.overlay(&greater.all);
        for (name, terms) in &mut self.each {
            terms.overlay(&greater.all);
            if let Some(own) = greater.each.get(name) {
                terms.overlay(own);
            }
        }
    }
}

// === impl PluginTerms ===

impl PluginTerms {
    fn read(fields: &mut ObjectFields<'_>) -> Self {
        Self {
            pool: decode_count(fields, "pool", MAX_WORKERS),
            deadline_ms: decode_count(fields, "deadlineMs", u64::MAX),
            memory_bytes: decode_count(fields, "memoryBytes", u64::MAX),
            open_files: decode_count(fields, "openFiles", u64::MAX),
            sandbox: decode_sandbox(fields),
        }
    }

    fn overlay(&mut self, greater: &Self) {
        self.pool = greater.pool.or(self.pool);
        self.deadline_ms = greater.deadline_ms.or(self.deadline_ms);
        self.memory_bytes = greater.memory_bytes.or(self.memory_bytes);
        self.open_files = greater.open_files.or(self.open_files);
        self.sandbox = greater.sandbox.or(self.sandbox);
    }
}

/// Decodes a number from 1 to `most`.
fn decode_count(fields: &mut ObjectFields<'_>, key: &'static str, most: u64) -> Option<u64> {
    let number = fields.integer(key)?;
    if (1..=most).contains(&number.value) {
        return Some(number.value);
    }
    let bound = if number.value == 0 { "at least 1".to_owned() } else { format!("at most {most}") };
    let message = format!("`{key}` of {} must be {bound}, not {}", fields.what(), number.value);
    fields.reject(ConfigProblemKind::BadValue, message, &number.at);
    None
}

/// Decodes `sandbox`. An unreadable value counts as true, because its author wanted a restriction.
fn decode_sandbox(fields: &mut ObjectFields<'_>) -> Option<bool> {
    fields.node("sandbox")?;
    Some(fields.flag("sandbox").is_none_or(|flag| flag.value))
}
