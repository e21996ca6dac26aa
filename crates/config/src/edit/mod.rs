//! Changing a file that people and other programs write too.
//!
//! An edit is a few splices into the text, so every byte outside them stays by construction. The file is then
//! replaced whole: under a lock, through a temporary file that is synced first, keeping its mode, following links.

mod atomic;
mod layout;
mod lock;
mod splice;
mod state;
mod text;

pub(crate) use atomic::{FilePrivacy, create_private_folder, follow_links, update_file};
pub use state::StateFile;
pub use text::{EditError, add_to_list, get_member, remove_from_list, remove_member, set_member};
