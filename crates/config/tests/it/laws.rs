//! Property tests that hold for every configuration.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use switchboard_config::{
    ConfigNode, Scope, ServerReadiness, SourceLocation, SourceOrigin, check_entry,
};

use crate::case::World;

fn at() -> SourceLocation {
    SourceOrigin::text("test").start()
}

/// Expands one argument as in an entry.
fn expanded(template: &str, env: &[(String, String)]) -> Option<String> {
    let entry = json!({ "command": "x", "args": [template] });
    let checked = check_entry("s", &entry, &at(), &env.iter().cloned().collect());
    let json = checked.entry.filter(|_| checked.is_complete)?.to_json();
    json["args"][0].as_str().map(str::to_owned)
}

fn entry(command: &str, kind: u8) -> Value {
    match kind {
        0 => json!({ "command": command }),
        1 => json!({ "command": command, "disabled": true }),
        2 => json!({ "command": command, "timeout": 1 }),
        _ => json!({ "command": command, "args": ["${NOT_SET}"] }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A value is text and is not expanded again.
    #[test]
    fn nothing_is_expanded_twice(value in "(\\$\\{[A-C]\\}|\\$\\{[A-C]:-[a-z$]*\\}|[a-z$\\{\\}:-]){0,8}", before in "[a-z]*", after in "[a-z}]*") {
        let env = [("A".to_owned(), value.clone()), ("B".to_owned(), "b".to_owned()), ("C".to_owned(), "${A}".to_owned())];
        let template = format!("{before}${{A}}{after}");
        prop_assert_eq!(expanded(&template, &env), Some(format!("{before}{value}{after}")));
    }

    /// Text without a reference stays unchanged.
    #[test]
    fn plain_text_stays(text in "[a-zA-Z$ {}:-]*") {
        prop_assume!(!text.contains("${"));
        prop_assert_eq!(expanded(&text, &[]), Some(text));
    }

    /// A default is used exactly if the variable is not set.
    #[test]
    fn defaults(value in proptest::option::of("[a-z]*"), default in "[a-z ${:-]*") {
        let env: Vec<_> = value.clone().map(|value| ("A".to_owned(), value)).into_iter().collect();
        prop_assert_eq!(expanded(&format!("${{A:-{default}}}"), &env), Some(value.unwrap_or(default)));
    }
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Of each name, the greatest scope that is ready, disabled or invalid is used, and no server below it is
    /// started.
    #[test]
    fn the_greatest_scope_counts(kinds in prop::collection::vec(proptest::option::of(0_u8..4), 3 * 3), approved in any::<bool>()) {
        let world = World::new();
        let places = [("config/settings.json", Scope::User), ("project/.mcp.json", Scope::Project), ("project/.switchboard/settings.local.json", Scope::Local)];
        for (index, (place, scope)) in places.iter().enumerate() {
            let servers = (0..3).filter_map(|name| kinds[index * 3 + name].map(|kind| (format!("s{name}"), entry(scope.name(), kind))));
            world.write(place, &json!({ "mcpServers": servers.collect::<Map<_, _>>() }).to_string());
        }
        if approved { world.approve(|_| true); }
        let desired = world.desired();
        for name in 0..3 {
            let expected = (0..3).rev().find(|index| match kinds[index * 3 + name] {
                None => false,
                // Without approval, only a disabled or invalid entry counts.
                Some(kind) => *index == 0 || approved || kind == 1 || kind == 2,
            });
            let counts = desired.servers.iter().find(|server| {
                server.name == format!("s{name}") && !matches!(server.state, ServerReadiness::AwaitingApproval { .. })
            });
            prop_assert_eq!(counts.map(|server| server.scope), expected.map(|index| places[index].1));
            let started = desired.ready_servers().filter(|(server, _)| server.name == format!("s{name}")).count();
            prop_assert!(started <= 1);
        }
    }

    /// Without approval, a project starts nothing, permits nothing and changes no setting, whatever it holds.
    #[test]
    fn an_unapproved_project_only_takes_away(mcp in document(), shared in document(), local in document()) {
        let world = World::new();
        world.write("config/settings.json", r#"{"mcpServers": {"mine": {"command": "mine"}}, "permissions": {"allow": ["mcp__mine"], "ask": ["mcp__y"], "deny": ["mcp__x", {"rule": "mcp__mine", "when": {"argument": "/a", "matches": "b"}}]}}"#);
        let before = world.desired();
        world.write("project/.mcp.json", &mcp.to_string());
        world.write("project/.switchboard/settings.json", &shared.to_string());
        world.write("project/.switchboard/settings.local.json", &local.to_string());
        let after = world.desired();
        let started: Vec<_> = after.ready_servers().map(|(server, _)| server.scope).collect();
        prop_assert!(started.iter().all(|scope| *scope == Scope::User), "{started:?}");
        prop_assert_eq!(&after.rules.allow, &before.rules.allow);
        prop_assert_eq!(&after.rules.mode, &before.rules.mode);
        prop_assert_eq!(&after.rules.classifier, &before.rules.classifier);
        prop_assert_eq!(&after.hooks, &before.hooks);
        prop_assert_eq!(&after.settings, &before.settings);
        prop_assert!(before.rules.deny.iter().all(|rule| after.rules.deny.contains(rule)));
        prop_assert!(before.rules.ask.iter().all(|rule| after.rules.ask.contains(rule)));
    }

    /// A tree keeps its value through conversions.
    #[test]
    fn trees_keep_their_values(value in document()) {
        prop_assert_eq!(ConfigNode::from_json(&value, &at()).to_json(), value);
    }
}

/// Random settings, made of known members.
fn document() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "mcpServers",
        "permissions",
        "allow",
        "deny",
        "ask",
        "rule",
        "for",
        "when",
        "group",
        "argument",
        "matches",
        "defaultMode",
        "classifier",
        "hooks",
        "PreToolUse",
        "PermissionRequest",
        "env",
        "MCP_TIMEOUT",
        "PATH",
        "enabledMcpjsonServers",
        "disabledMcpjsonServers",
        "enableAllProjectMcpServers",
        "enabledMcpServers",
        "allowedMcpServers",
        "deniedMcpServers",
        "allowManagedMcpServersOnly",
        "connectors",
        "url",
        "tokenHelper",
        "xaaIdp",
        "issuer",
        "clientId",
        "secretProviders",
        "nativePlugins",
        "plugins",
        "each",
        "sandbox",
        "pool",
        "inherit",
        "ideTools",
        "limits",
        "hubIdleMs",
        "serverIdleMs",
        "command",
        "args",
        "type",
        "mine",
        "evil",
        "matcher",
        "serverName",
    ]);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(5000)),
        Just(Value::Null),
        prop::sample::select(vec![
            "mcp__mine",
            "mcp__*",
            "mcp__mine__x",
            "/a",
            "evil",
            "bypassPermissions",
            "claude-code",
            "http",
            "https://evil.example",
            "mine",
            "command"
        ])
        .prop_map(Value::from),
    ];
    let inner = leaf.prop_recursive(5, 64, 6, move |inner| {
        let key = key.clone();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    });
    // Mostly a plausible outline, so that the inner parts are reached.
    (inner.clone(), inner.clone(), inner.clone(), inner).prop_map(|(servers, permissions, hooks, rest)| {
        let allow = json!({ "rule": "mcp__mine", "for": { "group": "dev" } });
        let permissions = match permissions {
            Value::Array(list) => json!({ "allow": list, "deny": [allow] }),
            Value::Bool(_) => json!({ "allow": [allow, "mcp__mine"] }),
            other => other,
        };
        let mut whole = json!({
            "mcpServers": { "mine": { "command": "evil" }, "evil": servers },
            "permissions": permissions,
            "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "evil" }] }], "PostToolUse": hooks },
        });
        if let (Some(whole), Value::Object(rest)) = (whole.as_object_mut(), rest) {
            whole.extend(rest);
        }
        whole
    })
}
