//! Faults in items of a list: those that make an item unusable, and those that concern only a part.
//!
//! Used by the parsers of `catalog` (`tool`, `prompt`, `resource`), which turn them into problems.

use switchboard_wire::json::{JsonMemberError, SpliceError};

/// Why an item of a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemFault {
    /// The item is not an object.
    #[error("it is not an object")]
    NotAnObject,
    /// A key occurs twice, and clients could disagree about which one counts.
    #[error("member `{0}` occurs more than once")]
    Duplicate(String),
    /// A required member is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A member should be text.
    #[error("`{0}` is not a text")]
    NotText(&'static str),
    /// A member should be an object.
    #[error("`{0}` is not an object")]
    MemberNotAnObject(&'static str),
    /// A member should be `true` or `false`.
    #[error("`{0}` is not a boolean")]
    NotABoolean(&'static str),
    /// A member does not have the form that the protocol describes.
    #[error("`{0}` is not what the protocol says")]
    NotAsDescribed(&'static str),
    /// A member should be a list.
    #[error("`{0}` is not a list")]
    NotAList(&'static str),
    /// The schema cannot be used.
    #[error("`{member}` cannot be used: {reason}")]
    Schema {
        /// Which of the two schemas.
        member: &'static str,
        /// The error of the schema.
        reason: String,
    },
    /// An address contains invisible characters, which a person could neither type nor compare.
    #[error("`{0}` holds characters that cannot be seen")]
    Hidden(&'static str),
    /// The URI template is not valid.
    #[error("`uriTemplate` cannot be used: {0}")]
    Template(#[from] super::TemplateError),
    /// An earlier item of the list has an equal name; the first one counts.
    #[error("an item before it has the same name")]
    Repeated,
    /// The item was left out before it came here.
    #[error("{0}")]
    Excluded(String),
}

/// A fault of an item that is still listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemWarning {
    /// The arguments of the tool cannot be checked here.
    #[error("`inputSchema` cannot be used, so only the server checks arguments: {0}")]
    Unchecked(String),
    /// The tool has no schema for its arguments, or an unreadable one.
    #[error("it is listed with a schema that takes any arguments: {0}")]
    AnyArguments(ItemFault),
    /// The schema does not say that arguments are an object.
    #[error("`type: object` was added to its `inputSchema`")]
    TypeAdded,
    /// A member was left out because clients would refuse the whole list for it.
    #[error("it is listed without `{member}`: {fault}")]
    Dropped {
        /// The member.
        member: &'static str,
        /// The fault of the member.
        fault: ItemFault,
    },
    /// A member of `inputSchema` for which clients before 2026-07-28 would refuse the whole list.
    #[error("clients before 2026-07-28 get `{0}` of its `inputSchema` left out or rewritten")]
    LegacyInput(&'static str),
    /// An `outputSchema` for which clients before 2026-07-28 would refuse the whole list.
    #[error("clients before 2026-07-28 get it without `outputSchema`, which is not one of objects")]
    LegacyOutput,
}

// === impl ItemFault ===

impl From<JsonMemberError> for ItemFault {
    fn from(error: JsonMemberError) -> Self {
        let JsonMemberError::Duplicate(key) = error;
        Self::Duplicate(key)
    }
}

impl From<SpliceError> for ItemFault {
    fn from(error: SpliceError) -> Self {
        match error {
            SpliceError::Duplicate(key) => Self::Duplicate(key),
            SpliceError::NotAnObject(_) => Self::NotAnObject,
        }
    }
}
