//! Tests of redaction: the parts of an entry that are shown.

use serde_json::{Value, json};
use switchboard_config::redact::redact_entry;

#[track_caller]
fn check(entry: Value, expected: Value) {
    assert_eq!(redact_entry(&entry), expected);
}

#[test]
fn variables_and_headers() {
    check(
        json!({ "env": { "A": "s3cret", "B": "${B}", "C": "${C:-s3cret}", "D": "x${D}y", "E": 5 }, "headers": { "Authorization": "Bearer s3cret", "X": "Bearer ${T}" } }),
        json!({ "env": { "A": "********", "B": "${B}", "C": "${C:-********}", "D": "********${D}********", "E": "********" },
            "headers": { "Authorization": "Bearer ********", "X": "Bearer ${T}" } }),
    );
}

#[test]
fn urls() {
    check(
        json!({ "url": "https://user:pw@h.example/p" }),
        json!({ "url": "https://********@h.example/p" }),
    );
    check(
        json!({ "url": "https://${U}:${P}@h.example" }),
        json!({ "url": "https://${U}********${P}@h.example" }),
    );
    for kept in ["https://user:${secret:P}@h.example", "https://${secret:T}@h.example"] {
        check(json!({ "url": kept }), json!({ "url": kept }));
    }
    check(
        json!({ "url": "https://ghp_0123456789abcdefghij:${P}@h.example" }),
        json!({ "url": "https://********${P}@h.example" }),
    );
    check(
        json!({ "url": "https://h.example/p?api_key=abc&page=2&access_token=${T}#f" }),
        json!({ "url": "https://h.example/p?api_key=********&page=2&access_token=${T}#f" }),
    );
    check(json!({ "url": "https://h.example/a@b" }), json!({ "url": "https://h.example/a@b" }));
    check(
        json!({ "url": "https://user:p/w@h.example/x" }),
        json!({ "url": "https://********@h.example/x" }),
    );
}

#[test]
fn arguments() {
    check(
        json!({ "command": "x", "args": ["--token", "abc", "--api-key=abc", "-e", "GITHUB_TOKEN=abc", "--port", "80", "--header", "Authorization: Bearer abc", "--verbose", "--password", "--flag"] }),
        json!({ "command": "x", "args": ["--token", "********", "--api-key=********", "-e", "GITHUB_TOKEN=********", "--port", "80", "--header", "Authorization: Bearer ********", "--verbose", "--password", "--flag"] }),
    );
    check(
        json!({ "args": ["postgres://me:pw@db/x", "ghp_0123456789abcdefghij", "https://h.example?token=a", "${TOKEN}", "-y", "@org/auth-server"] }),
        json!({ "args": ["postgres://********@db/x", "********", "https://h.example?token=********", "${TOKEN}", "-y", "@org/auth-server"] }),
    );
}

#[test]
fn members_with_telling_names() {
    check(
        json!({ "authToken": "abc", "oauth": { "clientId": "me", "clientSecret": "abc", "scopes": ["a"] }, "ideName": "E" }),
        json!({ "authToken": "********", "oauth": { "clientId": "me", "clientSecret": "********", "scopes": ["a"] }, "ideName": "E" }),
    );
}
