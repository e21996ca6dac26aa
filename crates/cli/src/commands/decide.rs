//! Finds the items of a project that a name means in `approve` and `reject`.
//!
//! Used by these two commands. It does not store decisions (`config::ConfigWorkspace` does).

use switchboard_config::{ApprovalItem, ApprovalItemKind, Desired, DesiredServer, ServerReadiness};

use super::pending::PendingCase;

/// All items that await approval.
pub(super) fn waiting(desired: &Desired) -> Vec<PendingCase> {
    let pending = desired.pending.iter();
    pending
        .map(|pending| PendingCase { item: pending.item.clone(), changes: pending.changes.clone() })
        .collect()
}

/// Items with this name that await approval, or that a person rejected before. A server comes before other items of its
/// name, so that a project cannot attach another item to it.
pub(super) fn approvable(desired: &Desired, name: &str) -> Vec<PendingCase> {
    let mut cases = waiting(desired);
    cases.extend(refused(desired).map(case));
    narrowed(cases, name)
}

/// Items with this name that await approval, or that a person approved before.
pub(super) fn rejectable(desired: &Desired, name: &str) -> Vec<PendingCase> {
    let mut cases = waiting(desired);
    let decided = desired.servers.iter().filter_map(|server| server.item.clone());
    let decided: Vec<_> =
        decided.filter(|item| !cases.iter().any(|case| case.item == *item)).collect();
    cases.extend(decided.into_iter().map(case));
    narrowed(cases, name)
}

/// Servers that were rejected by a person, not by a file.
fn refused(desired: &Desired) -> impl Iterator<Item = ApprovalItem> {
    let by_person = |server: &&DesiredServer| matches!(&server.state, ServerReadiness::Rejected(reason) if reason.by.is_none());
    let servers = desired.servers.iter().filter(by_person);
    servers.filter_map(|server| server.item.clone())
}

fn case(item: ApprovalItem) -> PendingCase {
    PendingCase { item, changes: None }
}

fn narrowed(mut cases: Vec<PendingCase>, name: &str) -> Vec<PendingCase> {
    cases.retain(|case| case.item.name == name);
    if cases.iter().any(|case| case.item.kind == ApprovalItemKind::Server) {
        cases.retain(|case| case.item.kind == ApprovalItemKind::Server);
    }
    cases
}
