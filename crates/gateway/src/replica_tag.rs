//! The tag of a replica: a random number in ids that come back to any replica of a cluster.
//!
//! Used by the faces for ids of events, questions and sessions, and by the bridge for handles. An id with a tag is of the
//! replica that made it, and no two replicas make the same id. It does not reach a replica (`face::replicas`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The digits of a tag.
const DIGITS: usize = 12;

/// The tag of one run of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReplicaTag(u64);

// === impl ReplicaTag ===

impl ReplicaTag {
    /// Marks a text as this replica's.
    pub fn mark(self, text: &str) -> String {
        format!("{self}-{text}")
    }

    /// The tag of a text that [`ReplicaTag::mark`] made, and the text.
    pub fn split(marked: &str) -> Option<(Self, &str)> {
        let (tag, text) = marked.split_at_checked(DIGITS)?;
        Some((tag.parse().ok()?, text.strip_prefix('-')?))
    }
}

impl fmt::Display for ReplicaTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}", self.0, width = DIGITS)
    }
}

/// The text is no tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not the tag of a replica")]
pub struct NoReplicaTag;

impl FromStr for ReplicaTag {
    type Err = NoReplicaTag;

    fn from_str(text: &str) -> Result<Self, NoReplicaTag> {
        let is_tag = text.len() == DIGITS
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_tag);
        number.map(Self).ok_or(NoReplicaTag)
    }
}

impl TryFrom<String> for ReplicaTag {
    type Error = NoReplicaTag;

    fn try_from(text: String) -> Result<Self, NoReplicaTag> {
        text.parse()
    }
}

impl From<ReplicaTag> for String {
    fn from(tag: ReplicaTag) -> Self {
        tag.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_text_tells_its_replica() {
        let tag: ReplicaTag = "00ab12cd34ef".parse().unwrap();
        assert_eq!(tag.mark("x-y"), "00ab12cd34ef-x-y");
        assert_eq!(ReplicaTag::split("00ab12cd34ef-x-y"), Some((tag, "x-y")));
        for odd in [
            "",
            "x",
            "00ab12cd34ef",
            "00AB12CD34EF-x",
            "00ab12cd34e-x",
            "+0ab12cd34ef-x",
            "é0ab12cd34ef-x",
        ] {
            assert_eq!(ReplicaTag::split(odd), None, "{odd}");
        }
    }
}
