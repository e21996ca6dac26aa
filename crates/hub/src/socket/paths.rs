//! Paths of the hub's socket and locks.
//!
//! A socket address has room for 107 bytes, and a home can be longer than that, read-only or on a full disk. So the
//! folders are tried in turn: the session's runtime directory, user state, and a short folder in `/tmp` named after the
//! user id. A folder that other users can enter is an error and is never skipped: another user may have opened it to
//! make the hub listen elsewhere.
//!
//! Used by `listen`, by [`crate::attach`] and [`crate::admin::client`], and by the commands that look for a hub. It
//! does not bind or connect, except to test whether a hub answers on a read-only disk.

use std::{
    fs::{self, DirBuilder, Metadata, OpenOptions},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};
use switchboard_config::HostContext;

use super::SocketError;

/// The longest path that fits a socket address.
const MAX_SOCKET_PATH_BYTES: usize = 107;
/// Bytes of the digest in the socket's name; it tells one pair of folders from another.
const DIGEST_BYTES: usize = 8;

/// The folders that determine the socket's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFolders {
    /// The user's configuration folder.
    pub config: PathBuf,
    /// The user's state folder.
    pub state: PathBuf,
    /// `XDG_RUNTIME_DIR`, where it is set.
    pub runtime: Option<PathBuf>,
    /// The parent of the short private folder: `/tmp`, not `TMPDIR`, so that all clients find it.
    pub short: PathBuf,
}

/// The paths of one hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubPaths {
    folder: PathBuf,
    name: String,
}

/// A folder that may hold the socket.
enum SocketFolder {
    /// Inside the runtime directory, which must exist.
    Runtime(PathBuf),
    /// Inside user state, which is created if it is missing.
    State(PathBuf),
    /// Inside a folder that all users can write to.
    Short(PathBuf),
}

// === impl HubFolders ===

impl HubFolders {
    /// The folders of one caller.
    pub fn from_surroundings(surroundings: &HostContext) -> Self {
        let runtime = surroundings.env.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self {
            config: surroundings.config_dir.clone(),
            state: surroundings.state_dir.clone(),
            runtime: runtime.filter(|path| path.is_absolute()),
            short: "/tmp".into(),
        }
    }

    /// A name that is equal for clients of one hub. Paths count as they are written, because their targets may not
    /// exist yet.
    fn digest_name(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.config.as_os_str().as_bytes());
        digest.update([0]);
        digest.update(self.state.as_os_str().as_bytes());
        let digest = digest.finalize();
        let hex = digest[..DIGEST_BYTES].iter().map(|byte| format!("{byte:02x}"));
        format!("hub-{}", hex.collect::<String>())
    }

    fn candidates(&self) -> Vec<SocketFolder> {
        // After `su`, `XDG_RUNTIME_DIR` may still name the folder of another user.
        let runtime = self.runtime.as_ref().filter(|path| is_folder_of_ours(path));
        let runtime = runtime.map(|path| SocketFolder::Runtime(path.join("switchboard")));
        let short = self.short.join(format!("switchboard-{}", geteuid()));
        let rest = [SocketFolder::State(self.state.join("run")), SocketFolder::Short(short)];
        runtime.into_iter().chain(rest).collect()
    }
}

/// Returns the files of this hub that exist, in all folders that may hold its socket. Creates nothing.
pub fn hub_files(folders: &HubFolders) -> Vec<PathBuf> {
    let name = folders.digest_name();
    let candidates = folders.candidates().into_iter();
    let places = candidates
        .map(|candidate| HubPaths { folder: candidate.path().to_owned(), name: name.clone() });
    let files =
        places.flat_map(|place| [place.socket_path(), place.lock_path(), place.start_lock_path()]);
    files.filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

// === impl HubPaths ===

impl HubPaths {
    /// Finds the paths and creates their folder. Reads the file system, so it may block.
    pub fn find(folders: &HubFolders) -> Result<Self, SocketError> {
        let name = folders.digest_name();
        let mut shortest = folders.short.clone();
        let mut unusable = None;
        for candidate in folders.candidates() {
            let place = Self { folder: candidate.path().to_owned(), name: name.clone() };
            if place.socket_path().as_os_str().len() > MAX_SOCKET_PATH_BYTES {
                shortest.clone_from(&place.folder);
                continue;
            }
            match candidate.create().and_then(|()| place.check_writable()) {
                Ok(()) => return Ok(place),
                Err(error @ SocketError::Io { .. }) => unusable = unusable.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(unusable.unwrap_or(SocketError::TooLong { path: shortest }))
    }

    /// Checks that a hub could listen here. A running hub counts too: it may have begun before the disk was full or
    /// read-only.
    fn check_writable(&self) -> Result<(), SocketError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        match options.open(self.lock_path()) {
            Ok(_) => Ok(()),
            Err(_) if UnixStream::connect(self.socket_path()).is_ok() => Ok(()),
            Err(error) => Err(SocketError::io("write to", &self.folder)(error)),
        }
    }

    /// The path of the socket.
    pub fn socket_path(&self) -> PathBuf {
        self.file("sock")
    }

    /// The lock that the hub holds for as long as it lives.
    pub fn lock_path(&self) -> PathBuf {
        self.file("lock")
    }

    /// The lock that a client holds while it starts a hub.
    pub fn start_lock_path(&self) -> PathBuf {
        self.file("starting")
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

// === impl SocketFolder ===

impl SocketFolder {
    fn path(&self) -> &Path {
        match self {
            Self::Runtime(path) | Self::State(path) | Self::Short(path) => path,
        }
    }

    fn create(&self) -> Result<(), SocketError> {
        let path = self.path();
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(matches!(self, Self::State(_)));
        match builder.create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(SocketError::io("create", path)(error));
            }
            _ => {}
        }
        let found = fs::symlink_metadata(path).map_err(SocketError::io("look at", path))?;
        match privacy_fault(&found, geteuid().as_raw()) {
            None => Ok(()),
            Some(fault) => Err(SocketError::NotPrivate { path: path.to_owned(), fault }),
        }
    }
}

/// Why a folder is not private to `user`.
fn privacy_fault(found: &Metadata, user: u32) -> Option<&'static str> {
    if !found.is_dir() {
        Some("is not a folder")
    } else if found.uid() != user {
        Some("belongs to another user")
    } else if found.permissions().mode() & 0o077 != 0 {
        Some("can be entered by other users")
    } else {
        None
    }
}

fn is_folder_of_ours(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_config::Platform;

    fn folders(home: &Path) -> HubFolders {
        HubFolders {
            config: home.join("config"),
            state: home.join("state"),
            runtime: Some(home.join("runtime")),
            short: home.join("tmp"),
        }
    }

    fn private(path: &Path) {
        DirBuilder::new().recursive(true).mode(0o700).create(path).unwrap();
    }

    /// The chosen folder, relative to the home.
    fn taken(folders: &HubFolders, home: &Path) -> String {
        let place = HubPaths::find(folders).unwrap();
        assert!(place.socket_path().as_os_str().len() <= MAX_SOCKET_PATH_BYTES);
        let mode = fs::metadata(&place.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        place.folder.strip_prefix(home).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn the_first_folder_that_is_there_and_fits() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        let mut folders = folders(home);
        assert_eq!(taken(&folders, home), "state/run", "no runtime directory was made");
        private(&home.join("runtime"));
        assert_eq!(taken(&folders, home), "runtime/switchboard");
        folders.runtime = None;
        assert_eq!(taken(&folders, home), "state/run");

        private(&home.join("tmp"));
        folders.state = home.join("long/".repeat(30));
        let short = format!("tmp/switchboard-{}", geteuid());
        assert_eq!(taken(&folders, home), short);
        folders.short = home.join("long/".repeat(30));
        assert!(matches!(HubPaths::find(&folders), Err(SocketError::TooLong { .. })));
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        let folders = folders(home);
        let short = format!("tmp/switchboard-{}", geteuid());
        private(&home.join("tmp"));
        // As on a read-only disk: neither the folder nor a file in it can be created.
        fs::write(home.join("state"), "").unwrap();
        assert_eq!(taken(&folders, home), short);
        fs::remove_file(home.join("state")).unwrap();
        private(&home.join("state/run"));
        let place = HubPaths { folder: home.join("state/run"), name: folders.digest_name() };
        fs::create_dir(place.lock_path()).unwrap();
        assert_eq!(taken(&folders, home), short);
        // A running hub in that folder is still found.
        let listening = std::os::unix::net::UnixListener::bind(place.socket_path()).unwrap();
        assert_eq!(taken(&folders, home), "state/run");
        drop(listening);
        assert_eq!(taken(&folders, home), short, "nobody listens there any more");
        // The error names the first folder that failed, which is the one to repair.
        let nowhere = HubFolders { short: home.join("nowhere"), ..folders };
        let error = HubPaths::find(&nowhere).unwrap_err();
        assert!(error.to_string().contains("state/run"), "{error}");
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let mut folders = folders(temp.path());
        folders.state = temp.path().join("long/".repeat(30));
        let short = folders.short.join(format!("switchboard-{}", geteuid()));
        private(&short);
        assert!(HubPaths::find(&folders).is_ok());

        let check = |expected: &str| match HubPaths::find(&folders) {
            Err(SocketError::NotPrivate { fault, .. }) => assert_eq!(fault, expected),
            other => panic!("{other:?}"),
        };
        fs::set_permissions(&short, fs::Permissions::from_mode(0o750)).unwrap();
        check("can be entered by other users");
        fs::remove_dir_all(&short).unwrap();
        // Another user could have created the link, and would choose its target.
        private(&temp.path().join("elsewhere"));
        std::os::unix::fs::symlink(temp.path().join("elsewhere"), &short).unwrap();
        check("is not a folder");
    }

    #[test]
    fn a_folder_of_another_user_is_not_private() {
        let temp = tempfile::tempdir().unwrap();
        private(&temp.path().join("own"));
        let found = fs::metadata(temp.path().join("own")).unwrap();
        assert_eq!(privacy_fault(&found, geteuid().as_raw()), None);
        assert_eq!(privacy_fault(&found, geteuid().as_raw() + 1), Some("belongs to another user"));
    }

    #[test]
    fn a_relative_runtime_directory_is_none() {
        for (given, expected) in [
            (None, None),
            (Some("run/me"), None),
            (Some("/run/me"), Some(PathBuf::from("/run/me"))),
        ] {
            let runtime = given.map(|value| ("XDG_RUNTIME_DIR".to_owned(), value.to_owned()));
            let home = ("HOME".to_owned(), "/home/me".to_owned());
            let env = std::iter::once(home).chain(runtime).collect();
            let caller = HostContext::for_platform(Platform::Linux, env, "/".into()).unwrap();
            let folders = HubFolders::from_surroundings(&caller);
            assert_eq!(folders.runtime, expected);
            assert_eq!(folders.state, Path::new("/home/me/.local/state/switchboard"));
        }
    }

    #[test]
    fn every_pair_of_folders_has_a_hub_of_its_own() {
        let one = folders(Path::new("/home/a"));
        let other = HubFolders { state: "/elsewhere".into(), ..one.clone() };
        let moved = HubFolders { runtime: None, ..one.clone() };
        assert_ne!(one.digest_name(), other.digest_name());
        assert_eq!(one.digest_name(), moved.digest_name());
        assert_eq!(one.digest_name().len(), "hub-".len() + 2 * DIGEST_BYTES);
    }
}
