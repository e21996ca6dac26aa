//! Checks at the start whether user state can be written, and warns if not.
//!
//! Used by `connect`, `serve` and `doctor`, which run without user state too. It does not watch the disk: a later
//! failure is reported by the module that could not write.

use std::io::{self, Write as _};

use switchboard_config::private_file::create_private_folder;

use crate::notice::Notice;
use crate::surroundings::Caller;

/// Enough bytes to notice a full disk: more than file systems store beside a file's name.
const PROBE_BYTES: usize = 8192;

/// A warning if user state cannot be written.
pub(crate) fn unwritable_state(caller: &Caller) -> Option<Notice> {
    let folder = &caller.surroundings.state_dir;
    let probe = || -> io::Result<()> {
        create_private_folder(folder)?;
        tempfile::tempfile_in(folder)?.write_all(&[0; PROBE_BYTES])
    };
    let error = probe().err()?;
    let message = format!(
        "nothing can be written to {}: {error}; logs, the console, remembered answers and large results are not kept",
        folder.display()
    );
    Some(Notice::warning(message).with_hint(
        "make room there, or make it writable; `XDG_STATE_HOME` names another place for state",
    ))
}
