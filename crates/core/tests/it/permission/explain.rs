//! Tests of explanations: what would happen to a call, and which rules decide.

use std::fs;

use serde_json::{Value, json};
use switchboard_config::{
    Desired, HostContext, PermissionMode, Platform, ResolveOptions, resolve_desired,
};
use switchboard_core::permission::{CallToExplain, RulePrincipal, UnknownTool, explain_call};
use switchboard_wire::json::Raw;

use super::local;

/// What the user's settings desire.
fn desired(settings: &Value) -> Desired {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    fs::create_dir_all(home.join(".config/switchboard")).unwrap();
    fs::write(home.join(".config/switchboard/settings.json"), settings.to_string()).unwrap();
    let env = [("HOME".to_owned(), home.to_str().unwrap().to_owned())].into();
    let mut host = HostContext::for_platform(Platform::Linux, env, home.clone()).unwrap();
    host.managed_dir = home.join("managed");
    resolve_desired(&host, &ResolveOptions::default())
}

fn explain(
    desired: &Desired,
    tool: &str,
    principal: &RulePrincipal,
    arguments: &str,
    mode: Option<PermissionMode>,
) -> Result<Value, UnknownTool> {
    let arguments = Raw::parse(arguments.to_owned()).unwrap();
    let call = CallToExplain { tool, arguments: &arguments, principal, mode, annotations: None };
    explain_call(desired, None, &call).map(|found| serde_json::to_value(found).unwrap())
}

#[test]
fn an_explanation_names_every_rule_and_the_one_that_decides() {
    let desired = desired(&json!({
        "mcpServers": { "git hub": { "command": "x" }, "other": { "command": "y" } },
        "permissions": {
            "allow": [{ "rule": "mcp__git_hub__*", "when": { "argument": "/repo", "matches": "acme/*" } }],
            "ask": [{ "rule": "mcp__git_hub__push", "for": { "group": "guests" } }, "mcp__other"],
            "deny": [{ "rule": "mcp__*", "when": { "argument": "/repo", "matches": "acme/secret" } }],
        },
    }));
    let guest = RulePrincipal::new("gast").in_groups(["guests".to_owned()]);
    let check = |tool: &str, principal: &RulePrincipal, arguments: &str, expected: Value| {
        let found = explain(&desired, tool, principal, arguments, None).unwrap();
        let effects: Vec<_> =
            found["rules"].as_array().unwrap().iter().map(|rule| rule["effect"].clone()).collect();
        let found = json!([found["tool"], found["verdict"], found["because"]["by"], effects]);
        assert_eq!(found, expected, "{tool} {arguments}");
    };
    let push = "mcp__git_hub__push";
    check(
        "git hub/push",
        &local(),
        r#"{"repo":"acme/x"}"#,
        json!([push, "allow", "rule", ["other-argument", "other-principal", "counts"]]),
    );
    check(
        push,
        &guest,
        r#"{"repo":"acme/x"}"#,
        json!([push, "ask", "rule", ["other-argument", "counts", "counts"]]),
    );
    check(
        push,
        &local(),
        r#"{"repo":"acme/secret"}"#,
        json!([push, "deny", "rule", ["counts", "other-principal", "counts"]]),
    );
    check(
        push,
        &local(),
        "{}",
        json!([push, "deny", "rule", ["counts-unjudged", "other-principal", "unjudged"]]),
    );
    check(
        push,
        &local(),
        r#"{"repo":"x"}"#,
        json!([push, "allow", "client", ["other-argument", "other-principal", "other-argument"]]),
    );
    check(
        push,
        &local(),
        r#"{"repo":"x","repo":"y"}"#,
        json!([push, "deny", "rule", ["counts-unjudged", "other-principal", "unjudged"]]),
    );
    let found = explain(&desired, push, &guest, r#"{"repo":"acme/x"}"#, None).unwrap();
    assert_eq!(found["because"]["at"]["line"], 1);
    assert!(found["because"]["at"]["origin"].as_str().unwrap().ends_with("settings.json"));
    assert_eq!(found["groups"], json!(["guests"]));
}

#[test]
fn an_explanation_follows_the_mode() {
    let desired = desired(&json!({ "mcpServers": { "s": { "command": "x" } }, "permissions": {} }));
    let check = |mode, verdict: &str, annotated: bool| {
        let found = explain(&desired, "s/t", &local(), "{}", mode).unwrap();
        assert_eq!((&found["verdict"], &found["annotated"]), (&json!(verdict), &json!(annotated)));
    };
    check(None, "allow", false);
    check(Some(PermissionMode::Default), "ask", false);
    check(Some(PermissionMode::Auto), "ask", false);
    check(Some(PermissionMode::DontAsk), "deny", false);
    check(Some(PermissionMode::Plan), "deny", false);
    check(Some(PermissionMode::BypassPermissions), "allow", false);
}

#[test]
fn a_method_of_an_extension_is_explained_as_it_is_judged() {
    let desired = desired(&json!({
        "mcpServers": { "s": { "command": "x" } },
        "permissions": {
            "deny": ["mcp__s__method:things/drop"],
            "allow": ["mcp__s__method:vendor.example/*"],
        },
    }));
    for (method, mode, verdict) in [
        ("things/list", None, "allow"),
        ("things/drop", None, "deny"),
        ("things/list", Some(PermissionMode::Plan), "deny"),
        ("vendor.example/list", Some(PermissionMode::DontAsk), "allow"),
        ("vendor.example/list", Some(PermissionMode::Plan), "deny"),
    ] {
        for tool in [format!("s/method:{method}"), format!("mcp__s__method:{method}")] {
            let found = explain(&desired, &tool, &local(), "{}", mode).unwrap();
            assert_eq!(found["tool"], format!("mcp__s__method:{method}"));
            assert_eq!(found["verdict"], verdict, "{tool} {mode:?}");
            assert_eq!(found["annotated"], true, "a method has no annotations");
        }
    }
}

#[test]
fn only_tools_of_configured_servers_are_explained() {
    let desired =
        desired(&json!({ "mcpServers": { "a": { "command": "x" }, "a__b": { "command": "x" } } }));
    let server =
        |tool| explain(&desired, tool, &local(), "{}", None).map(|it| it["server"].clone());
    assert_eq!(server("a/t"), Ok(json!("a")));
    assert_eq!(server("mcp__a__t"), Ok(json!("a")));
    // Of two servers that fit, the longer name is meant.
    assert_eq!(server("mcp__a__b__t"), Ok(json!("a__b")));
    for unknown in ["b/t", "mcp__b__t", "a/", "mcp__a__"] {
        assert_eq!(server(unknown), Err(UnknownTool::NoServer(unknown.to_owned())));
    }
    assert_eq!(server("t"), Err(UnknownTool::Bare("t".to_owned())));
}

/// A server that is reached with something of the person who runs the hub is refused to everybody else before any rule.
#[test]
fn an_explanation_knows_what_is_not_lent() {
    let entry = json!({ "command": "x", "env": { "API_KEY": "hush" } });
    let mut lent = entry.clone();
    lent["signIn"] = "shared".into();
    let desired = desired(&json!({
        "mcpServers": { "personal": entry, "lent": lent, "plain": { "command": "x" } },
        "permissions": { "allow": ["mcp__personal"] },
    }));
    let bob = RulePrincipal::new("user:bob");
    let check = |server: &str, principal: &RulePrincipal, expected: Value| {
        let found = explain(&desired, &format!("{server}/push"), principal, "{}", None).unwrap();
        let told = json!([found["verdict"], found["because"]["by"], found["listed"]]);
        assert_eq!(told, expected, "{server} {principal:?}");
        found["reason"].as_str().unwrap().to_owned()
    };
    let reason = check("personal", &bob, json!(["deny", "not-lent", false]));
    assert!(reason.contains("`env.API_KEY` of the person who runs this switchboard"), "{reason}");
    assert!(!reason.contains("hush"), "{reason}");
    check("personal", &local(), json!(["allow", "rule", true]));
    check("lent", &bob, json!(["allow", "client", true]));
    check("plain", &bob, json!(["allow", "client", true]));
}

#[test]
fn an_explanation_says_whether_the_tool_is_listed_in_the_mode() {
    let desired = desired(&json!({
        "mcpServers": { "s": { "command": "x" } },
        "permissions": { "allow": [{ "rule": "mcp__s__t", "for": { "group": "dev" } }] },
    }));
    let bob = RulePrincipal::new("user:bob");
    let ada = RulePrincipal::new("user:ada").in_groups(["dev".to_owned()]);
    let check = |principal: &RulePrincipal, mode, listed: bool| {
        let found = explain(&desired, "s/t", principal, "{}", Some(mode)).unwrap();
        assert_eq!(found["listed"], json!(listed), "{principal:?} {mode:?}");
    };
    check(&bob, PermissionMode::DontAsk, false);
    check(&ada, PermissionMode::DontAsk, true);
    check(&local(), PermissionMode::DontAsk, true);
    check(&bob, PermissionMode::Default, true);
    // Whether it only reads is not known.
    check(&bob, PermissionMode::Plan, true);
}
