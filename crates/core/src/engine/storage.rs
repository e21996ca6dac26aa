//! Opens the files of an engine: logs, spilled results, remembered answers, eras, kept catalogs, the sealing key, the audit log.
//!
//! Used by `Engine::start`. Each store is in a module of its own; one that cannot be opened becomes a problem.

use std::sync::Arc;

use crate::audit::{AuditLog, AuditSink};
use crate::connection::CatalogStore;
use crate::engine::EngineOptions;
use crate::engine::supervisor::era_store::EraStore;
use crate::logs::ServerLogs;
use crate::permission::PermissionMemory;
use crate::problem::{EngineProblem, EngineProblemKind};
use crate::results::ResultStore;
use crate::sealing::{HandleSealer, LocalSealer};

/// The opened stores, and problems with those that could not be opened.
pub(in crate::engine) struct EngineStorage {
    pub(in crate::engine) logs: Option<ServerLogs>,
    pub(in crate::engine) store: Option<ResultStore>,
    pub(in crate::engine) memory: PermissionMemory,
    pub(in crate::engine) eras: EraStore,
    pub(in crate::engine) catalogs: Arc<CatalogStore>,
    pub(in crate::engine) sealer: Arc<dyn HandleSealer>,
    pub(in crate::engine) audit: Option<Arc<dyn AuditSink>>,
    pub(in crate::engine) problems: Vec<EngineProblem>,
}

// === impl EngineStorage ===

impl EngineStorage {
    /// Opens the stores in the state folder; without one nothing is stored.
    pub(in crate::engine) async fn open(options: &EngineOptions) -> Self {
        let Some(state) = options.state_dir.clone() else { return Self::without_disk() };
        let mut kept = Self::without_disk();
        match ResultStore::open(state.join("results"), options.results_bytes, options.results_age)
            .await
        {
            Ok(store) => kept.store = Some(store),
            Err(error) => kept.problems.push(storage_problem(&error)),
        }
        match AuditLog::open(&state.join("logs")) {
            Ok(audit) => kept.audit = Some(Arc::new(audit)),
            Err(error) => kept.problems.push(storage_problem(&error)),
        }
        let opened = tokio::task::spawn_blocking(move || {
            let logs = ServerLogs::open(state.join("logs"));
            (
                logs,
                PermissionMemory::open(&state),
                EraStore::open(&state),
                CatalogStore::in_state(&state),
                LocalSealer::open(&state),
            )
        });
        match opened.await {
            Ok((logs, (memory, unremembered), eras, catalogs, (sealer, unsealed))) => {
                kept.memory = memory;
                kept.eras = eras;
                kept.catalogs = Arc::new(catalogs);
                kept.sealer = Arc::new(sealer);
                kept.problems.extend(unremembered);
                kept.problems.extend(unsealed);
                match logs {
                    Ok(logs) => kept.logs = Some(logs),
                    Err(error) => kept.problems.push(storage_problem(&error)),
                }
            }
            Err(error) => kept.problems.push(storage_problem(&error)),
        }
        kept
    }

    fn without_disk() -> Self {
        Self {
            logs: None,
            store: None,
            memory: PermissionMemory::in_memory(),
            eras: EraStore::default(),
            catalogs: Arc::default(),
            sealer: Arc::new(LocalSealer::ephemeral()),
            audit: None,
            problems: Vec::new(),
        }
    }
}

fn storage_problem(error: &dyn std::error::Error) -> EngineProblem {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    EngineProblem::new(EngineProblemKind::Storage, format!("{error}{cause}"))
}
