//! The hash of a set of files, which names a cache folder.
//!
//! Used by `peers`. FNV-1a is enough: the hash protects nothing.

use std::fs;
use std::path::Path;

use crate::failure::{AboutFile, Result};

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of `files`, their names and their contents, under `root`.
pub(super) fn of_files(root: &Path, files: &[String]) -> Result<String> {
    let mut hash = OFFSET;
    for file in files {
        let path = root.join(file);
        let content = fs::read(&path).about("read", &path)?;
        // The lengths delimit the parts, so that moving a byte between neighbours changes the hash.
        for part in [file.as_bytes(), &content] {
            hash = mix(mix(hash, &part.len().to_le_bytes()), part);
        }
    }
    Ok(format!("{hash:016x}"))
}

fn mix(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(files: &[(&str, &str)]) -> String {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(root.path().join(name), content).unwrap();
        }
        let names: Vec<_> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        of_files(root.path(), &names).unwrap()
    }

    #[test]
    fn the_function_is_fnv_1a() {
        assert_eq!(mix(OFFSET, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn any_change_changes_it() {
        let first = hash(&[("a", "x"), ("b", "y")]);
        assert_eq!(first, hash(&[("a", "x"), ("b", "y")]));
        assert_ne!(first, hash(&[("a", "xy"), ("b", "")]));
        assert_ne!(first, hash(&[("a", "x"), ("c", "y")]));
    }

    #[test]
    fn a_missing_file_is_named() {
        let failure = of_files(Path::new("nowhere"), &["lock".into()]).unwrap_err();
        assert_eq!(failure.headline(), "cannot read `nowhere/lock`");
    }
}
