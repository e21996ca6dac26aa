//! Tests of the sign-in store: records are sealed, whole, and open only with the right key.

use std::io;
use std::sync::{Arc, Mutex};

use switchboard_auth::{
    ClientAuthMethod, FileSignInStore, KeyLocation, Keychain, NoKeychain, OAuthAccount,
    OAuthClient, Secret, SignInRecord, SignInStore, SignInStoreError,
};

/// A keychain that can be locked.
#[derive(Default)]
struct Chain {
    secret: Mutex<Option<Vec<u8>>>,
    asked: Mutex<u32>,
}

impl Keychain for Chain {
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error> {
        *self.asked.lock().unwrap() += 1;
        Ok(self.secret.lock().unwrap().clone())
    }

    fn set(&self, secret: &[u8]) -> Result<(), io::Error> {
        *self.secret.lock().unwrap() = Some(secret.to_vec());
        Ok(())
    }
}

fn record() -> SignInRecord {
    let client = OAuthClient {
        id: "me".into(),
        secret: Some(Secret::new("s3cret-client".into())),
        auth: ClientAuthMethod::ClientSecretPost,
    };
    let account = OAuthAccount {
        issuer: "https://as.example".into(),
        token_endpoint: "https://as.example/token".into(),
        revocation_endpoint: None,
        client,
        resource: None,
        scopes: vec!["read".into()],
        access: Secret::new("s3cret-access".into()),
        expires_at: Some(7),
        obtained_at: 5,
        signed_in_at: Some(4),
        refresh: Some(Secret::new("s3cret-refresh".into())),
        key: Some(Secret::new("s3cret-key".into())),
        id_token: Some(Secret::new("s3cret-identity".into())),
        sign_in_id: String::new(),
        server_zone: None,
    };
    SignInRecord { server: "house".into(), account: Some(account), ..SignInRecord::default() }
}

/// The requirements on every store.
fn contract(store: &dyn SignInStore) {
    assert_eq!(store.load("a").unwrap(), None);
    assert_eq!(store.stamp("a"), None);
    store.save("a", &record()).unwrap();
    let first = store.stamp("a");
    assert_eq!(store.load("a").unwrap(), Some(record()));
    store.save("a", &SignInRecord::default()).unwrap();
    assert_ne!(store.stamp("a"), first);
    assert_eq!(store.load("a").unwrap(), Some(SignInRecord::default()));
    assert_eq!(store.load("b").unwrap(), None);
    assert_eq!(store.keys().unwrap(), ["a"]);
    let lock = store.try_lock("a").unwrap().unwrap();
    assert!(store.try_lock("a").unwrap().is_none());
    assert!(store.try_lock("b").unwrap().is_some());
    drop(lock);
    assert!(store.try_lock("a").unwrap().is_some());
    store.remove("a").unwrap();
    store.remove("a").unwrap();
    assert_eq!(store.load("a").unwrap(), None);
}

#[test]
fn files_keep_the_contract_with_a_keychain_and_without() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    contract(&FileSignInStore::new(one.path(), Arc::new(NoKeychain)));
    let chain = Arc::new(Chain::default());
    contract(&FileSignInStore::new(other.path(), chain.clone()));
    assert!(*chain.asked.lock().unwrap() <= 3, "the keychain is not asked each time");
    assert!(!other.path().join("key").exists());
}

#[test]
fn no_secret_is_written_or_shown() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    store.save("a", &record()).unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cret"), "{file:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().unwrap().permissions().mode();
            assert!(
                mode.trailing_zeros() >= 6 || file.file_name().to_string_lossy().ends_with(".lock")
            );
        }
    }
    assert!(!format!("{:?}", record()).contains("s3cret"));
}

#[test]
fn the_key_is_where_it_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let chain = Arc::new(Chain::default());
    let with = || FileSignInStore::new(folder.path(), chain.clone());
    let without = || FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    assert_eq!(with().key_location().unwrap(), KeyLocation::Keychain);
    with().save("a", &record()).unwrap();
    // Over SSH the keychain is unavailable: records that it sealed stay closed, and are not deleted.
    assert!(matches!(without().load("a"), Err(SignInStoreError::NoKey { .. })));
    assert_eq!(with().load("a").unwrap(), Some(record()));
    // A sign-in there works, and its record opens everywhere.
    assert_eq!(without().key_location().unwrap(), KeyLocation::NewFile);
    assert_eq!(without().key_location().unwrap(), KeyLocation::File);
    without().save("a", &record()).unwrap();
    assert_eq!(with().load("a").unwrap(), Some(record()));
}

#[test]
fn a_damaged_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    store.save("a", &record()).unwrap();
    let path = folder.path().join("a.json");
    std::fs::copy(&path, folder.path().join("b.json")).unwrap();
    assert!(matches!(store.load("b"), Err(SignInStoreError::Damaged { .. })), "it is another's");
    let text = std::fs::read(&path).unwrap();
    for damaged in [&text[..text.len() / 2], b"", b"{}"] {
        std::fs::write(&path, damaged).unwrap();
        assert!(matches!(store.load("a"), Err(SignInStoreError::Damaged { .. })));
    }
}

/// Contents of a key file that are no key.
const NO_KEYS: [&[u8]; 4] = [b"", b"half a key", &[7; 33], &[7; 4096]];

#[test]
fn a_damaged_key_says_so_and_is_set_aside_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    store.save("a", &record()).unwrap();
    assert_eq!(store.set_damaged_key_aside().unwrap(), None, "it is sound");
    let key = folder.path().join("key");
    let sound = std::fs::read(&key).unwrap();
    let mut set_aside = Vec::new();
    for damaged in NO_KEYS {
        std::fs::write(&key, damaged).unwrap();
        let errors = [
            store.load("a").unwrap_err(),
            store.save("b", &record()).unwrap_err(),
            store.check().unwrap_err(),
            store.key_location().unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(&error, SignInStoreError::KeyDamaged { path } if *path == key),
                "{error:?}"
            );
            assert!(error.to_string().contains(&key.display().to_string()), "{error}");
        }
        let aside = store.set_damaged_key_aside().unwrap().unwrap();
        assert_eq!(std::fs::read(&aside).unwrap(), damaged, "nothing is thrown away");
        assert!(!set_aside.contains(&aside), "{} was there already", aside.display());
        set_aside.push(aside);
        store.check().unwrap();
        store.save("b", &record()).unwrap();
        assert_eq!(store.load("b").unwrap(), Some(record()));
        assert!(matches!(store.load("a"), Err(SignInStoreError::NoKey { .. })));
    }
    std::fs::write(&key, sound).unwrap();
    assert_eq!(store.load("a").unwrap(), Some(record()), "it opens with a key that is restored");
}

#[test]
fn a_damaged_key_matters_only_without_a_keychain() {
    let folder = tempfile::tempdir().unwrap();
    FileSignInStore::new(folder.path(), Arc::new(NoKeychain)).save("a", &record()).unwrap();
    std::fs::write(folder.path().join("key"), "").unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(Chain::default()));
    store.save("b", &record()).unwrap();
    store.check().unwrap();
    assert_eq!(store.set_damaged_key_aside().unwrap(), None);
    assert_eq!(store.load("b").unwrap(), Some(record()));
    assert!(matches!(store.load("a"), Err(SignInStoreError::KeyDamaged { .. })));
}

#[cfg(unix)]
fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Not even by a process that has read the key while the file was private.
#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = || FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let old = store();
    old.save("a", &record()).unwrap();
    let key = folder.path().join("key");
    let bytes = std::fs::read(&key).unwrap();
    for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o610] {
        set_mode(&key, mode);
        for store in [&old, &store()] {
            let errors = [
                store.load("a").unwrap_err(),
                store.save("b", &record()).unwrap_err(),
                store.check().unwrap_err(),
                store.key_location().unwrap_err(),
            ];
            for error in errors {
                assert!(
                    matches!(error, SignInStoreError::KeyExposed { .. }),
                    "{mode:o}: {error:?}"
                );
                let said = error.to_string();
                assert!(said.contains(&format!("chmod 600 {}", key.display())), "{said}");
            }
        }
    }
    assert_eq!(std::fs::read(&key).unwrap(), bytes, "what it seals would be lost with it");
    set_mode(&key, 0o600);
    old.check().unwrap();
    assert_eq!(old.load("a").unwrap(), Some(record()));
}

/// With a keychain nothing depends on the file, and records sealed with the keychain's key open.
#[cfg(unix)]
#[test]
fn an_exposed_file_matters_only_without_a_keychain() {
    let folder = tempfile::tempdir().unwrap();
    FileSignInStore::new(folder.path(), Arc::new(NoKeychain)).save("a", &record()).unwrap();
    set_mode(&folder.path().join("key"), 0o644);
    let store = FileSignInStore::new(folder.path(), Arc::new(Chain::default()));
    store.save("b", &record()).unwrap();
    store.check().unwrap();
    assert_eq!(store.load("b").unwrap(), Some(record()));
    assert!(matches!(store.load("a"), Err(SignInStoreError::KeyExposed { .. })));
}
