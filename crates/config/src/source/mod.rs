//! Text from files, and where each value in it stands.
//!
//! Three formats (JSON with comments, YAML, TOML) become one tree of [`Node`]s, so that whatever decodes
//! a value can point at the line it came from. This module knows nothing about servers.

mod fields;
mod files;
pub(crate) mod jsonc;
mod location;
mod node;
pub(crate) mod toml;
pub(crate) mod yaml;

#[cfg(test)]
pub(crate) use fields::ASKED;
pub(crate) use fields::Fields;
pub(crate) use files::{Found, Ownership, Shelf, is_owned};
pub(crate) use location::{Lines, narrow};
pub use location::{Located, Location, Origin};
pub use node::{Member, Node, Value};
