//! What an engine keeps on disk: logs, large results, remembered answers, how servers were reached, the key of handles.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::eras::Eras;
use crate::audit::{Audit, AuditLog};
use crate::logs::Logs;
use crate::permission::Memory;
use crate::problem::{Problem, ProblemKind};
use crate::results::Store;
use crate::sealing::{Seal, Sealer};

/// Bytes kept of large results, in all.
const RESULTS: u64 = 1 << 30;
/// How long each is kept.
const DAYS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Everything that could be opened, and what could not.
pub(super) struct Kept {
    pub(super) logs: Option<Logs>,
    pub(super) store: Option<Store>,
    pub(super) memory: Memory,
    pub(super) eras: Eras,
    pub(super) sealer: Arc<dyn Seal>,
    pub(super) audit: Option<Arc<dyn Audit>>,
    pub(super) problems: Vec<Problem>,
}

// === impl Kept ===

impl Kept {
    /// Opens what lies in `state_dir`; without one nothing is kept.
    pub(super) async fn open(state_dir: Option<PathBuf>) -> Self {
        let Some(state) = state_dir else { return Self::nothing() };
        let mut kept = Self::nothing();
        match Store::open(state.join("results"), RESULTS, DAYS).await {
            Ok(store) => kept.store = Some(store),
            Err(error) => kept.problems.push(storage(&error)),
        }
        match AuditLog::open(&state.join("logs")) {
            Ok(audit) => kept.audit = Some(Arc::new(audit)),
            Err(error) => kept.problems.push(storage(&error)),
        }
        let opened = tokio::task::spawn_blocking(move || {
            let logs = Logs::open(state.join("logs"));
            (logs, Memory::open(&state), Eras::open(&state), Sealer::open(&state))
        });
        match opened.await {
            Ok((logs, (memory, unremembered), eras, (sealer, unsealed))) => {
                kept.memory = memory;
                kept.eras = eras;
                kept.sealer = Arc::new(sealer);
                kept.problems.extend(unremembered);
                kept.problems.extend(unsealed);
                match logs {
                    Ok(logs) => kept.logs = Some(logs),
                    Err(error) => kept.problems.push(storage(&error)),
                }
            }
            Err(error) => kept.problems.push(storage(&error)),
        }
        kept
    }

    fn nothing() -> Self {
        Self {
            logs: None,
            store: None,
            memory: Memory::forgetful(),
            eras: Eras::default(),
            sealer: Arc::new(Sealer::fleeting()),
            audit: None,
            problems: Vec::new(),
        }
    }
}

fn storage(error: &dyn std::error::Error) -> Problem {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Problem::new(ProblemKind::Storage, format!("{error}{cause}"))
}
