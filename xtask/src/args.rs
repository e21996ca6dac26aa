//! Command-line arguments of `xtask`: words and `--name value` pairs, taken one at a time.
//!
//! Used by every verb. Arguments that are left at the end are an error, so that a misspelt option
//! is noticed. It has no help texts.

use std::collections::VecDeque;
use std::str::FromStr;

use crate::failure::{Failure, Result};

/// The remaining arguments.
pub(crate) struct Args(VecDeque<String>);

impl Args {
    pub(crate) fn from_env() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// Takes the next argument.
    pub(crate) fn word(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// Takes the flag `name`. Returns whether it was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.position(name).and_then(|at| self.0.remove(at)).is_some()
    }

    /// Takes `name` and the value after it.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(at) = self.position(name) else {
            return Ok(None);
        };
        self.0.remove(at);
        let text =
            self.0.remove(at).ok_or_else(|| Failure::new(format!("{name} needs a value")))?;
        let value = text.parse().map_err(|_| {
            Failure::new(format!("`{text}` is not a value for {name}")).hint("see cargo xtask help")
        })?;
        Ok(Some(value))
    }

    /// All remaining arguments, for another program.
    pub(crate) fn rest(self) -> impl Iterator<Item = String> {
        self.0.into_iter()
    }

    /// Fails if arguments are left.
    pub(crate) fn end(self) -> Result<()> {
        match self.0.front() {
            None => Ok(()),
            Some(word) => Err(Failure::new(format!("`{word}` was not expected here"))
                .hint("see cargo xtask help")),
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|word| word == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn takes_values_and_flags_in_any_order() {
        let mut given = args("--record --seconds 5");
        assert_eq!(given.value::<u64>("--seconds").unwrap(), Some(5));
        assert_eq!(given.value::<u64>("--missing").unwrap(), None);
        assert!(given.flag("--record"));
        assert!(given.end().is_ok());
    }

    #[test]
    fn refuses_what_it_cannot_use() {
        assert!(args("--seconds").value::<u64>("--seconds").is_err());
        assert!(args("--seconds soon").value::<u64>("--seconds").is_err());
        assert!(args("--recrod").end().is_err());
    }
}
