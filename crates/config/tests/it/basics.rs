//! Tests of server names, folders, globs and rules.

use std::path::{Path, PathBuf};

use switchboard_config::server_name::{
    check_server_name, normalize_connector_name, normalize_server_name,
};
use switchboard_config::{
    DynamicConfig, Entry, HostContext, Platform, Scope, ServerSharing, StdioTransport, ToolFilter,
    ToolPattern, Transport, glob_matches,
};

#[test]
fn names_on_the_command_line() {
    for good in ["a", "A-b_9"] {
        assert!(check_server_name(good).is_ok());
    }
    for bad in ["", "a b", "a.b", "é", "a/b", "plugin:a:b"] {
        assert!(check_server_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn normalized_names() {
    assert_eq!(normalize_server_name("my-server.é/1"), "my-server___1");
    assert_eq!(normalize_connector_name("  Docs (prod)  "), "Docs_prod");
}

#[test]
fn order_is_precedence() {
    let scopes = [
        Scope::Connectors,
        Scope::Plugin,
        Scope::Inherited,
        Scope::User,
        Scope::Project,
        Scope::Local,
        Scope::Dynamic,
        Scope::Agent,
        Scope::Enterprise,
    ];
    assert!(scopes.is_sorted());
    assert_eq!("local".parse(), Ok(Scope::Local));
    assert!("enterprise".parse::<Scope>().is_err());
}

#[test]
fn globs() {
    for (pattern, text) in
        [("*", ""), ("a*", "a"), ("a*c", "abc"), ("*b*", "abc"), ("a**c", "ac"), ("a*b*b", "abb")]
    {
        assert!(glob_matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in
        [("", "a"), ("a", "ab"), ("a*a", "a"), ("*b", "abc"), ("a*b*b", "ab"), ("a?", "ab")]
    {
        assert!(!glob_matches(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn filters_of_tools() {
    let filter =
        ToolFilter { allow: Some(vec!["get_*".to_owned()]), deny: vec!["get_secret".to_owned()] };
    assert!(
        filter.shows_tool("get_x")
            && !filter.shows_tool("get_secret")
            && !filter.shows_tool("set_x")
    );
    assert!(ToolFilter::default().shows_tool("anything"));
    assert!(!ToolFilter { allow: Some(Vec::new()), deny: Vec::new() }.shows_tool("anything"));
}

#[test]
fn rules() {
    let server = || "github".to_owned();
    assert_eq!(ToolPattern::parse("mcp__*"), Ok(ToolPattern::Everything));
    let methods = |tools: &str| ToolPattern::Tools { server: "a".into(), tools: tools.into() };
    assert_eq!(ToolPattern::parse("mcp__a__method:x/*"), Ok(methods("method:x/*")));
    assert!(ToolPattern::parse("mcp__a__method:").is_err());
    assert!(ToolPattern::parse("mcp__a__method:x y").is_err());
    assert_eq!(ToolPattern::parse("mcp__github"), Ok(ToolPattern::Server(server())));
    assert_eq!(ToolPattern::parse("mcp__github__*"), Ok(ToolPattern::Server(server())));
    assert_eq!(
        ToolPattern::parse("mcp__github__get_*"),
        Ok(ToolPattern::Tools { server: server(), tools: "get_*".to_owned() })
    );
    for bad in ["", "mcp__", "github", "mcp__a*", "mcp____x", "mcp__a__", "mcp__a__b(c)"] {
        assert!(ToolPattern::parse(bad).is_err(), "{bad}");
    }
}

fn folders(platform: Platform, env: &[(&str, &str)]) -> Option<[PathBuf; 3]> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let found = HostContext::for_platform(platform, env, "/somewhere".into())?;
    Some([found.config_dir, found.state_dir, found.managed_dir])
}

#[cfg(unix)]
#[test]
fn the_usual_folders() {
    let check = |platform, env: &[_], expected: [&str; 3]| {
        assert_eq!(folders(platform, env), Some(expected.map(PathBuf::from)));
    };
    let managed = "/etc/switchboard";
    check(
        Platform::Linux,
        &[("HOME", "/h")],
        ["/h/.config/switchboard", "/h/.local/state/switchboard", managed],
    );
    check(
        Platform::Linux,
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")],
        ["/c/switchboard", "/h/.local/state/switchboard", managed],
    );
    check(
        Platform::Linux,
        &[
            ("HOME", "/h"),
            ("SWITCHBOARD_CONFIG_DIR", "/mine"),
            ("SWITCHBOARD_MANAGED_DIR", "/evil"),
        ],
        ["/mine", "/h/.local/state/switchboard", managed],
    );
    let support = "/h/Library/Application Support/switchboard";
    check(
        Platform::Mac,
        &[("HOME", "/h")],
        [support, support, "/Library/Application Support/Switchboard"],
    );
    assert_eq!(folders(Platform::Linux, &[]), None);
}

#[test]
fn arguments_that_are_files_or_the_configuration_itself() {
    let cwd = Path::new("/somewhere");
    assert_eq!(
        DynamicConfig::from_argument(" {\"a\": 1}", cwd),
        DynamicConfig::Text(" {\"a\": 1}".to_owned())
    );
    assert_eq!(
        DynamicConfig::from_argument("x.json", cwd),
        DynamicConfig::File("/somewhere/x.json".into())
    );
}

#[test]
fn an_entry_is_written_without_what_goes_without_saying() {
    let mut entry = Entry::new(Transport::Stdio(StdioTransport {
        command: "x".to_owned(),
        ..StdioTransport::default()
    }));
    assert_eq!(entry.to_json(), serde_json::json!({ "type": "stdio", "command": "x" }));
    entry.share = ServerSharing::Never;
    entry.timeout = Some(5000);
    let expected =
        serde_json::json!({ "type": "stdio", "command": "x", "timeout": 5000, "share": "never" });
    assert_eq!(entry.to_json(), expected);
}

#[test]
fn files_of_a_sign_in_are_named_from_the_start_folder() {
    let oauth = switchboard_config::OAuth {
        private_key_file: Some("keys/own.pem".to_owned()),
        assertion_file: Some("/run/assertion".to_owned()),
        ..switchboard_config::OAuth::default()
    };
    let oauth = oauth.with_files_in(std::path::Path::new("/work"));
    assert_eq!(oauth.private_key_file.as_deref(), Some("/work/keys/own.pem"));
    assert_eq!(oauth.assertion_file.as_deref(), Some("/run/assertion"));
}
