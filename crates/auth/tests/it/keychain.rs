//! Tests of a real Secret Service on a bus of its own: each test runs this program again inside such a
//! session.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_auth::{
    FileSignInStore, KeyLocation, Keychain, SignInRecord, SignInStore as _, SignInStoreError,
    SystemKeychain,
};
use switchboard_testkit::keychain::{self, LOCKED, UNLOCKED};

const FOLDER: &str = "TEST_KEYCHAIN_FOLDER";

/// The system's keychain, with a count of its reads.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Keychain for Counted {
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        SystemKeychain.get()
    }

    fn set(&self, secret: &[u8]) -> Result<(), io::Error> {
        SystemKeychain.set(secret)
    }
}

/// Runs `lines` in a session of its own: shell, or `step NAME` for one of the tests below.
fn session(folder: &Path, lines: &[&str]) {
    let step = r#"step() { "$PROGRAM" "keychain::$1" --exact --ignored; }"#;
    let output = keychain::session(folder, &format!("{step}\n{}", lines.join("\n")))
        .env("PROGRAM", std::env::current_exe().unwrap())
        .env(FOLDER, folder.join("sign-ins"))
        .output()
        .expect("dbus-run-session is installed by cargo xtask peers");
    let shown = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&shown));
}

fn store() -> (FileSignInStore, Arc<Counted>) {
    let (folder, chain) = (std::env::var_os(FOLDER).unwrap(), Arc::new(Counted::default()));
    (FileSignInStore::new(folder, chain.clone()), chain)
}

fn record(server: &str) -> SignInRecord {
    SignInRecord { server: server.into(), ..SignInRecord::default() }
}

#[test]
#[ignore = "a step of the tests below"]
fn keep() {
    let (store, chain) = store();
    assert_eq!(store.key_location().unwrap(), KeyLocation::Keychain);
    for _ in 0..50 {
        store.save("a", &record("one")).unwrap();
        assert_eq!(store.load("a").unwrap(), Some(record("one")));
    }
    assert!(chain.0.load(Ordering::Relaxed) <= 2, "the keychain is asked once, not each time");
}

#[test]
#[ignore = "a step of the tests below"]
fn find() {
    let (store, chain) = store();
    for _ in 0..50 {
        assert_eq!(store.load("a").unwrap(), Some(record("one")));
    }
    assert_eq!(chain.0.load(Ordering::Relaxed), 1);
}

#[test]
#[ignore = "a step of the tests below"]
fn forget() {
    let (store, _) = store();
    store.remove("a").unwrap();
    assert_eq!(store.load("a").unwrap(), None);
}

#[test]
#[ignore = "a step of the tests below"]
fn nothing_opens() {
    assert!(matches!(store().0.load("a"), Err(SignInStoreError::NoKey { .. })));
}

#[test]
#[ignore = "a step of the tests below"]
fn fall_back() {
    let (store, _) = store();
    assert_eq!(store.key_location().unwrap(), KeyLocation::NewFile, "told once");
    store.save("b", &record("two")).unwrap();
    let (again, _) = self::store();
    assert_eq!(again.key_location().unwrap(), KeyLocation::File, "and not again");
    assert_eq!(again.load("b").unwrap(), Some(record("two")));
}

#[test]
fn what_is_kept_is_found_by_the_next_process_and_forgotten_when_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), &[UNLOCKED, "step keep", "step find"]);
    assert!(!folder.path().join("sign-ins/key").exists(), "the key is in no file");
    // Another session of the user: the keychain is a file that the user's password opens.
    session(folder.path(), &[UNLOCKED, "step find", "step forget"]);
}

#[test]
fn a_keychain_that_is_locked_stands_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [UNLOCKED, "step keep", LOCKED, "step nothing_opens", "step fall_back"];
    session(folder.path(), &lines);
    // Once the keychain is open again, records sealed with its key and with the file's key can be read.
    session(folder.path(), &[UNLOCKED, "step find"]);
}

#[test]
fn without_a_keychain_there_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), &["step fall_back"]);
}
