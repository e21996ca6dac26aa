//! A real Secret Service, on a bus of its own: each test is this program again, inside such a session.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_auth::{
    FileStore, KeyPlace, Keychain, Record, Store as _, StoreError, SystemKeychain,
};

const FOLDER: &str = "TEST_KEYCHAIN_FOLDER";

/// A bus that starts nothing by itself, least of all a window that asks for a password.
const BUS: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>
</busconfig>"#;

/// What a person has typed their password into, once it is on the bus. It ends with the bus.
const UNLOCKED: &str = "printf password | gnome-keyring-daemon --unlock --components=secrets
for _ in $(seq 1000); do
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner \
    string:org.freedesktop.secrets | grep -q 'boolean true' && break
done";
const LOCKED: &str = "dbus-send --session --print-reply --dest=org.freedesktop.secrets \
    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \
    array:objpath:/org/freedesktop/secrets/collection/login";

/// The system's keychain, and how often it was asked.
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

/// Does what `lines` say in a session of its own: shell, or `step NAME` for one of the tests below.
fn session(folder: &Path, lines: &[&str]) {
    let config = folder.join("bus.conf");
    std::fs::write(&config, BUS).unwrap();
    let script = format!(
        "set -eu\nstep() {{ \"$PROGRAM\" \"keychain::$1\" --exact --ignored; }}\n{}",
        lines.join("\n")
    );
    let output = Command::new("timeout")
        .args(["60", "dbus-run-session", "--config-file"])
        .arg(&config)
        .args(["--", "sh", "-c", &script])
        .env("PROGRAM", std::env::current_exe().unwrap())
        .env("HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env_remove("XDG_DATA_HOME")
        .env_remove("DISPLAY")
        .env(FOLDER, folder.join("sign-ins"))
        .output()
        .expect("dbus-run-session is installed by cargo xtask peers");
    let shown = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&shown));
}

fn store() -> (FileStore, Arc<Counted>) {
    let (folder, chain) = (std::env::var_os(FOLDER).unwrap(), Arc::new(Counted::default()));
    (FileStore::new(folder, chain.clone()), chain)
}

fn record(server: &str) -> Record {
    Record { server: server.into(), ..Record::default() }
}

#[test]
#[ignore = "a step of the tests below"]
fn keep() {
    let (store, chain) = store();
    assert_eq!(store.key_place().unwrap(), KeyPlace::Keychain);
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
    assert!(matches!(store().0.load("a"), Err(StoreError::NoKey { .. })));
}

#[test]
#[ignore = "a step of the tests below"]
fn fall_back() {
    let (store, _) = store();
    assert_eq!(store.key_place().unwrap(), KeyPlace::NewFile, "told once");
    store.save("b", &record("two")).unwrap();
    let (again, _) = self::store();
    assert_eq!(again.key_place().unwrap(), KeyPlace::File, "and not again");
    assert_eq!(again.load("b").unwrap(), Some(record("two")));
}

#[test]
fn what_is_kept_is_found_by_the_next_process_and_forgotten_when_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), &[UNLOCKED, "step keep", "step find"]);
    assert!(!folder.path().join("sign-ins/key").exists(), "the key is in no file");
    // Another session of the same person: their keychain is a file that their password opens.
    session(folder.path(), &[UNLOCKED, "step find", "step forget"]);
}

#[test]
fn a_keychain_that_is_locked_stands_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [UNLOCKED, "step keep", LOCKED, "step nothing_opens", "step fall_back"];
    session(folder.path(), &lines);
    // Once it is open again, both what it sealed and what the file sealed can be read.
    session(folder.path(), &[UNLOCKED, "step find"]);
}

#[test]
fn without_a_keychain_there_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), &["step fall_back"]);
}
