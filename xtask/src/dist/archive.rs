//! Archives: tar in the ustar format, gzip, and the `ar` of Debian packages.
//!
//! Used by `dist`. Written here, so that archives are equal byte for byte whichever `tar` a machine has. It reads no
//! archives.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};

const BLOCK_BYTES: usize = 512;
/// The longest path that the name field of a ustar header holds.
const MAX_PATH_BYTES: usize = 100;

/// A file of an archive. Folders are implied.
#[derive(Debug, Clone)]
pub(super) struct TarFile {
    /// The path without a leading slash.
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Vec<u8>,
}

/// Returns a tar archive, with every folder before its files.
pub(super) fn tar(files: &[TarFile], epoch: u64) -> Result<Vec<u8>> {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let mut archive = Vec::new();
    let mut folders: Vec<String> = Vec::new();
    for file in sorted {
        for (at, _) in file.path.match_indices('/') {
            let folder = &file.path[..=at];
            if !folders.iter().any(|known| known == folder) {
                archive.extend(header(folder, 0o755, 0, epoch, b'5')?);
                folders.push(folder.to_owned());
            }
        }
        archive.extend(header(&file.path, file.mode, file.content.len(), epoch, b'0')?);
        archive.extend(&file.content);
        archive.resize(archive.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK_BYTES, 0);
    Ok(archive)
}

/// A ustar header of a file (`0`) or folder (`5`) of root.
fn header(path: &str, mode: u32, size: usize, epoch: u64, kind: u8) -> Result<[u8; BLOCK_BYTES]> {
    if path.len() > MAX_PATH_BYTES {
        return Err(Failure::new(format!("`{path}` is too long for an archive")));
    }
    let mut block = [0; BLOCK_BYTES];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{epoch:011o}"));
    put(148, "        ");
    put(257, "ustar\x0000");
    put(265, "root");
    put(297, "root");
    block[156] = kind;
    let sum: u32 = block.iter().copied().map(u32::from).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(block)
}

/// Compresses without a name and a time.
pub(super) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let failed =
        |why: &dyn std::fmt::Display| Failure::new("cannot compress with `gzip`").because(why);
    let mut command = Command::new("gzip");
    command.args(["-n", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|why| failed(&why))?;
    let input = child.stdin.take();
    // Fed from a thread: a full pipe of output would block both sides.
    let (fed, packed) = std::thread::scope(|scope| {
        let feeding =
            scope.spawn(move || input.map_or(Ok(()), |mut input| input.write_all(content)));
        let packed = child.wait_with_output();
        (feeding.join(), packed)
    });
    match (fed, packed) {
        (Ok(Ok(())), Ok(packed)) if packed.status.success() => Ok(packed.stdout),
        (Ok(Err(why)), _) | (_, Err(why)) => Err(failed(&why)),
        (_, Ok(packed)) => Err(failed(&packed.status)),
    }
}

/// Returns an `ar` archive, as a Debian package is one.
pub(super) fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        let header = format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 100_644);
        archive.extend(header.as_bytes());
        archive.extend(content);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_read_the_archives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        let file = |path: &str, mode, text: &str| TarFile {
            path: path.to_owned(),
            mode,
            content: text.as_bytes().to_vec(),
        };
        let files = [file("a/b/two", 0o755, "2"), file("a/one", 0o644, &"1".repeat(600))];
        let packed = gzip(&tar(&files, 1_000_000_000).unwrap()).unwrap();
        std::fs::write(&path, &packed).unwrap();
        let mut list = Command::new("tar");
        list.env("TZ", "UTC").env("LC_ALL", "C").arg("-tvzf").arg(&path);
        let listed = crate::command::output(&mut list).unwrap();
        let expected = "\
            drwxr-xr-x root/root         0 2001-09-09 01:46 a/\n\
            drwxr-xr-x root/root         0 2001-09-09 01:46 a/b/\n\
            -rwxr-xr-x root/root         1 2001-09-09 01:46 a/b/two\n\
            -rw-r--r-- root/root       600 2001-09-09 01:46 a/one\n";
        assert_eq!(listed, expected);
        assert_eq!(
            packed,
            gzip(&tar(&files, 1_000_000_000).unwrap()).unwrap(),
            "it is reproducible"
        );
        assert!(tar(&[file(&"long/".repeat(30), 0o644, "")], 0).is_err());
    }
}
