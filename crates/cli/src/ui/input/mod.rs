//! The meaning of keys and command lines, as pure functions.
//!
//! Used by `app::update`: a key becomes an action, a line becomes a command. It does not read the keyboard (`terminal`
//! does).

mod command;
mod history;
mod keys;
mod line;
mod words;

pub(crate) use command::{Command, complete, read};
pub(crate) use history::{History, HistoryFile};
pub(crate) use keys::{CONTROL, Press, key_meaning};
pub(crate) use words::words;
