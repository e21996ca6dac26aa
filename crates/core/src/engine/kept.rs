//! What an engine keeps on disk: logs, large results, remembered answers, how servers were reached, the key of handles.

use std::sync::Arc;

use super::EngineOptions;
use super::eras::Eras;
use crate::audit::{Audit, AuditLog};
use crate::logs::Logs;
use crate::permission::Memory;
use crate::problem::{Problem, ProblemKind};
use crate::results::Store;
use crate::sealing::{Seal, Sealer};

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
    /// Opens what lies in the folder for state; without one nothing is kept.
    pub(super) async fn open(options: &EngineOptions) -> Self {
        let Some(state) = options.state_dir.clone() else { return Self::nothing() };
        let mut kept = Self::nothing();
        match Store::open(state.join("results"), options.results_bytes, options.results_age).await {
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
