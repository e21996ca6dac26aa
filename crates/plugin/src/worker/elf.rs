//! Checks that a file is a shared object for this machine, because the loader's message would only say "not
//! found".
//!
//! Used by `worker` before it loads the plugin.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    path::Path,
};

use crate::messages::WorkerFailed;

/// The length of magic, class, byte order, type and machine.
const HEADER_BYTES: usize = 20;

pub(super) fn check(path: &Path) -> Result<(), WorkerFailed> {
    let header = match read(path) {
        Ok(header) => header,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => [0; HEADER_BYTES],
        Err(error) => return Err(WorkerFailed::new("load", format!("it cannot be read: {error}"))),
    };
    check_header(&header, read(Path::new("/proc/self/exe")).ok().as_ref())
}

fn read(path: &Path) -> std::io::Result<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    File::open(path)?.read_exact(&mut header)?;
    Ok(header)
}

fn check_header(
    header: &[u8; HEADER_BYTES],
    ours: Option<&[u8; HEADER_BYTES]>,
) -> Result<(), WorkerFailed> {
    if !header.starts_with(b"\x7fELF") {
        return Err(WorkerFailed::new("load", "it is not a shared object"));
    }
    let machine = |header: &[u8; HEADER_BYTES]| [header[4], header[5], header[18], header[19]];
    match ours {
        Some(ours) if machine(header) != machine(ours) => Err(WorkerFailed::new(
            "load",
            "it was built for another architecture than this program",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_for_this_machine_pass() {
        let ours = read(Path::new("/proc/self/exe")).unwrap();
        let mut foreign = ours;
        foreign[18] ^= 0x40;
        let mut narrow = ours;
        narrow[4] ^= 3;
        let check = |header: &[u8; HEADER_BYTES], why: Option<&str>| {
            assert_eq!(
                check_header(header, Some(&ours)).err().map(|failed| failed.why).as_deref(),
                why
            );
        };
        check(&ours, None);
        check(&foreign, Some("it was built for another architecture than this program"));
        check(&narrow, Some("it was built for another architecture than this program"));
        check(&[0; HEADER_BYTES], Some("it is not a shared object"));
    }
}
