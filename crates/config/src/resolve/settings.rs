//! The effective settings, rules and hooks of all scopes, each as far as its scope or approval permits.
//!
//! Used by `resolve`. Settings files are parsed in `settings`.

use std::time::Duration;

use serde_json::json;

use super::approval_gate::ApprovalGate;
use super::desired::{ClassifierCommand, EffectiveSettings, Hook, PermissionRule, PermissionRules};
use crate::approval::{ApprovalItem, ApprovalItemKind};
use crate::expand;
use crate::host_context::HostContext;
use crate::load::{LoadedConfig, SettingsLayer};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::settings::{Limits, ToolPattern};
use crate::source::{Located, SourceLocation};

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
        }
    }
    effective
}

/// Applies settings that only the user and the administrator may have; the administrator's are applied last
/// and win.
fn apply_owned(layer: &SettingsLayer, effective: &mut EffectiveSettings) {
    let settings = &layer.settings;
    replace(&mut effective.connectors, settings.connectors.as_ref());
    replace(&mut effective.xaa_idp, settings.xaa_idp.as_ref());
    replace(&mut effective.ide_tools, settings.ide_tools.as_ref());
    replace(&mut effective.check_arguments, settings.check_arguments.as_ref());
    effective.native_plugins.extend(settings.native_plugins.iter().cloned());
    effective.plugins.overlay(&settings.plugins);
    replace(&mut effective.questions.elicitation, settings.questions.elicitation.as_ref());
    apply_limits(&mut effective.limits, &settings.limits);
}

fn replace<T: Clone>(old: &mut Option<T>, new: Option<&T>) {
    if let Some(new) = new {
        *old = Some(new.clone());
    }
}

fn apply_limits(old: &mut Limits, new: &Limits) {
    replace(&mut old.request_timeout_ms, new.request_timeout_ms.as_ref());
    replace(&mut old.reconnect_attempts, new.reconnect_attempts.as_ref());
    replace(&mut old.reset_on_progress, new.reset_on_progress.as_ref());
    replace(&mut old.first_list_wait_ms, new.first_list_wait_ms.as_ref());
    replace(&mut old.question_ttl_ms, new.question_ttl_ms.as_ref());
    replace(&mut old.calls_in_flight, new.calls_in_flight.as_ref());
    replace(&mut old.connections_per_principal, new.connections_per_principal.as_ref());
    replace(&mut old.connections, new.connections.as_ref());
    replace(&mut old.session_idle_ms, new.session_idle_ms.as_ref());
    replace(&mut old.hub_idle_ms, new.hub_idle_ms.as_ref());
    replace(&mut old.spill_bytes, new.spill_bytes.as_ref());
    replace(&mut old.spill_days, new.spill_days.as_ref());
    replace(&mut old.image_pixels, new.image_pixels.as_ref());
    replace(&mut old.image_bytes, new.image_bytes.as_ref());
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
            None => drop(effective.env.insert(name.clone(), Located::new(text, value.at.clone()))),
            Some(variable) => {
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
fn is_honoured(
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

pub(super) fn collect_rules(
    loaded: &LoadedConfig,
    gate: &mut ApprovalGate,
    problems: &mut Vec<ConfigProblem>,
) -> PermissionRules {
    let mut rules = PermissionRules::default();
    for layer in &loaded.layers {
        let permissions = &layer.settings.permissions;
        let mut understood = |list: &[Located<String>]| -> Vec<_> {
            list.iter().filter_map(|text| rule(text, layer.scope, problems)).collect()
        };
        rules.deny.extend(understood(&permissions.deny));
        rules.ask.extend(understood(&permissions.ask));
        for allow in understood(&permissions.allow) {
            if allow.rule == ToolPattern::Everything {
                let message = "`mcp__*` can deny and ask, not allow".to_owned();
                problems
                    .push(ConfigProblem::error(ConfigProblemKind::BadRule, message).at(allow.at));
            } else if is_honoured(
                layer,
                gate,
                ApprovalItemKind::AllowRule,
                &allow.text,
                json!(allow.text),
                &allow.at,
            ) {
                rules.allow.push(allow);
            }
        }
        if let Some(mode) = &permissions.default_mode {
            let word = mode.value.word();
            if is_honoured(layer, gate, ApprovalItemKind::Mode, word, json!(word), &mode.at) {
                rules.mode = Some(mode.clone());
                if layer.scope == Scope::Enterprise {
                    rules.managed_mode = Some(mode.value);
                }
            }
        }
        if let Some(command) = &permissions.classifier {
            let content = json!(command.value);
            if is_honoured(
                layer,
                gate,
                ApprovalItemKind::Classifier,
                &command.value,
                content,
                &command.at,
            ) {
                rules.classifier = Some(ClassifierCommand {
                    command: command.value.clone(),
                    start_folder: layer.start_folder.clone(),
                    at: command.at.clone(),
                });
            }
        }
    }
    rules
}

fn rule(
    text: &Located<String>,
    scope: Scope,
    problems: &mut Vec<ConfigProblem>,
) -> Option<PermissionRule> {
    match ToolPattern::parse(&text.value) {
        Ok(rule) => {
            Some(PermissionRule { text: text.value.clone(), rule, scope, at: text.at.clone() })
        }
        Err(error) => {
            problems.push(
                ConfigProblem::error(ConfigProblemKind::BadRule, error.to_string())
                    .at(text.at.clone()),
            );
            None
        }
    }
}

pub(super) fn collect_hooks(loaded: &LoadedConfig, gate: &mut ApprovalGate) -> Vec<Hook> {
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
                    hooks.push(Hook {
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
