//! The settings reference page, generated from the types that read the settings.
//!
//! Used by the test that compares `docs/reference/settings.md`. Type and meaning of a member come from its
//! schema, its scopes from `load`. Only the defaults stand here, since other crates decide them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::load::scope_honours;
use crate::schema;
use crate::scope::Scope;

/// A table of the page: the members of one type.
struct ReferenceSection {
    title: &'static str,
    /// The type's name in the schema; empty for the file itself.
    of: &'static str,
    lead: &'static str,
}

const SECTIONS: [ReferenceSection; 21] = [
    ReferenceSection { title: "A settings file", of: "", lead: "" },
    ReferenceSection {
        title: "`permissions`",
        of: "Permissions",
        lead: "Rules are described in [permissions](../features/permissions.md). A project's own `allow` rules apply after you approved them, its `deny` and `ask` rules at once.",
    },
    ReferenceSection {
        title: "A rule of `permissions` with conditions",
        of: "ConditionalRule",
        lead: "In the settings of a user and an administrator; a project's files may deny and ask with conditions, not allow. See [conditions](../features/permissions.md#conditions).",
    },
    ReferenceSection { title: "`for` of a rule, `admins[]`", of: "RuleAudience", lead: "" },
    ReferenceSection { title: "`when` of a rule", of: "ArgumentCondition", lead: "" },
    ReferenceSection {
        title: "`hooks.EVENT[]`",
        of: "HookGroup",
        lead: "`EVENT` is one of `PreToolUse`, `PostToolUse`, `Elicitation`, `ElicitationResult`, `PermissionRequest`.",
    },
    ReferenceSection { title: "`hooks.EVENT[].hooks[]`", of: "HookCommand", lead: "" },
    ReferenceSection {
        title: "`allowedMcpServers[]`, `deniedMcpServers[]`",
        of: "ServerRule",
        lead: "Each rule has one of these. They apply to every server, whatever its source; see [for administrators](../features/scopes.md#for-administrators).",
    },
    ReferenceSection { title: "`connectors`", of: "ConnectorSource", lead: "" },
    ReferenceSection { title: "`xaaIdp`", of: "IdentityProvider", lead: "" },
    ReferenceSection {
        title: "`questions`, of a settings file or of an entry",
        of: "QuestionSettings",
        lead: "See [sharing](../features/sharing.md#kinds-of-clients). An entry takes precedence over the settings.",
    },
    ReferenceSection { title: "`limits`", of: "Limits", lead: "" },
    ReferenceSection {
        title: "`plugins`",
        of: "PluginSettings",
        lead: "See [plugins](../plugins.md).",
    },
    ReferenceSection { title: "`plugins.each.NAME`", of: "PluginTerms", lead: "" },
    ReferenceSection {
        title: "An entry of `mcpServers`",
        of: "Entry",
        lead: "In settings files and in `.mcp.json`. `type` is the transport: `stdio`, `http` (or `streamable-http`), `sse`, `ws`, and for editors `sse-ide` and `ws-ide`. An entry with a `command` may leave it out. `${VARIABLE}` and `${VARIABLE:-default}` are replaced by variables of your environment, `${workspaceFolder}` by the root of the client's project.",
    },
    ReferenceSection { title: "An entry of type `stdio`", of: "Stdio", lead: "" },
    ReferenceSection {
        title: "An entry of type `http`, `sse` or `ws`",
        of: "Remote",
        lead: "`oauth` applies to `http` and `sse`.",
    },
    ReferenceSection { title: "An entry of type `sse-ide` or `ws-ide`", of: "Ide", lead: "" },
    ReferenceSection { title: "`tools` of an entry", of: "ToolFilter", lead: "" },
    ReferenceSection {
        title: "`oauth` of an entry",
        of: "OAuth",
        lead: "See [signing in](../features/signing-in.md).",
    },
    ReferenceSection { title: "`tls` of an entry", of: "Tls", lead: "" },
];

/// The defaults of members. Every member stands here once, as `Type.member`.
const DEFAULTS: &[(&str, &str)] = &[
    (".mcpServers", "none"),
    (".permissions", "none"),
    (".hooks", "none"),
    (".env", "none"),
    (".enabledMcpjsonServers", "none"),
    (".disabledMcpjsonServers", "none"),
    (".enableAllProjectMcpServers", "`false`"),
    (".enabledMcpServers", "none"),
    (".disabledMcpServers", "none"),
    (".allowedMcpServers", "all"),
    (".deniedMcpServers", "none"),
    (".allowManagedMcpServersOnly", "`false`"),
    (".connectors", "none"),
    (".xaaIdp", "none"),
    (".secretProviders", "none"),
    (".admins", "none"),
    (".nativePlugins", "none"),
    (".inherit", "none"),
    (".ideTools", "`getDiagnostics`, `executeCode`"),
    (".questions", "none"),
    (".start", "`lazy`"),
    (".checkArguments", "`false`"),
    (".limits", "none"),
    (".plugins", "none"),
    ("Permissions.allow", "none"),
    ("Permissions.deny", "none"),
    ("Permissions.ask", "none"),
    ("Permissions.defaultMode", "`default`; `client` for clients of the gateway"),
    ("Permissions.classifier", "none"),
    ("ConditionalRule.rule", "required"),
    ("ConditionalRule.for", "everyone"),
    ("ConditionalRule.when", "all calls"),
    ("RuleAudience.group", "any"),
    ("RuleAudience.principal", "any"),
    ("ArgumentCondition.argument", "required"),
    ("ArgumentCondition.matches", "required"),
    ("HookGroup.matcher", "all"),
    ("HookGroup.hooks", "none"),
    ("HookCommand.type", "`command`"),
    ("HookCommand.command", "required"),
    ("HookCommand.timeout", "60"),
    ("ServerRule.serverName", "none"),
    ("ServerRule.serverUrl", "none"),
    ("ServerRule.serverCommand", "none"),
    ("ConnectorSource.url", "required"),
    ("ConnectorSource.tokenHelper", "none"),
    ("ConnectorSource.tokenOrigins", "none"),
    ("IdentityProvider.issuer", "required"),
    ("IdentityProvider.clientId", "required"),
    ("IdentityProvider.clientSecretHelper", "none"),
    ("IdentityProvider.scopes", "none"),
    ("IdentityProvider.callbackPort", "a free one"),
    ("Limits.requestTimeoutMs", "60000"),
    ("Limits.reconnectAttempts", "5"),
    ("Limits.resetOnProgress", "`true`"),
    ("Limits.callTimeLimitMs", "no limit"),
    ("Limits.firstListWaitMs", "5000"),
    ("Limits.questionTtlMs", "600000"),
    ("Limits.callsInFlight", "256"),
    ("Limits.connectionsPerPrincipal", "256"),
    ("Limits.connections", "1024"),
    ("Limits.sessionIdleMs", "1800000"),
    ("Limits.hubIdleMs", "600000"),
    ("Limits.serverIdleMs", "600000"),
    ("Limits.spillBytes", "1073741824"),
    ("Limits.spillDays", "7"),
    ("Limits.imagePixels", "1568"),
    ("Limits.imageBytes", "5000000"),
    ("Limits.threads", "half the processors, 1 to 8"),
    ("PluginSettings.pool", "1"),
    ("PluginSettings.deadlineMs", "300000"),
    ("PluginSettings.memoryBytes", "1073741824"),
    ("PluginSettings.openFiles", "256"),
    ("PluginSettings.sandbox", "`false`"),
    ("PluginSettings.each", "none"),
    ("PluginTerms.pool", "as in `plugins`"),
    ("PluginTerms.deadlineMs", "as in `plugins`"),
    ("PluginTerms.memoryBytes", "as in `plugins`"),
    ("PluginTerms.openFiles", "as in `plugins`"),
    ("PluginTerms.sandbox", "as in `plugins`"),
    ("Entry.type", "`stdio` with a `command`, `http` with a `url`"),
    ("Entry.timeout", "`MCP_TOOL_TIMEOUT`"),
    ("Entry.alwaysLoad", "`false`"),
    ("Entry.disabled", "`false`"),
    ("Entry.tools", "all"),
    ("Entry.share", "`auto`"),
    ("Entry.sharePrincipals", "`false`"),
    ("Entry.signIn", "`own`"),
    ("Entry.era", "the client's own era if the server has both, else the one it has"),
    ("Entry.questions", "as in the settings"),
    ("Entry.start", "as in the settings"),
    ("QuestionSettings.elicitation", "`client`"),
    ("Stdio.command", "required"),
    ("Stdio.args", "none"),
    ("Stdio.env", "none"),
    (
        "Stdio.cwd",
        "the folder of its `.mcp.json`, or the one that holds `.switchboard`; of a user's entry, home",
    ),
    ("Stdio.envFile", "none"),
    ("Stdio.inheritEnv", "`false`"),
    ("Remote.url", "required"),
    ("Remote.headers", "none"),
    ("Remote.headersHelper", "none"),
    ("Remote.oauth", "detected"),
    ("Remote.tls", "the system's"),
    ("Ide.url", "required"),
    ("Ide.ideName", "none"),
    ("Ide.authToken", "none"),
    ("ToolFilter.allow", "all"),
    ("ToolFilter.deny", "none"),
    ("OAuth.clientId", "Switchboard registers one"),
    ("OAuth.clientSecret", "none"),
    ("OAuth.clientMetadataUrl", "none"),
    ("OAuth.callbackPort", "a free one"),
    ("OAuth.authServerMetadataUrl", "detected"),
    ("OAuth.scopes", "what the server asks for"),
    ("OAuth.grant", "`authorization_code`"),
    ("OAuth.privateKeyFile", "none"),
    ("OAuth.signingAlgorithm", "by the key"),
    ("OAuth.assertionFile", "none"),
    ("OAuth.dpop", "what the server asks for"),
    ("OAuth.xaa", "`false`"),
    ("Tls.certFile", "none"),
    ("Tls.keyFile", "`certFile`"),
    ("Tls.caFile", "none"),
];

/// The scopes with settings files, lowest precedence first.
const SETTINGS_SCOPES: [Scope; 5] =
    [Scope::User, Scope::Project, Scope::Local, Scope::Dynamic, Scope::Enterprise];

const PAGE_LEAD: &str = "# Settings

Generated from the types that the program reads, like the [schema](../../crates/config/schema/settings.schema.json) for editors.

| scope | file |
|---|---|
| `user` | `~/.config/switchboard/settings.json` |
| `project` | `.switchboard/settings.json`, and `.mcp.json` for servers |
| `local` | `.switchboard/settings.local.json` |
| `dynamic` | what `--mcp-config` names, for one run |
| `enterprise` | the administrator's `managed-settings.json`, `managed-settings.d/*.json` and [`managed-mcp.json`](files.md#managed-mcpjson) |

These five of the nine [scopes](../features/scopes.md) have settings. Comments and trailing commas are allowed. The later scope in this list takes
precedence, and lists are joined. What a project's own files permit applies after you [approved it](../features/approval.md).
`switchboard doctor` names members that have no effect.
";

/// Renders the page.
pub fn render_settings_page() -> String {
    let schema = schema::settings_schema();
    let mut page = PAGE_LEAD.to_owned();
    for section in &SECTIONS {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {}\n", section.title);
        if !section.lead.is_empty() {
            let _ = write!(page, "\n{}\n", section.lead);
        }
        page.push_str(&table(&schema, section));
    }
    page
}

fn table(schema: &Value, section: &ReferenceSection) -> String {
    let is_file = section.of.is_empty();
    let mut table = if is_file {
        "\n| key | type | default | applies in | meaning |\n|---|---|---|---|---|\n".to_owned()
    } else {
        "\n| key | type | default | meaning |\n|---|---|---|---|\n".to_owned()
    };
    for (name, member) in members(schema, section.of) {
        let kind = type_text(schema, &member);
        let meaning = member["description"].as_str().unwrap_or_default();
        // A table row is one line.
        let meaning = meaning.replace('|', "\\|").replace('\n', " ");
        let default = default_of(section.of, &name).unwrap_or_default();
        let _ = write!(table, "| `{name}` | {kind} | {default} | ");
        if is_file {
            let _ = write!(table, "{} | ", scopes(&name));
        }
        let _ = writeln!(table, "{meaning} |");
    }
    table
}

/// The members of a type; for a union, the members of all variants.
fn members(schema: &Value, of: &str) -> Map<String, Value> {
    let of = if of.is_empty() { schema } else { &schema["$defs"][of] };
    let mut found = of["properties"].as_object().cloned().unwrap_or_default();
    for variant in of["oneOf"].as_array().into_iter().flatten() {
        let described = &variant["description"];
        for (name, member) in variant["properties"].as_object().into_iter().flatten() {
            let mut member = member.clone();
            member["description"] = described.clone();
            found.insert(name.clone(), member);
        }
    }
    found
}

fn default_of(of: &str, name: &str) -> Option<&'static str> {
    let is_it = |path: &str| path.split_once('.') == Some((of, name));
    DEFAULTS.iter().find(|(path, _)| is_it(path)).map(|(_, default)| *default)
}

fn scopes(member: &str) -> String {
    let counts: Vec<_> =
        SETTINGS_SCOPES.iter().filter(|scope| scope_honours(**scope, member)).collect();
    if counts.len() == SETTINGS_SCOPES.len() {
        return "everywhere".to_owned();
    }
    counts.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
}

/// The type of a member in words.
fn type_text(schema: &Value, member: &Value) -> String {
    if let Some(name) = member["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return named_type_text(schema, name);
    }
    if let Some(variants) = member["anyOf"].as_array() {
        let there = variants.iter().filter(|variant| variant["type"] != "null");
        return there.map(|variant| type_text(schema, variant)).collect::<Vec<_>>().join(" or ");
    }
    let word = match &member["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match word.unwrap_or_default() {
        "string" => "text".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => format!("list of {}", plural(&type_text(schema, &member["items"]))),
        "object" => {
            format!("object of {}", plural(&type_text(schema, &member["additionalProperties"])))
        }
        other => other.to_owned(),
    }
}

/// A named type: its values, or a link to its section.
fn named_type_text(schema: &Value, name: &str) -> String {
    let of = &schema["$defs"][name];
    let words: Vec<_> = of["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variant| variant["const"].as_str())
        .map(|word| format!("`{word}`"))
        .collect();
    match (words.is_empty(), of["anyOf"].is_array() && of["properties"].is_null()) {
        (false, _) => words.join(", "),
        (true, true) => type_text(schema, of),
        (true, false) => "object, below".to_owned(),
    }
}

fn plural(kind: &str) -> String {
    match kind {
        "text" => "texts".to_owned(),
        "object, below" => "objects, below".to_owned(),
        "text or object, below" => "texts or objects, below".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::entry::{Completeness, decode_entry};
    use crate::settings::decode_settings;
    use crate::source::{REQUESTED_MEMBERS, SourceOrigin, jsonc};

    /// All members on the page, as `Type.member`.
    fn listed() -> BTreeSet<String> {
        let schema = schema::settings_schema();
        let of = |section: &ReferenceSection| -> Vec<String> {
            let members = members(&schema, section.of);
            members.keys().map(|name| format!("{}.{name}", section.of)).collect()
        };
        SECTIONS.iter().flat_map(of).collect()
    }

    #[test]
    fn every_member_has_a_default_and_no_other() {
        // `type` belongs to every entry, and to no type here.
        let listed: BTreeSet<_> = listed().into_iter().chain(["Entry.type".to_owned()]).collect();
        let known: BTreeSet<_> = DEFAULTS.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known.len(), DEFAULTS.len(), "a member stands twice");
        assert_eq!(listed, known);
    }

    /// The reader's name of each type in messages.
    const CALLED: [(&str, &[&str]); 21] = [
        ("file", &[""]),
        ("`permissions` of file", &["Permissions"]),
        ("a rule", &["ConditionalRule"]),
        ("`for` of a rule", &["RuleAudience"]),
        ("`when` of a rule", &["ArgumentCondition"]),
        ("a hook", &["HookGroup", "HookCommand"]),
        ("`connectors` of file", &["ConnectorSource"]),
        ("`xaaIdp` of file", &["IdentityProvider"]),
        ("`questions` of file", &["QuestionSettings"]),
        ("`limits` of file", &["Limits"]),
        ("`plugins` of file", &["PluginSettings"]),
        ("`each` of `plugins` of file", &[]),
        ("`x` of `each` of `plugins` of file", &["PluginTerms"]),
        ("server `stdio`", &["Stdio", "Entry"]),
        ("server `http`", &["Remote", "Entry"]),
        ("server `sse-ide`", &["Ide", "Entry"]),
        ("`tools` of server `http`", &["ToolFilter"]),
        ("`oauth` of server `http`", &["OAuth"]),
        ("`tls` of server `http`", &["Tls"]),
        ("`hooks` of file", &[]),
        ("`mcpServers` of file", &[]),
    ];

    const FILE: &str = r#"{ "permissions": { "deny": [{ "rule": "mcp__a", "for": { "group": "x" }, "when": { "argument": "/x", "matches": "x" } }] },
        "hooks": { "PreToolUse": [{ "hooks": [{ "command": "x" }] }] },
        "connectors": { "url": "x" }, "xaaIdp": { "issuer": "x", "clientId": "x" }, "questions": {}, "limits": {},
        "plugins": { "each": { "x": {} } } }"#;
    const ENTRIES: [(&str, &str); 3] = [
        ("stdio", r#"{ "type": "stdio", "command": "x" }"#),
        ("http", r#"{ "type": "http", "url": "http://x", "tools": {}, "oauth": {}, "tls": {} }"#),
        ("sse-ide", r#"{ "type": "sse-ide", "url": "http://x" }"#),
    ];

    #[test]
    fn what_is_listed_is_what_is_read() {
        REQUESTED_MEMBERS.with_borrow_mut(BTreeSet::clear);
        let mut problems = Vec::new();
        let node = |text| jsonc::parse(&SourceOrigin::text("file"), text).unwrap();
        decode_settings(&node(FILE), "file", &mut problems);
        for (name, text) in ENTRIES {
            decode_entry(name, &node(text), Completeness::Complete, &mut problems).unwrap();
        }
        assert!(problems.is_empty(), "{problems:?}");
        let asked = REQUESTED_MEMBERS.with_borrow(Clone::clone);
        let types = |what: &str| {
            let found = CALLED.iter().find(|(called, _)| *called == what);
            found.unwrap_or_else(|| panic!("nothing is known of {what}")).1
        };
        let listed = listed();
        let is_listed = |(what, key): &(String, &str)| {
            *key == "$schema"
                || *key == "type"
                || types(what).is_empty()
                || types(what).iter().any(|of| listed.contains(&format!("{of}.{key}")))
        };
        let unlisted: Vec<_> = asked.iter().filter(|asked| !is_listed(asked)).collect();
        assert!(unlisted.is_empty(), "read, and not on the page: {unlisted:?}");
        let is_read = |path: &&String| {
            let (of, name) = path.split_once('.').unwrap();
            let whats = CALLED.iter().filter(|(_, types)| types.contains(&of));
            whats.into_iter().any(|(what, _)| asked.contains(&((*what).to_owned(), name)))
        };
        // Server rules are read in `policy`, which knows no other members.
        let unread: Vec<_> = listed
            .iter()
            .filter(|path| !path.starts_with("ServerRule."))
            .filter(|path| !is_read(path))
            .collect();
        assert!(unread.is_empty(), "on the page, and not read: {unread:?}");
    }
}
