//! Tests that the published schemas and the settings reference match the types.

use std::path::Path;

fn check(name: &str, schema: &serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "{name} is not current; run the tests with UPDATE=1");
}

fn names(schema: &serde_json::Value) -> Vec<String> {
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

/// Every member in the schema is known to the reader.
#[test]
fn every_published_member_is_read() {
    let schema = switchboard_config::schema::settings_schema();
    let nulls = |names: Vec<String>| names.into_iter().map(|name| (name, serde_json::Value::Null));
    let mut settings: serde_json::Map<_, _> = nulls(names(&schema)).collect();
    for (inner, member) in
        [("Permissions", "permissions"), ("Limits", "limits"), ("PluginSettings", "plugins")]
    {
        let members: serde_json::Map<_, _> = nulls(names(&schema["$defs"][inner])).collect();
        settings.insert(member.to_owned(), members.into());
    }
    let common = names(&schema["$defs"]["Entry"]);
    let mut servers = serde_json::Map::new();
    for (kind, form, must) in
        [("stdio", "Stdio", "command"), ("http", "Remote", "url"), ("sse-ide", "Ide", "url")]
    {
        let members = names(&schema["$defs"][form]).into_iter().chain(common.clone());
        let mut entry: serde_json::Map<_, _> = nulls(members.collect()).collect();
        entry.insert("type".to_owned(), kind.into());
        entry.insert(must.to_owned(), "https://a.example".into());
        servers.insert(kind.to_owned(), entry.into());
    }
    let oauth: serde_json::Map<_, _> = nulls(names(&schema["$defs"]["OAuth"])).collect();
    servers["http"]["oauth"] = oauth.into();
    settings.insert("mcpServers".to_owned(), servers.into());
    let world = crate::case::World::new();
    world.write("config/settings.json", &serde_json::Value::Object(settings).to_string());
    let desired = world.desired();
    let surprising: Vec<_> = desired
        .problems
        .iter()
        .filter(|problem| problem.kind != switchboard_config::ConfigProblemKind::NotHonoured)
        .collect();
    assert!(surprising.is_empty(), "{surprising:?}");
    assert_eq!(desired.ready_servers().count(), 3);
}

/// `INSTA_UPDATE=always` rewrites the page.
#[test]
fn the_reference_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/settings.md");
    let made = switchboard_config::settings_reference::render_settings_page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        std::fs::write(&page, &made).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == made,
        "docs/reference/settings.md is not current; run with INSTA_UPDATE=always"
    );
}

#[test]
fn settings_schema_is_current() {
    check("settings.schema.json", &switchboard_config::schema::settings_schema());
}

#[test]
fn mcp_json_schema_is_current() {
    check("mcp.schema.json", &switchboard_config::schema::mcp_json_schema());
}
