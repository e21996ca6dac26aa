//! What is wrong with an item of a list: so much that it cannot be used, or only a part of it.

use switchboard_wire::json::{JsonMemberError, SpliceError};

/// Why an item of a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemFault {
    /// It is something else altogether.
    #[error("it is not an object")]
    NotAnObject,
    /// Two readers could disagree about which one counts.
    #[error("member `{0}` stands more than once")]
    Duplicate(String),
    /// What every such item has.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A member that is to be text.
    #[error("`{0}` is not a text")]
    NotText(&'static str),
    /// A member that is to be an object.
    #[error("`{0}` is not an object")]
    MemberNotAnObject(&'static str),
    /// A member that is to be `true` or `false`.
    #[error("`{0}` is not a boolean")]
    NotABoolean(&'static str),
    /// A member that the protocol describes, and that is something else.
    #[error("`{0}` is not what the protocol says")]
    NotAsDescribed(&'static str),
    /// A member that is to be a list.
    #[error("`{0}` is not a list")]
    NotAList(&'static str),
    /// Nothing can be checked against this schema.
    #[error("`{member}` cannot be used: {reason}")]
    Schema {
        /// Which of the two schemas.
        member: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Text that nobody could type or compare stands where an address belongs.
    #[error("`{0}` holds characters that cannot be seen")]
    Hidden(&'static str),
    /// A template that matches nothing.
    #[error("`uriTemplate` cannot be used: {0}")]
    Template(#[from] super::TemplateError),
    /// Another item has the same name; the first one counts.
    #[error("another one of the same name comes before it")]
    Repeated,
    /// It was left out before it came here.
    #[error("{0}")]
    Excluded(String),
}

/// What is wrong with an item that is listed all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemWarning {
    /// Its arguments cannot be checked here.
    #[error("`inputSchema` cannot be used, so only the server checks arguments: {0}")]
    Unchecked(String),
    /// It has no schema for its arguments, or none that can be read.
    #[error("it is listed with a schema that takes any arguments: {0}")]
    AnyArguments(ItemFault),
    /// Arguments are an object, and its schema does not say so.
    #[error("`type: object` was added to its `inputSchema`")]
    TypeAdded,
    /// A member that a client would refuse the whole list for.
    #[error("it is listed without `{member}`: {fault}")]
    Dropped {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        fault: ItemFault,
    },
    /// A member of `inputSchema` that a client before 2026-07-28 would refuse the whole list for.
    #[error("clients before 2026-07-28 get `{0}` of its `inputSchema` left out or rewritten")]
    LegacyInput(&'static str),
    /// An `outputSchema` that a client before 2026-07-28 would refuse the whole list for.
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
