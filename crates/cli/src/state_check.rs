//! Whether user state can be written. `connect` and `serve` run without it, and say so at their start.
//!
//! What fails later, on a disk that fills up, is told by what could not be kept.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;

use crate::notice::Notice;
use crate::surroundings::Caller;

/// As much as shows that a disk is not full: more than file systems keep beside a file's name.
const PROBE_BYTES: usize = 8192;

/// What there is to say where nothing can be kept.
pub(crate) fn unwritable_state(caller: &Caller) -> Option<Notice> {
    let folder = &caller.surroundings.state_dir;
    let probe = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
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
