//! The kept catalogs: each server's lists and facts from its last session, one file for each connection key without
//! its session.
//!
//! Used by `connection::task`, which restores and deletes catalogs, by `engine::supervisor::catalog_keeper`, which
//! saves them, and by commands that remove or reject an entry while no hub runs. A file is replaced whole, so that a killed process or a second one leaves a good catalog or none. A
//! file that cannot be used becomes a problem, and the next catalog of its server replaces it. It does not decide
//! whether a server is started (`connection::task` does).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use switchboard_config::private_file::replace_private_file;

use super::catalog_record::{
    CatalogOrigin, CatalogRecord, MAX_CATALOG_BYTES, RecordError, listed_tools,
};
use super::key::{ConnectionKey, EntryKey};
use crate::problem::{EngineProblem, EngineProblemKind};

/// How many catalogs are kept, those of servers that no workspace of this process has among them.
const MAX_CATALOGS: usize = 256;
/// A catalog that no process used for this long is deleted.
const MAX_UNUSED_AGE: Duration = Duration::from_hours(30 * 24);
/// The folder of the catalogs in the state folder.
const CATALOGS_FOLDER: &str = "catalogs";
/// The ending of a catalog's file.
const CATALOG_SUFFIX: &str = ".json";

/// The kept catalogs. Without a folder nothing is kept.
#[derive(Debug, Default)]
pub struct CatalogStore {
    folder: Option<PathBuf>,
    /// Files that could not be used, until they are written again.
    problems: Mutex<BTreeMap<PathBuf, EngineProblem>>,
}

/// The name of a kept catalog: all catalogs of an entry begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogKey {
    pub(super) entry: EntryKey,
    pub(super) connection: ConnectionKey,
    /// The name of the catalog if the server is a modern one, which has the same lists for all capability classes.
    pub(super) modern: ConnectionKey,
}

// === impl CatalogStore ===

impl CatalogStore {
    /// Opens the catalogs of a state folder, as [`CatalogStore::open`] does.
    pub fn in_state(state_dir: &Path) -> Self {
        Self::open(state_dir.join(CATALOGS_FOLDER))
    }

    /// Opens the catalogs in a folder, and deletes those beyond the limits, the least recently used first.
    pub fn open(folder: PathBuf) -> Self {
        let store = Self { folder: Some(folder), problems: Mutex::default() };
        store.remove_surplus();
        store
    }

    /// Returns the catalog of a server, and marks it as used; `None` where there is none, or none that can be used.
    pub(super) fn load(&self, key: CatalogKey, server: &str) -> Option<CatalogRecord> {
        let of_class = self.load_at(key.entry, key.connection, server);
        let of_all_classes = || {
            let record = self.load_at(key.entry, key.modern, server);
            record.filter(|_| key.modern != key.connection).filter(CatalogRecord::is_modern)
        };
        of_class.or_else(of_all_classes)
    }

    fn load_at(
        &self,
        entry: EntryKey,
        connection: ConnectionKey,
        server: &str,
    ) -> Option<CatalogRecord> {
        let path = self.path(entry, connection)?;
        match read(&path, connection) {
            Ok(record) => {
                mark_used(&path);
                record
            }
            Err(error) => {
                let message = format!("its kept catalog {} is not used: {error}", path.display());
                let problem = EngineProblem::new(EngineProblemKind::Storage, message);
                self.problems.lock().insert(path, problem.of_server(server));
                None
            }
        }
    }

    /// Saves the catalog of a server. One that is too large is not kept. Returns whether that ends a problem.
    pub(crate) fn save(&self, key: CatalogKey, record: &CatalogRecord) -> bool {
        let CatalogKey { entry, connection, modern } = key;
        let name = if record.is_modern() { modern } else { connection };
        let Some(path) = self.path(entry, name) else { return false };
        let Some(text) = record.to_text(name) else {
            self.delete(key);
            return false;
        };
        if let Err(error) = replace_private_file(&path, text.as_bytes()) {
            // The server is started to read its lists, as if it were unknown.
            tracing::warn!(%error, path = %path.display(), "a catalog is not kept");
            return false;
        }
        if name != connection
            && let Some(former) = self.path(entry, connection)
        {
            // The server may have been a legacy one before.
            self.remove(&former);
        }
        self.problems.lock().remove(&path).is_some()
    }

    /// Deletes the catalog of a server.
    pub(crate) fn delete(&self, key: CatalogKey) {
        for name in [key.connection, key.modern] {
            if let Some(path) = self.path(key.entry, name) {
                self.remove(&path);
            }
        }
    }

    /// Deletes every catalog of an entry: of all eras, capability classes and principals.
    pub(crate) fn delete_entry(&self, entry: EntryKey) {
        let prefix = entry_prefix(entry);
        let is_theirs = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
        };
        for (path, _) in self.files().into_iter().filter(|(path, _)| is_theirs(path)) {
            self.remove(&path);
        }
    }

    /// Deletes every catalog that was read for an entry, in whatever environment and project. Reads all catalogs.
    pub fn delete_origin(&self, origin: &CatalogOrigin) -> io::Result<()> {
        for (path, _) in self.files() {
            let failed = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            let text = match fs::read(&path) {
                // Another process has deleted it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                text => text.map_err(failed)?,
            };
            if CatalogOrigin::from_text(&text).as_ref() == Some(origin) {
                self.problems.lock().remove(&path);
                ignore_missing(fs::remove_file(&path)).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Returns the names of the tools of every catalog, with the entry that each was read for. Files that cannot be
    /// used are left out. Reads all catalogs.
    pub fn listed_tools(&self) -> Vec<(CatalogOrigin, Vec<String>)> {
        let files = self.files().into_iter();
        let texts = files.filter_map(|(path, _)| fs::read(path).ok());
        texts.filter_map(|text| listed_tools(&text)).collect()
    }

    /// Returns the problems with files that could not be used.
    pub(crate) fn problems(&self) -> Vec<EngineProblem> {
        self.problems.lock().values().cloned().collect()
    }

    fn remove(&self, path: &Path) {
        self.problems.lock().remove(path);
        if let Err(error) = ignore_missing(fs::remove_file(path)) {
            tracing::warn!(%error, path = %path.display(), "a kept catalog cannot be deleted");
        }
    }

    fn remove_surplus(&self) {
        let mut files = self.files();
        files.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let is_old = |used: &SystemTime| used.elapsed().is_ok_and(|unused| unused > MAX_UNUSED_AGE);
        for (place, (path, used)) in files.iter().enumerate() {
            if place >= MAX_CATALOGS || is_old(used) {
                self.remove(path);
            }
        }
    }

    /// The files of all catalogs, and when each was last used.
    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        let Some(entries) = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok())
        else {
            return Vec::new();
        };
        let used = |entry: fs::DirEntry| {
            let facts = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let is_catalog =
                entry.file_name().as_encoded_bytes().ends_with(CATALOG_SUFFIX.as_bytes());
            is_catalog.then(|| (entry.path(), facts.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
        };
        entries.flatten().filter_map(used).collect()
    }

    fn path(&self, entry: EntryKey, connection: ConnectionKey) -> Option<PathBuf> {
        let name = format!("{}{connection}{CATALOG_SUFFIX}", entry_prefix(entry));
        Some(self.folder.as_ref()?.join(name))
    }
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The beginning of the names of an entry's files.
fn entry_prefix(entry: EntryKey) -> String {
    format!("{:016x}-", entry.number())
}

fn read(path: &Path, key: ConnectionKey) -> Result<Option<CatalogRecord>, RecordError> {
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        facts => facts?,
    };
    if !facts.is_file() || facts.len() > MAX_CATALOG_BYTES {
        return Err(RecordError::Size);
    }
    CatalogRecord::from_text(&fs::read(path)?, key).map(Some)
}

/// Sets the time of last use. A file whose time cannot be set is deleted a little earlier than others.
fn mark_used(path: &Path) {
    if let Ok(file) = File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchboard_config::Scope;
    use switchboard_wire::Version;
    use switchboard_wire::client::ServerFacts;

    use super::super::catalog_record::tests::{key, record};
    use super::*;

    fn path(store: &CatalogStore, number: u64) -> PathBuf {
        store.path(key(number).entry, key(number).connection).unwrap()
    }

    #[test]
    fn a_catalog_is_private_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().join("catalogs"));
        assert!(store.load(key(1), "s").is_none());
        store.save(key(1), &record(&["echo"]));
        let back = store.load(key(1), "s").unwrap();
        let tools: Vec<_> = back.lists.tools.listing.iter().flat_map(|list| &list.items).collect();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].as_str(), r#"{"name":"echo"}"#);
        assert!(store.load(key(2), "s").is_none(), "another principal's");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let (path, _) = store.files().remove(0);
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_a_problem_until_it_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().to_owned());
        store.save(key(1), &record(&["echo"]));
        let path = path(&store, 1);
        let good = fs::read_to_string(&path).unwrap();
        let foreign = good.replace(&key(1).connection.to_string(), &key(2).connection.to_string());
        let changed = good.replace("echo", "evil");
        let large = "x".repeat(usize::try_from(MAX_CATALOG_BYTES).unwrap() + 1);
        for bad in ["", "{", "[]", &good[..good.len() / 2], &foreign, &changed, &large] {
            fs::write(&path, bad).unwrap();
            assert!(store.load(key(1), "s").is_none());
            let problems = store.problems();
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].server.as_deref(), Some("s"));
            assert!(problems[0].message.contains("is not used"), "{}", problems[0].message);
        }
        store.save(key(1), &record(&["echo"]));
        assert!(store.problems().is_empty() && store.load(key(1), "s").is_some());
    }

    #[test]
    fn all_capability_classes_share_the_catalog_of_a_modern_server() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().to_owned());
        let of_class = |number| CatalogKey { connection: key(number).connection, ..key(1) };
        let is_there = |number| store.load(of_class(number), "s").is_some();
        store.save(of_class(2), &record(&["echo"]));
        assert!(is_there(2) && !is_there(3), "a legacy server");
        let mut modern = record(&["echo"]);
        let facts = modern.lists.facts.as_deref().unwrap().clone();
        modern.lists.facts = Some(Arc::new(ServerFacts { version: Version::LATEST, ..facts }));
        store.save(of_class(2), &modern);
        assert!(is_there(2) && is_there(3));
        assert_eq!(store.files().len(), 1);
        store.delete(of_class(3));
        assert!(!is_there(2) && store.files().is_empty());
    }

    #[test]
    fn two_writers_leave_a_good_catalog() {
        let folder = tempfile::tempdir().unwrap();
        let stores = [(); 2].map(|()| CatalogStore::open(folder.path().to_owned()));
        std::thread::scope(|scope| {
            for (store, tool) in stores.iter().zip(["a", "b"]) {
                scope.spawn(move || {
                    for _ in 0..20 {
                        store.save(key(1), &record(&[tool]));
                        assert!(store.load(key(1), "s").is_some());
                    }
                });
            }
        });
        assert!(stores.iter().all(|store| store.problems().is_empty()));
    }

    /// The folder in which this test, started again as a child process, writes until it is killed.
    const WRITER_FOLDER_VAR: &str = "SWITCHBOARD_TEST_WRITER_FOLDER";
    const KILLED_WRITER_TEST: &str =
        "connection::catalog_store::tests::a_killed_writer_leaves_a_good_catalog";

    /// Writes one of two catalogs, again and again.
    fn write_until_killed(folder: &str) {
        let store = CatalogStore::open(folder.into());
        for number in 0..100_000_u32 {
            let tool = if number % 2 == 0 { "a" } else { "b" };
            store.save(key(1), &record(&[tool; 1000]));
            if number == 0 {
                println!("written");
            }
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test starts itself again, and kills it")]
    fn a_killed_writer_leaves_a_good_catalog() {
        use std::io::BufRead as _;
        use std::process::{Command, Stdio};
        if let Ok(folder) = std::env::var(WRITER_FOLDER_VAR) {
            return write_until_killed(&folder);
        }
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().to_owned());
        for round in 0..10 {
            let mut writer = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", KILLED_WRITER_TEST, "--nocapture"])
                .env(WRITER_FOLDER_VAR, folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let output = std::io::BufReader::new(writer.stdout.take().unwrap());
            assert!(output.lines().any(|line| line.unwrap().contains("written")));
            // Each round kills the writer at another moment.
            for _ in 0..=round {
                assert!(store.load(key(1), "s").is_some());
            }
            writer.kill().unwrap();
            writer.wait().unwrap();
            let back = store.load(key(1), "s").unwrap();
            assert_eq!(back.lists.tools.listing.unwrap().items.len(), 1000);
            assert!(store.problems().is_empty());
            assert_eq!(store.files().len(), 1, "a file that was not finished is no catalog");
        }
    }

    #[test]
    fn the_least_recently_used_catalogs_are_deleted_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().to_owned());
        let now = SystemTime::now();
        let age = |number: u64, age: Duration| {
            let path = path(&store, number);
            fs::write(&path, "{}").unwrap();
            File::options().append(true).open(&path).unwrap().set_modified(now - age).unwrap();
        };
        for number in 0..MAX_CATALOGS as u64 + 2 {
            age(number, Duration::from_secs(1000 - number));
        }
        age(1_000, MAX_UNUSED_AGE + Duration::from_secs(1));
        drop(CatalogStore::open(folder.path().to_owned()));
        let is_there = |number| path(&store, number).exists();
        assert_eq!(store.files().len(), MAX_CATALOGS);
        assert!(!is_there(0) && !is_there(1) && is_there(2) && !is_there(1_000));
    }

    #[test]
    fn a_changed_entry_loses_all_its_catalogs() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::open(folder.path().to_owned());
        let of_same_entry = CatalogKey { connection: key(9).connection, ..key(1) };
        for key in [key(1), of_same_entry, key(2)] {
            store.save(key, &record(&[]));
        }
        store.delete_entry(key(1).entry);
        let is_there = |key| store.load(key, "s").is_some();
        assert!(!is_there(key(1)) && !is_there(of_same_entry) && is_there(key(2)));
    }

    #[test]
    fn the_catalogs_of_an_origin_are_deleted_whatever_their_keys() {
        let folder = tempfile::tempdir().unwrap();
        let store = CatalogStore::in_state(folder.path());
        let origin = |name: &str, scope| CatalogOrigin::new(name, scope, Path::new("/home/a"));
        let save = |number, origin| {
            store.save(key(number), &CatalogRecord { origin, ..record(&["echo"]) });
        };
        save(1, Some(origin("one", Scope::User)));
        save(2, Some(origin("one", Scope::User)));
        save(3, Some(origin("one", Scope::Local)));
        save(4, Some(origin("two", Scope::User)));
        save(5, None);
        fs::write(path(&store, 6), "{").unwrap();
        store.delete_origin(&origin("one", Scope::User)).unwrap();
        let left: Vec<_> = (1..=6).filter(|number| path(&store, *number).exists()).collect();
        assert_eq!(left, [3, 4, 5, 6]);
        store.delete_origin(&origin("one", Scope::User)).unwrap();
    }
}
