//! Listening: one hub in one place.

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

/// How often a lock that another process holds is tried.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often a hub looks whether its socket is still there: programs that tidy up remove old files.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How long conversations may take to end once they have been told to.
const CONVERSATION_END_TIMEOUT: Duration = Duration::from_secs(2);
/// How long nothing is accepted after accepting failed: there may be no descriptor left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A socket that is listened on, under the hub's lock.
#[derive(Debug)]
pub struct HubListener {
    socket: UnixListener,
    path: PathBuf,
    /// What the path led to when it was bound.
    file: Option<u64>,
    lock: FileLock,
}

/// A hub that no longer listens.
#[derive(Debug)]
pub struct EndedHub {
    /// Why.
    pub why: HubEndReason,
    /// To be dropped when everything else has ended: the next hub waits for it.
    pub lock: FileLock,
}

/// Takes the lock at `path`, unless another process holds it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<FileLock>, SocketError> {
    FileLock::try_acquire(path).map_err(SocketError::io("lock", path))
}

// === impl Listener ===

impl HubListener {
    /// Listens in `place`. A hub that is about to end is waited for, as long as `patience`.
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

    /// Serves clients until `stop` is cancelled, somebody asks for the end, or nobody needs the hub any more.
    pub async fn serve<H: HubBackend>(
        mut self,
        hub: Arc<H>,
        options: ListenOptions,
        stop: CancellationToken,
    ) -> EndedHub {
        let desk = Arc::new(HubState::new(hub, options, stop));
        let mut conversations = JoinSet::new();
        let why = self.accept(&desk, &mut conversations).await;
        // From here on a client that comes finds nobody, and starts a hub that waits for our lock.
        drop(self.socket);
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the hub's socket stays behind");
        }
        desk.drain(why).await;
        let ended = async { while conversations.join_next().await.is_some() {} };
        let _ = timeout(CONVERSATION_END_TIMEOUT, ended).await;
        conversations.shutdown().await;
        EndedHub { why, lock: self.lock }
    }

    async fn accept<H: HubBackend>(
        &mut self,
        desk: &Arc<HubState<H>>,
        conversations: &mut JoinSet<()>,
    ) -> HubEndReason {
        let ending = desk.wait_for_end();
        tokio::pin!(ending);
        let mut check = interval(SOCKET_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let has_room = conversations.len() < desk.options.connections;
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
                        conversations.spawn(serve_connection(desk.clone(), stream));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                },
            }
        }
    }

    /// Binds again where the socket's file is gone. The lock is ours, so nobody else has taken its place.
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

/// Which file a path leads to.
fn file_inode(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.ino())
}

/// Binds the socket. Only for the lock's holder: what is there is a leftover, unless it answers all the same, which
/// takes a lock that was deleted by hand.
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
    // The folder keeps others out already.
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(path, private).map_err(SocketError::io("make private", path))?;
    Ok(socket)
}

async fn is_answered(path: &Path) -> bool {
    UnixStream::connect(path).await.is_ok()
}
