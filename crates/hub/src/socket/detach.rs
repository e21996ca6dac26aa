//! `setsid` for a hub process: it leaves the session and process group of the client that started it.
//!
//! Used by the hub command at the start of `main`. It does not close descriptors or change folders (`attach::start`
//! prepares those).

use std::io;

/// Makes this process the leader of a session and a process group of its own, so that neither a closing terminal nor
/// the end of the client that started it reaches it. For the start of a hub's `main`.
///
/// The child does this itself, since nothing may safely be run for it between fork and exec. A process that leads a
/// group already (started by hand, from a shell) stays as it is.
pub fn detach() -> io::Result<()> {
    match nix::unistd::setsid() {
        Ok(_) | Err(nix::errno::Errno::EPERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
