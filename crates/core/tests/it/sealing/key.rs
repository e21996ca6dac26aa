//! Tests of the key file: shared, private, and replaced if it cannot be trusted.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Barrier;

use switchboard_core::EngineProblemKind;
use switchboard_core::sealing::{HandleRefusal, HandleSealer as _, LocalSealer};

use super::{bound, sealed};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_sealed_before_a_restart_is_opened_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let (before, problems) = LocalSealer::open(&state);
    assert_eq!(problems, []);
    let handle = sealed(&before, "x");
    let (after, problems) = LocalSealer::open(&state);
    assert_eq!(problems, []);
    assert_eq!(after.open(&bound(), &handle).unwrap(), b"x");
    assert_eq!((mode(&state), mode(&state.join("handles.key"))), (0o700, 0o600));
}

#[test]
fn those_who_race_get_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let (state, start) = (folder.path().join("state"), Barrier::new(16));
    let sealers: Vec<LocalSealer> = std::thread::scope(|scope| {
        let open = || {
            start.wait();
            let (sealer, problems) = LocalSealer::open(&state);
            assert_eq!(problems, []);
            sealer
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let handle = sealed(&sealers[0], "x");
    for sealer in &sealers {
        assert_eq!(sealer.open(&bound(), &handle).unwrap(), b"x");
    }
}

type Spoil<'a> = &'a dyn Fn(&Path);

#[test]
fn a_key_that_is_not_to_be_used_is_made_anew_and_told_of() {
    let write = |path: &Path, bytes: &[u8], mode: u32| {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let cases: [(&str, Spoil<'_>); 7] = [
        ("damaged", &|path| write(path, b"", 0o600)),
        ("damaged", &|path| write(path, &[7; 31], 0o600)),
        ("damaged", &|path| write(path, &[7; 33], 0o600)),
        ("others could read", &|path| write(path, &[7; 32], 0o644)),
        ("others could read", &|path| write(path, &[7; 32], 0o620)),
        ("a link", &|path| {
            let beside = path.with_extension("other");
            write(&beside, &[7; 32], 0o600);
            symlink(beside, path).unwrap();
        }),
        ("no file", &|path| fs::create_dir(path).unwrap()),
    ];
    for (why, spoil) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("handles.key");
        let handle = sealed(&LocalSealer::open(folder.path()).0, "x");
        fs::remove_file(&path).unwrap();
        spoil(&path);
        let (sealer, problems) = LocalSealer::open(folder.path());
        assert_eq!(problems.len(), 1, "{why}");
        assert_eq!(problems[0].kind, EngineProblemKind::Storage);
        assert!(problems[0].message.contains(why), "{why}: {}", problems[0].message);
        assert_eq!(sealer.open(&bound(), &handle), Err(HandleRefusal::Foreign), "{why}");
        assert_eq!(mode(&path), 0o600, "{why}");
        let (again, problems) = LocalSealer::open(folder.path());
        assert_eq!(problems, [], "{why}: told once");
        assert!(again.open(&bound(), &sealed(&sealer, "x")).is_ok(), "{why}");
    }
}

#[test]
fn without_a_disk_what_is_sealed_ends_with_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("file");
    fs::write(&state, "").unwrap();
    let (sealer, problems) = LocalSealer::open(&state);
    assert!(problems[0].message.contains("end with this process"), "{problems:?}");
    assert!(sealer.open(&bound(), &sealed(&sealer, "x")).is_ok());
}
