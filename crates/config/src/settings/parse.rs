//! The decoder from a tree to [`Settings`]; a bad member costs only itself.
//!
//! Used by `load`. It does not decide whether a member takes effect in its scope (`load`,
//! `resolve::settings`).

use std::collections::BTreeMap;

use super::types::{
    ConnectorSource, HookCommand, HookEvent, HookGroup, IdentityProvider, LimitSettings,
    PermissionMode, Permissions, ServerEntries, Settings,
};
use super::{PluginSettings, RuleAudience, WrittenRule};
use crate::entry::{decode_callback_port, decode_questions, decode_scopes, decode_start};
use crate::policy::{ServerRule, decode_server_rule};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::source::{
    ConfigMember, ConfigNode, ConfigValue, LocatedValue, ObjectFields, SourceLocation,
};
use crate::url_security::is_encrypted_or_local;

/// Decodes a settings file, which messages call `what`.
pub(crate) fn decode_settings(
    node: &ConfigNode,
    what: &str,
    problems: &mut Vec<ConfigProblem>,
) -> Settings {
    let mut fields = ObjectFields::new(node, what, problems);
    fields.allow(&["$schema"]);
    let mcp_servers = decode_servers(&mut fields);
    let problems_before = fields.problem_count();
    let permissions = fields.nested("permissions", permissions).unwrap_or_default();
    let hooks = fields.nested("hooks", hooks).unwrap_or_default();
    let settings = Settings {
        mcp_servers,
        permissions,
        hooks,
        unclear_restrictions: fields
            .first_error_since(problems_before)
            .or_else(|| ambiguous_restrictions(node)),
        env: fields.text_map("env"),
        enabled_mcpjson_servers: fields.texts("enabledMcpjsonServers").unwrap_or_default(),
        disabled_mcpjson_servers: fields.texts("disabledMcpjsonServers").unwrap_or_default(),
        enable_all_project_mcp_servers: fields.flag("enableAllProjectMcpServers"),
        enabled_mcp_servers: fields.texts("enabledMcpServers").unwrap_or_default(),
        disabled_mcp_servers: fields.texts("disabledMcpServers").unwrap_or_default(),
        allowed_mcp_servers: rules(&mut fields, "allowedMcpServers"),
        denied_mcp_servers: rules(&mut fields, "deniedMcpServers")
            .map_or_else(Vec::new, |rules| rules.value),
        allow_managed_mcp_servers_only: fields.flag("allowManagedMcpServersOnly"),
        connectors: located(&mut fields, "connectors", connectors),
        xaa_idp: located(&mut fields, "xaaIdp", identity_provider),
        secret_providers: fields.text_map("secretProviders"),
        admins: admins(&mut fields),
        native_plugins: fields.texts("nativePlugins").unwrap_or_default(),
        plugins: fields.nested("plugins", PluginSettings::read).unwrap_or_default(),
        inherit: fields.texts("inherit").unwrap_or_default(),
        ide_tools: fields.texts("ideTools"),
        questions: fields.nested("questions", decode_questions).unwrap_or_default(),
        start: decode_start(&mut fields),
        check_arguments: fields.flag("checkArguments").map(|flag| flag.value),
        limits: fields.nested("limits", limits).unwrap_or_default(),
    };
    fields.finish();
    settings
}

/// Where a settings file is no object, or states rules or hooks twice, of which readers take only the later ones.
fn ambiguous_restrictions(node: &ConfigNode) -> Option<SourceLocation> {
    if !matches!(node.value, ConfigValue::Object(_)) {
        return Some(node.at.clone());
    }
    let permissions = node.get("permissions").map_or(&[][..], ConfigNode::members);
    let repeated = repeated_member(node.members(), &["permissions", "hooks"]);
    repeated.or_else(|| repeated_member(permissions, &["deny", "ask"]))
}

/// Where one of `keys` stands for the first of several times.
fn repeated_member(members: &[ConfigMember], keys: &[&str]) -> Option<SourceLocation> {
    let mut named = members.iter().enumerate().filter(|(_, member)| keys.contains(&&*member.key));
    let is_repeated =
        |index: usize| members[index + 1..].iter().any(|later| later.key == members[index].key);
    named.find_map(|(index, member)| is_repeated(index).then(|| member.at.clone()))
}

/// The servers of a file; each is decoded later on its own, so that a bad one costs no other.
pub(crate) fn decode_servers(fields: &mut ObjectFields<'_>) -> ServerEntries {
    let Some(node) = fields.node("mcpServers") else {
        return ServerEntries::default();
    };
    let what = format!("`mcpServers` of {}", fields.what());
    fields.check_names(node, &what);
    ServerEntries(last_of_each(node))
}

/// Of members with one name, keeps the last, as all other readers of these files do.
pub(crate) fn last_of_each(node: &ConfigNode) -> Vec<ConfigMember> {
    let members = node.members();
    let is_last =
        |index: usize| !members[index + 1..].iter().any(|later| later.key == members[index].key);
    (0..members.len()).filter(|index| is_last(*index)).map(|index| members[index].clone()).collect()
}

fn located<T>(
    fields: &mut ObjectFields<'_>,
    key: &'static str,
    decode: impl FnOnce(&mut ObjectFields<'_>) -> Option<T>,
) -> Option<LocatedValue<T>> {
    let at = fields.node(key)?.at.clone();
    fields.nested(key, decode).flatten().map(|value| LocatedValue::new(value, at))
}

/// The administrators. One with a problem is none: with a member that is not understood it may have meant fewer people.
fn admins(fields: &mut ObjectFields<'_>) -> Vec<LocatedValue<RuleAudience>> {
    let Some(node) = fields.node("admins") else { return Vec::new() };
    if !matches!(node.value, ConfigValue::List(_)) {
        let message = format!("`admins` of {} must be a list, not {}", fields.what(), node.kind());
        fields.reject(ConfigProblemKind::WrongType, message, &node.at);
    }
    let mut admins = Vec::new();
    for element in node.elements() {
        let problems_before = fields.problem_count();
        let admin = fields.element(element, "an element of `admins`", RuleAudience::decode);
        if fields.problem_count() == problems_before {
            admins.push(LocatedValue::new(admin, element.at.clone()));
        }
    }
    admins
}

fn permissions(fields: &mut ObjectFields<'_>) -> Permissions {
    Permissions {
        allow: permission_rules(fields, "allow"),
        deny: permission_rules(fields, "deny"),
        ask: permission_rules(fields, "ask"),
        default_mode: mode(fields),
        classifier: fields.text("classifier"),
    }
}

/// The rules of a list. The problems of a rule are reported with it, by `resolve::settings`.
fn permission_rules(
    fields: &mut ObjectFields<'_>,
    key: &'static str,
) -> Vec<LocatedValue<WrittenRule>> {
    fields.list(key, "a list of rules", |node| {
        Some(LocatedValue::new(WrittenRule::decode(node)?, node.at.clone()))
    })
}

fn mode(fields: &mut ObjectFields<'_>) -> Option<LocatedValue<PermissionMode>> {
    let word = fields.text("defaultMode")?;
    let mode = PermissionMode::from_word(&word.value);
    if mode.is_none() {
        let message = format!("there is no permission mode `{}`", word.value);
        fields.reject(ConfigProblemKind::BadValue, message, &word.at);
    }
    mode.map(|mode| LocatedValue::new(mode, word.at))
}

fn hooks(fields: &mut ObjectFields<'_>) -> BTreeMap<HookEvent, Vec<HookGroup>> {
    let mut hooks = BTreeMap::new();
    for event in HookEvent::ALL {
        let Some(node) = fields.node(event.word()) else {
            continue;
        };
        if !matches!(node.value, ConfigValue::List(_)) {
            let message = format!(
                "`{}` of {} must be a list, not {}",
                event.word(),
                fields.what(),
                node.kind()
            );
            fields.reject(ConfigProblemKind::WrongType, message, &node.at);
        }
        let groups =
            node.elements().iter().map(|group| fields.element(group, "a hook", hook_group));
        hooks.insert(event, groups.collect());
    }
    hooks
}

fn hook_group(fields: &mut ObjectFields<'_>) -> HookGroup {
    let matcher = fields.string("matcher");
    let list = fields.node("hooks").map_or(&[][..], ConfigNode::elements);
    let hooks = list.iter().filter_map(|node| {
        let hook = fields.element(node, "a hook", hook_command);
        hook.map(|hook| LocatedValue::new(hook, node.at.clone()))
    });
    let hooks = hooks.collect();
    HookGroup { matcher, hooks }
}

fn hook_command(fields: &mut ObjectFields<'_>) -> Option<HookCommand> {
    let kind = fields.text("type");
    let command = fields.required("command");
    let timeout = fields.integer("timeout").map(|seconds| seconds.value);
    if let Some(kind) = kind.filter(|kind| kind.value != "command") {
        let message = format!("a hook cannot be of type `{}`, only `command`", kind.value);
        fields.reject(ConfigProblemKind::BadValue, message, &kind.at);
        return None;
    }
    Some(HookCommand { kind: "command".to_owned(), command: command?.value, timeout })
}

fn rules(
    fields: &mut ObjectFields<'_>,
    key: &'static str,
) -> Option<LocatedValue<Vec<LocatedValue<ServerRule>>>> {
    let node = fields.node(key)?;
    if !matches!(node.value, ConfigValue::List(_)) {
        let message = format!("`{key}` of {} must be a list, not {}", fields.what(), node.kind());
        fields.reject(ConfigProblemKind::BadPolicy, message, &node.at);
        // An unreadable allow list allows nothing.
        return Some(LocatedValue::new(Vec::new(), node.at.clone()));
    }
    let rules = node.elements().iter().filter_map(|element| match decode_server_rule(element) {
        Ok(rule) => Some(LocatedValue::new(rule, element.at.clone())),
        Err(why) => {
            fields.reject(
                ConfigProblemKind::BadPolicy,
                format!("a rule of `{key}` {why}"),
                &element.at,
            );
            None
        }
    });
    Some(LocatedValue::new(rules.collect(), node.at.clone()))
}

fn connectors(fields: &mut ObjectFields<'_>) -> Option<ConnectorSource> {
    let (url, token_helper) = (fields.required("url"), fields.string("tokenHelper"));
    let token_origins = token_origins(fields);
    Some(ConnectorSource { url: url?.value, token_helper, token_origins })
}

/// Decodes `tokenOrigins`, and refuses origins without TLS, where others could read the token.
fn token_origins(fields: &mut ObjectFields<'_>) -> Vec<String> {
    let mut origins = fields.texts("tokenOrigins").unwrap_or_default();
    origins.retain(|origin| {
        let is_safe = is_encrypted_or_local(&origin.value);
        if !is_safe {
            let message = "an address in `tokenOrigins` does not begin with `https://` and is not on this machine, so it gets no token";
            let problem = ConfigProblem::warning(ConfigProblemKind::BadValue, message.to_owned());
            fields.add_problem(problem.at(origin.at.clone()));
        }
        is_safe
    });
    origins.into_iter().map(|origin| origin.value).collect()
}

fn identity_provider(fields: &mut ObjectFields<'_>) -> Option<IdentityProvider> {
    let (issuer, client_id) = (fields.required("issuer"), fields.required("clientId"));
    let provider = IdentityProvider {
        client_secret_helper: fields.string("clientSecretHelper"),
        scopes: decode_scopes(fields),
        callback_port: decode_callback_port(fields),
        ..IdentityProvider::default()
    };
    Some(IdentityProvider { issuer: issuer?.value, client_id: client_id?.value, ..provider })
}

fn limits(fields: &mut ObjectFields<'_>) -> LimitSettings {
    let mut number = |key| fields.integer(key).map(|number| number.value);
    let mut limits = LimitSettings {
        request_timeout_ms: number("requestTimeoutMs"),
        reconnect_attempts: number("reconnectAttempts"),
        call_time_limit_ms: number("callTimeLimitMs"),
        first_list_wait_ms: number("firstListWaitMs"),
        question_ttl_ms: number("questionTtlMs"),
        calls_in_flight: number("callsInFlight"),
        connections_per_principal: number("connectionsPerPrincipal"),
        connections: number("connections"),
        session_idle_ms: number("sessionIdleMs"),
        hub_idle_ms: number("hubIdleMs"),
        server_idle_ms: number("serverIdleMs"),
        spill_bytes: number("spillBytes"),
        spill_days: number("spillDays"),
        image_pixels: number("imagePixels"),
        image_bytes: number("imageBytes"),
        threads: number("threads"),
        reset_on_progress: None,
    };
    limits.reset_on_progress = fields.flag("resetOnProgress").map(|flag| flag.value);
    limits
}
