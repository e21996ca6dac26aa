//! Why an item of a list cannot be used.

use switchboard_wire::json::{MemberError, SpliceError};

/// Why an item of a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
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
    /// A member that is to be a list.
    #[error("`{0}` is not a list")]
    NotAList(&'static str),
    /// Arguments of tools are named.
    #[error("the `type` of `inputSchema` is not `object`")]
    NotForObjects,
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
    Template(#[from] super::BadTemplate),
    /// Another item has the same name; the first one counts.
    #[error("another one of the same name comes before it")]
    Repeated,
    /// It was left out before it came here.
    #[error("{0}")]
    Excluded(String),
}

// === impl Fault ===

impl From<MemberError> for Fault {
    fn from(error: MemberError) -> Self {
        let MemberError::Duplicate(key) = error;
        Self::Duplicate(key)
    }
}

impl From<SpliceError> for Fault {
    fn from(error: SpliceError) -> Self {
        match error {
            SpliceError::Duplicate(key) => Self::Duplicate(key),
            SpliceError::NotAnObject(_) => Self::NotAnObject,
        }
    }
}
