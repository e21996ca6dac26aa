//! A value that no log, error or debug output shows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that is shown nowhere. Written out only by whoever calls [`Secret::expose`], and into the sealed store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret<T>(T);

// === impl Secret ===

impl<T> Secret<T> {
    /// Takes a value in.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for whoever sends it where it belongs.
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
