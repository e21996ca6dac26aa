//! The hub's listener: takes the lock, binds the socket, accepts connections until the hub ends.
//!
//! Used by the hub command. It does not read from connections (`connection` does) and does not decide when the hub ends
//! (`hub_state` does).

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use switchboard_config::private_file::FileLock;
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    HubBackend, HubEndReason, HubPaths, ListenOptions, SocketError, connection::serve_connection,
    hub_state::HubState,
};

/// How often a lock that another process holds is retried.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often a hub checks that its socket file still exists: clean-up programs remove old files.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How long connections may take to end after `closing` is cancelled.
const CONVERSATION_END_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause after `accept` failed: the process may have no descriptor left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A bound socket, under the hub's lock.
#[derive(Debug)]
pub struct HubListener {
    socket: UnixListener,
    path: PathBuf,
    /// The inode of the socket file when it was bound.
    file: Option<u64>,
    lock: FileLock,
}

/// A hub that no longer listens.
#[derive(Debug)]
pub struct EndedHub {
    /// Why the hub ended.
    pub why: HubEndReason,
    /// To be dropped when everything else has ended: the next hub waits for this lock.
    pub lock: FileLock,
}

/// Takes the lock at `path`, unless another process holds it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<FileLock>, SocketError> {
    FileLock::try_acquire(path).map_err(SocketError::io("lock", path))
}

/// Waits, up to `patience`, for a hub that is about to end: it holds its lock and is not listening any more. Returns at
/// once where a hub listens, or none runs.
pub async fn wait_for_ending_hub(place: &HubPaths, patience: Duration) {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        // `HubListener::bind` reports an error of the lock.
        let is_free = try_lock(&place.lock_path()).map_or(true, |lock| lock.is_some());
        if is_free || is_answered(&place.socket_path()).await {
            return;
        }
        sleep(LOCK_POLL_INTERVAL).await;
    }
}

// === impl HubListener ===

impl HubListener {
    /// Listens at `place`. Waits up to `patience` for a hub that is about to end.
    pub async fn bind(place: &HubPaths, patience: Duration) -> Result<Self, SocketError> {
        let path = place.socket_path();
        let deadline = Instant::now() + patience;
        loop {
            if let Some(lock) = try_lock(&place.lock_path())? {
                let socket = bind_socket(&path).await?;
                return Ok(Self { socket, file: file_inode(&path), path, lock });
            }
            if is_answered(&path).await {
                return Err(SocketError::AlreadyRunning { path });
            }
            if Instant::now() > deadline {
                return Err(SocketError::Locked { path: place.lock_path() });
            }
            sleep(LOCK_POLL_INTERVAL).await;
        }
    }

    /// Serves clients until `stop` is cancelled, a client asks for the end, or the hub has been idle long enough.
    pub async fn serve<H: HubBackend>(
        mut self,
        hub: Arc<H>,
        options: ListenOptions,
        stop: CancellationToken,
    ) -> EndedHub {
        let state = Arc::new(HubState::new(hub, options, stop));
        let mut conversations = JoinSet::new();
        let why = self.accept(&state, &mut conversations).await;
        // From here on a new client finds no listener, and starts a hub that waits for our lock.
        drop(self.socket);
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the hub's socket stays behind");
        }
        state.drain(why).await;
        let ended = async { while conversations.join_next().await.is_some() {} };
        let _ = timeout(CONVERSATION_END_TIMEOUT, ended).await;
        conversations.shutdown().await;
        EndedHub { why, lock: self.lock }
    }

    async fn accept<H: HubBackend>(
        &mut self,
        state: &Arc<HubState<H>>,
        conversations: &mut JoinSet<()>,
    ) -> HubEndReason {
        let ending = state.wait_for_end();
        tokio::pin!(ending);
        let mut check = interval(SOCKET_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let has_room = conversations.len() < state.options.connections;
            tokio::select! {
                why = &mut ending => return why,
                _ = check.tick() => self.stay_in_place().await,
                Some(ended) = conversations.join_next(), if !conversations.is_empty() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "a conversation failed");
                    }
                }
                accepted = self.socket.accept(), if has_room => match accepted {
                    Ok((stream, _)) => {
                        conversations.spawn(serve_connection(state.clone(), stream));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                },
            }
        }
    }

    /// Binds again if the socket's file is gone. We hold the lock, so no other hub can have taken the path.
    async fn stay_in_place(&mut self) {
        if file_inode(&self.path) == self.file {
            return;
        }
        match bind_socket(&self.path).await {
            Ok(socket) => {
                self.socket = socket;
                self.file = file_inode(&self.path);
                tracing::warn!("the hub's socket was removed, and is back");
            }
            Err(error) => tracing::warn!(%error, "the hub's socket was removed"),
        }
    }
}

/// The inode that a path leads to.
fn file_inode(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.ino())
}

/// Binds the socket. Only for the holder of the lock: an existing file is a leftover. It can still answer if a person
/// deleted the lock by hand; then binding fails.
async fn bind_socket(path: &Path) -> Result<UnixListener, SocketError> {
    if is_answered(path).await {
        return Err(SocketError::AlreadyRunning { path: path.to_owned() });
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(SocketError::io("remove", path)(error));
        }
        _ => {}
    }
    let socket = UnixListener::bind(path).map_err(SocketError::io("listen on", path))?;
    // The folder keeps other users out already; this is a second barrier.
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(path, private).map_err(SocketError::io("make private", path))?;
    Ok(socket)
}

async fn is_answered(path: &Path) -> bool {
    UnixStream::connect(path).await.is_ok()
}
