//! Parsers of JSON with comments, YAML and TOML into one tree with locations.
//!
//! Used by every module that reads configuration. All formats become one tree of [`ConfigNode`]s, so that a
//! decoder can name the line of a value. It knows nothing about servers.

mod fields;
mod file_reader;
pub(crate) mod jsonc;
mod location;
mod node;
pub(crate) mod toml;
pub(crate) mod yaml;

pub(crate) use fields::ObjectFields;
#[cfg(test)]
pub(crate) use fields::REQUESTED_MEMBERS;
pub(crate) use file_reader::{FileOwnership, FileReadResult, FileReader, is_owned};
pub(crate) use location::{LineIndex, saturating_u32};
pub use location::{LocatedValue, SourceLocation, SourceOrigin};
pub use node::{ConfigMember, ConfigNode, ConfigValue};
