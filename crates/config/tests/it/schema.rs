//! The published schemas are those of the types.

use std::path::Path;

fn check(name: &str, schema: &serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("schema")
        .join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == text,
        "{name} is not current; run the tests with UPDATE=1"
    );
}

#[test]
fn settings_schema_is_current() {
    check(
        "settings.schema.json",
        &switchboard_config::schema::settings(),
    );
}

#[test]
fn mcp_json_schema_is_current() {
    check("mcp.schema.json", &switchboard_config::schema::mcp_json());
}
