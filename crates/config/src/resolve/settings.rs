//! The effective settings and hooks of all scopes, each as far as its scope or approval permits.
//!
//! Used by `resolve`. Settings files are parsed in `settings`; permission rules are collected in `resolve::rules`.

use std::time::Duration;

use serde_json::json;

use super::approval_gate::ApprovalGate;
use super::desired::{EffectiveHook, EffectiveSettings};
use crate::approval::{ApprovalItem, ApprovalItemKind};
use crate::expand::{self, ReferenceKind};
use crate::host_context::HostContext;
use crate::load::{LoadedConfig, SettingsLayer, load_owned_settings};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::secret::{SecretProvider, is_valid_secret_name, secret_reference};
use crate::settings::LimitSettings;
use crate::source::{LocatedValue, SourceLocation};

/// The variables that a trusted project may set; others could redirect a server.
const PROJECT_VARIABLES: [&str; 3] = ["MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS"];
/// The default timeout of a hook.
const HOOK_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn effective_settings(
    loaded: &LoadedConfig,
    surroundings: &HostContext,
    gate: &mut ApprovalGate,
    problems: &mut Vec<ConfigProblem>,
) -> EffectiveSettings {
    let mut effective = EffectiveSettings::default();
    for layer in &loaded.layers {
        environment(layer, surroundings, gate, problems, &mut effective);
        if matches!(layer.scope, Scope::User | Scope::Enterprise) {
            apply_owned(layer, &mut effective);
            apply_providers(layer, surroundings, problems, &mut effective);
        }
    }
    effective
}

/// The limits that the user and the administrator set, which nothing else in the configuration changes.
///
/// For a program that needs one before it has a runtime: no entry is expanded, so no secret is read.
pub fn read_limits(surroundings: &HostContext) -> LimitSettings {
    let loaded = load_owned_settings(surroundings);
    let mut limits = LimitSettings::default();
    loaded.layers.iter().for_each(|layer| apply_limits(&mut limits, &layer.settings.limits));
    limits
}

/// Applies settings that only the user and the administrator may have; the administrator's are applied last
/// and win.
fn apply_owned(layer: &SettingsLayer, effective: &mut EffectiveSettings) {
    let settings = &layer.settings;
    replace(&mut effective.connectors, settings.connectors.as_ref());
    replace(&mut effective.xaa_idp, settings.xaa_idp.as_ref());
    replace(&mut effective.ide_tools, settings.ide_tools.as_ref());
    replace(&mut effective.check_arguments, settings.check_arguments.as_ref());
    effective.admins.extend(settings.admins.iter().cloned());
    effective.native_plugins.extend(settings.native_plugins.iter().cloned());
    effective.plugins.overlay(&settings.plugins);
    replace(&mut effective.questions.elicitation, settings.questions.elicitation.as_ref());
    replace(&mut effective.start, settings.start.as_ref());
    apply_limits(&mut effective.limits, &settings.limits);
}

fn apply_providers(
    layer: &SettingsLayer,
    surroundings: &HostContext,
    problems: &mut Vec<ConfigProblem>,
    effective: &mut EffectiveSettings,
) {
    for (name, text) in &layer.settings.secret_providers {
        let parsed = if is_valid_secret_name(name) {
            SecretProvider::parse(&text.value, &surroundings.home)
        } else {
            Err("a name is a letter, then letters, digits, `_`, `-` or `.`")
        };
        match parsed {
            Ok(provider) => {
                let provider = LocatedValue::new(provider, text.at.clone());
                effective.secret_providers.insert(name.clone(), provider);
            }
            Err(why) => {
                let message = format!("`secretProviders.{name}` cannot be used: {why}");
                let problem = ConfigProblem::error(ConfigProblemKind::BadValue, message);
                problems.push(problem.at(text.at.clone()));
            }
        }
    }
}

fn replace<T: Clone>(old: &mut Option<T>, new: Option<&T>) {
    if let Some(new) = new {
        *old = Some(new.clone());
    }
}

fn apply_limits(old: &mut LimitSettings, new: &LimitSettings) {
    replace(&mut old.request_timeout_ms, new.request_timeout_ms.as_ref());
    replace(&mut old.reconnect_attempts, new.reconnect_attempts.as_ref());
    replace(&mut old.reset_on_progress, new.reset_on_progress.as_ref());
    replace(&mut old.call_time_limit_ms, new.call_time_limit_ms.as_ref());
    replace(&mut old.first_list_wait_ms, new.first_list_wait_ms.as_ref());
    replace(&mut old.question_ttl_ms, new.question_ttl_ms.as_ref());
    replace(&mut old.calls_in_flight, new.calls_in_flight.as_ref());
    replace(&mut old.connections_per_principal, new.connections_per_principal.as_ref());
    replace(&mut old.connections, new.connections.as_ref());
    replace(&mut old.session_idle_ms, new.session_idle_ms.as_ref());
    replace(&mut old.hub_idle_ms, new.hub_idle_ms.as_ref());
    replace(&mut old.server_idle_ms, new.server_idle_ms.as_ref());
    replace(&mut old.spill_bytes, new.spill_bytes.as_ref());
    replace(&mut old.spill_days, new.spill_days.as_ref());
    replace(&mut old.image_pixels, new.image_pixels.as_ref());
    replace(&mut old.image_bytes, new.image_bytes.as_ref());
    replace(&mut old.threads, new.threads.as_ref());
}

fn environment(
    layer: &SettingsLayer,
    surroundings: &HostContext,
    gate: &mut ApprovalGate,
    problems: &mut Vec<ConfigProblem>,
    effective: &mut EffectiveSettings,
) {
    if layer.scope == Scope::Dynamic {
        return;
    }
    for (name, value) in &layer.settings.env {
        if !layer.scope.is_trusted() && !PROJECT_VARIABLES.contains(&name.as_str()) {
            let message = format!("a project cannot set the variable `{name}`");
            let problem = ConfigProblem::warning(ConfigProblemKind::NotHonoured, message)
                .at(value.at.clone());
            problems.push(problem.hint(ProblemHint::MoveToUserSettings));
            continue;
        }
        if !is_honoured(
            layer,
            gate,
            ApprovalItemKind::Variable,
            name,
            json!(value.value),
            &value.at,
        ) {
            continue;
        }
        let (text, missing) = expand::expand_string(&value.value, &surroundings.env);
        match missing.first() {
            None => {
                drop(effective.env.insert(name.clone(), LocatedValue::new(text, value.at.clone())));
            }
            Some((ReferenceKind::Secret, secret)) => {
                let message = format!(
                    "the setting `env.{name}` names the secret `{secret}`; secrets are expanded in entries of servers only"
                );
                let hint = format!("write `{}` in the `env` of a server", secret_reference(secret));
                problems.push(
                    ConfigProblem::warning(ConfigProblemKind::NotHonoured, message)
                        .at(value.at.clone())
                        .hint(ProblemHint::Other(hint)),
                );
            }
            Some((ReferenceKind::Variable, variable)) => {
                let message = format!(
                    "the setting `env.{name}` needs the variable `{variable}`, and it is not set"
                );
                let problem = ConfigProblem::warning(ConfigProblemKind::MissingVariable, message)
                    .at(value.at.clone());
                problems.push(problem.hint(ProblemHint::SetVariable(variable.clone())));
            }
        }
    }
}

/// Whether an item of a layer takes effect: because of its scope, or because a person approved it.
pub(super) fn is_honoured(
    layer: &SettingsLayer,
    gate: &mut ApprovalGate,
    kind: ApprovalItemKind,
    name: &str,
    content: serde_json::Value,
    at: &SourceLocation,
) -> bool {
    layer.scope.is_trusted()
        || gate.check_or_ask(&ApprovalItem::new(kind, name, content, at.clone()))
}

pub(super) fn collect_hooks(loaded: &LoadedConfig, gate: &mut ApprovalGate) -> Vec<EffectiveHook> {
    let mut hooks = Vec::new();
    for layer in loaded.layers.iter().filter(|layer| layer.scope != Scope::Dynamic) {
        for (event, groups) in &layer.settings.hooks {
            for (group, hook) in
                groups.iter().flat_map(|group| group.hooks.iter().map(move |hook| (group, hook)))
            {
                let content = json!({
                    "matcher": group.matcher,
                    "command": hook.value.command,
                    "timeout": hook.value.timeout,
                });
                if is_honoured(layer, gate, ApprovalItemKind::Hook, event.word(), content, &hook.at)
                {
                    hooks.push(EffectiveHook {
                        event: *event,
                        matcher: group.matcher.clone(),
                        command: hook.value.command.clone(),
                        timeout: hook.value.timeout.map_or(HOOK_TIMEOUT, Duration::from_secs),
                        start_folder: layer.start_folder.clone(),
                        scope: layer.scope,
                        at: hook.at.clone(),
                    });
                }
            }
        }
    }
    hooks
}
