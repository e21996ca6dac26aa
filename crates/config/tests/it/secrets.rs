//! Tests of moving secrets out of entries: which values are found, and what the entry says afterwards.

use serde_json::{Value, json};
use switchboard_config::secret::{
    SecretNameChoice, SecretText, find_secret_values, replace_secret_values,
};

/// Checks the found values as `field NAME=value`, and the entry after all of them were replaced.
#[track_caller]
fn check(entry: Value, expected: &[&str], after: Value) {
    let values = find_secret_values("my-server", &entry);
    let mut choice = SecretNameChoice::default();
    let named: Vec<_> = values.iter().map(|value| (value, choice.choose(value))).collect();
    let lines = named
        .iter()
        .map(|(value, name)| format!("{} {name}={}", value.field, value.value.expose()));
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    let replaced =
        replace_secret_values(&entry, named.iter().map(|(value, name)| (*value, name.as_str())));
    assert_eq!(replaced, after);
}

#[test]
fn variables_are_named_after_themselves() {
    check(
        json!({ "command": "x", "env": { "GITHUB_TOKEN": "abcdefgh12", "db": "ghp_0123456789abcdef", "URL": "postgres://me:pa55@h/db", "LEVEL": "debug" } }),
        &[
            "env.GITHUB_TOKEN GITHUB_TOKEN=abcdefgh12",
            "env.db DB=ghp_0123456789abcdef",
            "env.URL URL=postgres://me:pa55@h/db",
        ],
        json!({ "command": "x", "env": { "GITHUB_TOKEN": "${secret:GITHUB_TOKEN}", "db": "${secret:DB}", "URL": "${secret:URL}", "LEVEL": "debug" } }),
    );
}

#[test]
fn the_scheme_of_a_header_stays() {
    check(
        json!({ "type": "http", "url": "https://h.example", "headers": { "Authorization": "Bearer abcdefgh12", "X-Org": "acme-industries" } }),
        &["headers.Authorization MY_SERVER_AUTHORIZATION=abcdefgh12"],
        json!({ "type": "http", "url": "https://h.example", "headers": { "Authorization": "Bearer ${secret:MY_SERVER_AUTHORIZATION}", "X-Org": "acme-industries" } }),
    );
}

#[test]
fn arguments_and_addresses() {
    check(
        json!({ "command": "x", "args": ["--token", "abcdefgh12", "--api-key=abcdefgh34", "-H", "Authorization: Bearer abcdefgh56", "--name", "abcdefgh78", "sk-0123456789abcdef"] }),
        &[
            "args[1] MY_SERVER_TOKEN=abcdefgh12",
            "args[2] MY_SERVER_API_KEY=abcdefgh34",
            "args[4] MY_SERVER_AUTHORIZATION=abcdefgh56",
            "args[7] MY_SERVER_TOKEN_2=sk-0123456789abcdef",
        ],
        json!({ "command": "x", "args": ["--token", "${secret:MY_SERVER_TOKEN}", "--api-key=${secret:MY_SERVER_API_KEY}", "-H", "Authorization: Bearer ${secret:MY_SERVER_AUTHORIZATION}", "--name", "abcdefgh78", "${secret:MY_SERVER_TOKEN_2}"] }),
    );
    check(
        json!({ "command": "npx", "args": ["-y", "pg-mcp", "postgresql://me:pa55word@localhost/db", "--url=https://h.example/mcp?api_key=abcdefgh12&x=1", "https://h.example/?page=2"] }),
        &["args[2] MY_SERVER_PASSWORD=pa55word", "args[3] MY_SERVER_API_KEY=abcdefgh12"],
        json!({ "command": "npx", "args": ["-y", "pg-mcp", "postgresql://me:${secret:MY_SERVER_PASSWORD}@localhost/db", "--url=https://h.example/mcp?api_key=${secret:MY_SERVER_API_KEY}&x=1", "https://h.example/?page=2"] }),
    );
    check(
        json!({ "type": "http", "url": "https://me:pa55word@h.example/mcp?page=2&api_key=abcdefgh12&x=1#f" }),
        &["url MY_SERVER_PASSWORD=pa55word", "url MY_SERVER_API_KEY=abcdefgh12"],
        json!({ "type": "http", "url": "https://me:${secret:MY_SERVER_PASSWORD}@h.example/mcp?page=2&api_key=${secret:MY_SERVER_API_KEY}&x=1#f" }),
    );
}

#[test]
fn references_and_plain_settings_stay() {
    let entry = json!({ "command": "x", "args": ["--token", "${T}", "--auth", "--token=short"], "env": { "A_TOKEN": "${A_TOKEN}", "B_TOKEN": "${secret:B}", "AUTH_URL": "https://login.example", "TOKEN_LIMIT": "1000000000", "SESSION_FILE": "/var/run/session", "SECRET_AGENT": "op://a/b/c" } });
    check(entry.clone(), &[], entry);
}

#[test]
fn equal_values_share_a_name_and_others_do_not() {
    let value =
        |text: &str| find_secret_values("s", &json!({ "env": { "A_TOKEN": text } })).remove(0);
    let store = [("A_TOKEN".to_owned(), Some(SecretText::new("abcdefgh12")))];
    let mut choice = SecretNameChoice::new(store);
    assert_eq!(choice.choose(&value("abcdefgh12")), "A_TOKEN");
    assert_eq!(choice.choose(&value("abcdefgh34")), "A_TOKEN_2");
    assert_eq!(choice.choose(&value("abcdefgh34")), "A_TOKEN_2");
    let mut unreadable = SecretNameChoice::new([("A_TOKEN".to_owned(), None)]);
    assert_eq!(unreadable.choose(&value("abcdefgh12")), "A_TOKEN_2");
}
