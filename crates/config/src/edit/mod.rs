//! Edits of files that people and other programs write too.
//!
//! Used by `workspace`, `install`, `setup`, `approval` and `gateway::tokens`. An edit is a few splices into the text,
//! so every byte outside them stays. The file is then replaced as a whole: under a lock, through a temporary
//! file that is synced first, keeping its mode, following links.

mod atomic;
mod json_edit;
mod layout;
mod lock;
mod splice;
mod state_file;

pub(crate) use atomic::{
    FilePrivacy, follow_links, remove_file_if, remove_staged_files, update_file,
};
pub use json_edit::{
    EditError, add_to_list, get_member, remove_from_list, remove_member, set_member,
};
pub use state_file::StateFile;
