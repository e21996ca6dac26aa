//! The configured servers that an import compares with.
//!
//! Used by `workspace`. It does not compare (`plan`).

use super::ExistingServer;
use super::identity::{ComparedEntry, IdentityContext};
use crate::approval::Approvals;
use crate::host_context::{HostContext, ResolveOptions};
use crate::load::{self, EntryCandidate};
use crate::resolve::Desired;
use crate::scope::Scope;

/// The entries of all files but those of a single run, a connector catalog or an agent: a run ends, and a
/// catalog may change tomorrow.
pub(crate) fn existing_servers(
    surroundings: &HostContext,
    desired: &Desired,
    approvals: &Approvals,
) -> Vec<ExistingServer> {
    let loaded = load::load_scopes(surroundings, &ResolveOptions::default());
    let context =
        IdentityContext { host: surroundings, providers: &desired.settings.secret_providers };
    let is_lasting = |candidate: &&EntryCandidate| {
        !matches!(candidate.scope, Scope::Dynamic | Scope::Connectors | Scope::Agent)
    };
    let existing = loaded.candidates.iter().filter(is_lasting).map(|candidate| ExistingServer {
        name: candidate.name.clone(),
        scope: candidate.scope,
        at: candidate.at.clone(),
        entry: is_decided(candidate, desired, approvals)
            .then(|| ComparedEntry::new(&candidate.node, &candidate.start_folder, &context))
            .flatten(),
    });
    existing.collect()
}

/// Whether the user or the administrator wrote an entry, or a person approved it.
fn is_decided(candidate: &EntryCandidate, desired: &Desired, approvals: &Approvals) -> bool {
    let is_ready = || {
        let mut servers = desired.ready_servers();
        servers.any(|(server, _)| server.name == candidate.name && server.at == candidate.at)
    };
    candidate.item.as_ref().is_none_or(|item| approvals.is_approved(item) || is_ready())
}
