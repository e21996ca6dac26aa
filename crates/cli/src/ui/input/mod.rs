//! What keys and lines mean.
//!
//! Pure: a key where somebody is becomes something they do, a line becomes a command.

mod command;
mod history;
mod keys;
mod line;
mod words;

pub(crate) use command::{Command, complete, read};
pub(crate) use history::{History, HistoryFile};
pub(crate) use keys::{CONTROL, Press, key_meaning};
pub(crate) use words::words;
