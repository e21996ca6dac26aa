//! A wrapper for secrets that no log, error or debug output shows.
//!
//! Used for tokens, client secrets and keys throughout this crate. It does not redact texts
//! (`switchboard_config`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret value. It leaves only through [`Secret::expose`] and into the sealed store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret<T>(T);

// === impl Secret ===

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the request that sends it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(..)");
        assert_eq!(format!("{:?}", Some(Secret::new(7))), "Some(Secret(..))");
    }
}
