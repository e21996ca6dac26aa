//! Which state takes effect while an edit has broken a file; the crate's documentation gives the rules and
//! reasons.
//!
//! Used by `build`. It does not read files (`files`, `switchboard_config`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::{
    ConfigProblemKind, Desired, DesiredServer, EDITOR_SERVER, LocatedValue, NotReadyReason,
    PermissionMode, PermissionRule, PermissionRules, ServerReadiness, SourceLocation, SourceOrigin,
};

use super::files::FileStates;

/// One reading of all sources, and the desired state that it gave.
#[derive(Clone)]
pub(super) struct SourcesReading {
    pub(super) desired: Desired,
    pub(super) look: FileStates,
    /// The connector catalog that the reading used.
    pub(super) catalogue: Option<Arc<str>>,
    /// The problems of files that editors left.
    pub(super) editor_problems: Vec<switchboard_core::EngineProblem>,
    /// Whether no file changed during the reading.
    pub(super) is_settled: bool,
}

/// Which state takes effect.
pub(super) enum EffectiveState {
    /// The present reading.
    Present,
    /// The last good state, because these files are broken.
    LastGood(BTreeSet<PathBuf>),
    /// The present reading, restricted by the last good state: beside these broken files, others changed too.
    Changed(BTreeSet<PathBuf>),
}

// === impl SourcesReading ===

impl SourcesReading {
    /// The files that exist but cannot be read or parsed. The administrator's files are never among them:
    /// their problems are of another kind.
    fn unusable_files(&self) -> BTreeSet<PathBuf> {
        let problems = self.desired.problems.iter();
        let unusable = problems.filter(|problem| {
            matches!(problem.kind, ConfigProblemKind::Malformed | ConfigProblemKind::Unreadable)
        });
        let files = unusable.filter_map(|problem| problem.at.as_ref()?.origin.path());
        files.filter(|file| self.look.exists(file)).map(Path::to_owned).collect()
    }

    /// Whether both readings saw equal files, an equal connector catalog and an equal editor.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        self.is_settled
            && self.look.is_same_except(&other.look, &BTreeSet::new())
            && self.catalogue == other.catalogue
            && self.editor_location() == other.editor_location()
    }

    /// Where the running editor was found. An editor may exit without touching any file.
    fn editor_location(&self) -> Option<&SourceLocation> {
        self.desired.servers_named(EDITOR_SERVER).next().map(|server| &server.at)
    }

    /// Decides which state takes effect, if `good` was the last good reading.
    pub(super) fn effective_state(&self, good: &Self) -> EffectiveState {
        let before = good.unusable_files();
        let broken: BTreeSet<_> = self.unusable_files().difference(&before).cloned().collect();
        if broken.is_empty() {
            EffectiveState::Present
        } else if self.look.is_same_except(&good.look, &broken) && self.catalogue == good.catalogue
        {
            EffectiveState::LastGood(broken)
        } else {
            EffectiveState::Changed(broken)
        }
    }
}

/// Restricts `now` while the content of the `broken` files is unknown; `good` is the last state in which they
/// were sound.
pub(super) fn narrow_desired(now: &Desired, good: &Desired, broken: &BTreeSet<PathBuf>) -> Desired {
    let mut desired = mark_waiting(now, good, broken);
    // With exclusive servers of the administrator, the user's files do not decide which servers there are.
    if !now.exclusive {
        for server in &mut desired.servers {
            hold_back(server, good, broken);
        }
    }
    desired.rules = merge_rules(&now.rules, &good.rules);
    let is_hidden =
        |at: &SourceLocation| at.origin.path().is_some_and(|file| broken.contains(file));
    // The rules and hooks of a broken file are those of the last good state.
    let unclear = &mut desired.rules.unclear;
    if unclear.as_ref().is_some_and(is_hidden) {
        *unclear = good.rules.unclear.clone().filter(is_hidden);
    }
    let hooks = good.hooks.iter();
    // A hook of the user may exist to refuse calls; a hook of a project may have lost its approval.
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

/// Returns `now` with the servers of `broken` files shown as waiting. They keep their names: an entry of a
/// lower scope with that name must not take their place, as they may have disabled it.
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
                // No other server is a duplicate of a waiting one.
                signature: None,
                ..hidden.clone()
            });
        }
    }
    desired
}

/// Makes a server wait that is ready now and was not before: the unreadable file may forbid it.
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
        // Without a classifier, the mode that would use it asks.
        classifier: now.classifier.clone().filter(|command| {
            let before = good.classifier.as_ref();
            before.is_some_and(|before| before.command == command.command)
        }),
        unclear: now.unclear.clone(),
    }
}

fn stricter<'a>(
    one: Option<&'a LocatedValue<PermissionMode>>,
    other: Option<&'a LocatedValue<PermissionMode>>,
) -> Option<&'a LocatedValue<PermissionMode>> {
    // Without a mode, `default` or `client` applies.
    let rank = |mode: Option<&LocatedValue<PermissionMode>>| {
        mode.map_or(PermissionMode::Client, |mode| mode.value).rank()
    };
    if rank(one) <= rank(other) { one } else { other }
}

/// Keeps the last value from a broken file, unless another file sets one now.
fn keep_hidden_setting<T: Clone>(
    now: &mut Option<LocatedValue<T>>,
    before: Option<&LocatedValue<T>>,
    is_hidden: impl Fn(&SourceLocation) -> bool,
) {
    if now.is_none() {
        *now = before.filter(|value| is_hidden(&value.at)).cloned();
    }
}
