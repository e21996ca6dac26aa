//! What stays in force while an edit is broken. The module above says why it is done so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::{
    ConfigProblemKind, Desired, DesiredServer, EDITOR_SERVER, Located, Mode, NotReadyReason,
    PermissionRule, PermissionRules, ServerReadiness, SourceLocation, SourceOrigin,
};

use super::files::FileStates;

/// Everything that was read at one moment, and what came of it.
#[derive(Clone)]
pub(super) struct SourcesReading {
    pub(super) desired: Desired,
    pub(super) look: FileStates,
    /// The catalogue it was read with.
    pub(super) catalogue: Option<Arc<str>>,
    /// What is wrong with the files that editors left.
    pub(super) editor_problems: Vec<switchboard_core::EngineProblem>,
    /// Whether nothing changed while it was read.
    pub(super) is_settled: bool,
}

/// What is in force.
pub(super) enum EffectiveState {
    /// What was read.
    Present,
    /// The last good state, because of these files.
    Held(BTreeSet<PathBuf>),
    /// What was read; others than these files changed too, so they cannot be held.
    Changed(BTreeSet<PathBuf>),
}

// === impl Reading ===

impl SourcesReading {
    /// The files that are there and cannot be read or parsed. The administrator's are never among them: what is wrong
    /// with those is of another kind.
    fn unusable_files(&self) -> BTreeSet<PathBuf> {
        let problems = self.desired.problems.iter();
        let unusable = problems.filter(|problem| {
            matches!(problem.kind, ConfigProblemKind::Malformed | ConfigProblemKind::Unreadable)
        });
        let files = unusable.filter_map(|problem| problem.at.as_ref()?.origin.path());
        files.filter(|file| self.look.exists(file)).map(Path::to_owned).collect()
    }

    /// Whether another one was read from the same.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        self.is_settled
            && self.look.is_same_except(&other.look, &BTreeSet::new())
            && self.catalogue == other.catalogue
            && self.editor_location() == other.editor_location()
    }

    /// Where the editor was found. It may end without touching any file.
    fn editor_location(&self) -> Option<&SourceLocation> {
        self.desired.servers_named(EDITOR_SERVER).next().map(|server| &server.at)
    }

    /// What is in force now, if `good` was the last good state.
    pub(super) fn effective_state(&self, good: &Self) -> EffectiveState {
        let before = good.unusable_files();
        let broken: BTreeSet<_> = self.unusable_files().difference(&before).cloned().collect();
        if broken.is_empty() {
            EffectiveState::Present
        } else if self.look.is_same_except(&good.look, &broken) && self.catalogue == good.catalogue
        {
            EffectiveState::Held(broken)
        } else {
            EffectiveState::Changed(broken)
        }
    }
}

/// What of `now` may count while `broken` files hide what they say; `good` was the last state with all of them.
pub(super) fn narrow_desired(now: &Desired, good: &Desired, broken: &BTreeSet<PathBuf>) -> Desired {
    let mut desired = mark_waiting(now, good, broken);
    // The administrator decides alone; nothing of the user's files has a say in which servers there are.
    if !now.exclusive {
        for server in &mut desired.servers {
            hold_back(server, good, broken);
        }
    }
    desired.rules = merge_rules(&now.rules, &good.rules);
    let is_hidden =
        |at: &SourceLocation| at.origin.path().is_some_and(|file| broken.contains(file));
    let hooks = good.hooks.iter();
    // A hook of the user's may be there to refuse; one of a project may have lost its approval.
    let hooks = hooks.filter(|hook| is_hidden(&hook.at) && hook.scope.is_trusted());
    desired.hooks.extend(hooks.cloned());
    let (settings, before) = (&mut desired.settings, &good.settings);
    keep_hidden_setting(&mut settings.connectors, before.connectors.as_ref(), is_hidden);
    keep_hidden_setting(&mut settings.xaa_idp, before.xaa_idp.as_ref(), is_hidden);
    let plugins = before.native_plugins.iter();
    let plugins = plugins.filter(|plugin| is_hidden(&plugin.at));
    settings.native_plugins.extend(plugins.cloned());
    settings.ide_tools = settings.ide_tools.take().or_else(|| before.ide_tools.clone());
    settings.limits = before.limits.clone();
    settings.plugins = before.plugins.clone();
    desired
}

/// `now`, with the servers of `broken` files shown as waiting. They keep their names: one of a lower scope that would
/// step in may have been switched off by them.
pub(super) fn mark_waiting(now: &Desired, good: &Desired, broken: &BTreeSet<PathBuf>) -> Desired {
    let mut desired = now.clone();
    if now.exclusive {
        return desired;
    }
    let is_hidden = |server: &&DesiredServer| {
        let file = server.at.origin.path();
        file.is_some_and(|file| broken.contains(file))
    };
    for hidden in good.servers.iter().filter(is_hidden) {
        let is_named = |server: &&mut DesiredServer| server.name == hidden.name;
        let mut same = desired.servers.iter_mut().filter(is_named).peekable();
        if same.peek().is_some() {
            same.for_each(|server| hold_back(server, good, broken));
        } else {
            desired.servers.push(DesiredServer {
                state: held_back_state(broken),
                // Nothing else is redundant because of it.
                signature: None,
                ..hidden.clone()
            });
        }
    }
    desired
}

/// A server that is ready only now may be so because a file that forbids it cannot be read.
fn hold_back(server: &mut DesiredServer, good: &Desired, broken: &BTreeSet<PathBuf>) {
    let was_ready = |before: &&DesiredServer| {
        before.name == server.name && before.scope == server.scope && before.state == server.state
    };
    if server.entry().is_some() && !good.servers.iter().any(|before| was_ready(&before)) {
        server.state = held_back_state(broken);
    }
}

fn held_back_state(broken: &BTreeSet<PathBuf>) -> ServerReadiness {
    ServerReadiness::Invalid(NotReadyReason {
        why: "waiting for a file to be repaired".to_owned(),
        by: broken.first().map(|file| SourceOrigin::file(file).start()),
    })
}

fn merge_rules(now: &PermissionRules, good: &PermissionRules) -> PermissionRules {
    let is_in = |list: &[PermissionRule], rule: &PermissionRule| {
        let is_same = |other: &PermissionRule| other.text == rule.text && other.scope == rule.scope;
        list.iter().any(is_same)
    };
    let both = |now: &[PermissionRule], good: &[PermissionRule]| {
        let lost = good.iter().filter(|rule| !is_in(now, rule));
        now.iter().chain(lost).cloned().collect()
    };
    let allow = now.allow.iter().filter(|rule| is_in(&good.allow, rule));
    PermissionRules {
        allow: allow.cloned().collect(),
        deny: both(&now.deny, &good.deny),
        ask: both(&now.ask, &good.ask),
        mode: stricter(now.mode.as_ref(), good.mode.as_ref()).cloned(),
        managed_mode: [now.managed_mode, good.managed_mode]
            .into_iter()
            .flatten()
            .min_by_key(|mode| mode.rank()),
        // Without one the mode that would use it asks.
        classifier: now.classifier.clone().filter(|command| {
            let before = good.classifier.as_ref();
            before.is_some_and(|before| before.command == command.command)
        }),
    }
}

fn stricter<'a>(
    one: Option<&'a Located<Mode>>,
    other: Option<&'a Located<Mode>>,
) -> Option<&'a Located<Mode>> {
    // Without a mode `default` or `client` counts.
    let rank = |mode: Option<&Located<Mode>>| mode.map_or(Mode::Client, |mode| mode.value).rank();
    if rank(one) <= rank(other) { one } else { other }
}

/// What a broken file said last, unless another one says it now.
fn keep_hidden_setting<T: Clone>(
    now: &mut Option<Located<T>>,
    before: Option<&Located<T>>,
    is_hidden: impl Fn(&SourceLocation) -> bool,
) {
    if now.is_none() {
        *now = before.filter(|value| is_hidden(&value.at)).cloned();
    }
}
