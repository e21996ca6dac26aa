//! Tests of error messages for invalid arguments.

use super::said;

fn check(schema: &str, arguments: &str, expected: &[&str]) {
    assert_eq!(said(schema, arguments), expected, "{schema} {arguments}");
}

#[test]
fn a_mistake_names_the_place_and_what_was_expected() {
    let list = r#"{"type":"object","properties":{"items":{"type":"array","items":{
        "type":"object","properties":{"name":{"type":"string"}}}}}}"#;
    check(list, r#"{"items":[{"name":"a"}]}"#, &[]);
    check(list, r#"{"items":[{"name":3}]}"#, &["/items/0/name: expected string, got number"]);
    check(list, "[]", &["expected object, got array"]);

    for (property, value, expected) in [
        (r#"{"type":["string","null"]}"#, "1", "/a: expected null or string, got number"),
        (r#"{"type":"integer"}"#, "1.5", "/a: expected integer, got number"),
        (
            r#"{"enum":["open","closed"]}"#,
            "\"secret\"",
            r#"/a: expected one of "open", "closed", got string"#,
        ),
        (r#"{"const":"x"}"#, "\"secret\"", r#"/a: expected "x", got another string"#),
        (r#"{"minimum":3}"#, "1", "/a: expected a number of at least 3"),
        (r#"{"maxLength":3}"#, "\"secret\"", "/a: expected at most 3 characters"),
        (r#"{"pattern":"^[0-9]+$"}"#, "\"secret\"", "/a: expected text that matches `^[0-9]+$`"),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            "1",
            "/a: expected string or null, got number",
        ),
        (r#"{"uniqueItems":true}"#, "[1,1]", "/a: expected items that all differ"),
        ("false", "1", "/a: nothing is allowed here, got number"),
    ] {
        check(
            &format!(r#"{{"properties":{{"a":{property}}}}}"#),
            &format!(r#"{{"a":{value}}}"#),
            &[expected],
        );
    }
}

#[test]
fn a_slip_in_a_name_is_seen_through() {
    let schema = r#"{"type":"object","required":["title"],"additionalProperties":false,
        "properties":{"title":{},"body":{}}}"#;
    check(schema, "{}", &["`title` is required"]);
    check(
        schema,
        r#"{"titel":1}"#,
        &[
            "/titel: unknown property `titel`; did you mean `title`?",
            "`title` is required; is it meant by `titel`?",
        ],
    );
    check(
        schema,
        r#"{"title":1,"x/y":2}"#,
        &["/x~1y: unknown property `x/y`; known are `title`, `body`"],
    );
}

#[test]
fn of_several_forms_the_nearest_is_explained() {
    let schema = r#"{"oneOf":[
        {"type":"object","required":["kind"],"properties":{"kind":{"const":"a"},"n":{"type":"number"}}},
        {"type":"object","required":["kind","other"],"properties":{"kind":{"const":"b"}}},
        {"type":"string"}]}"#;
    check(
        schema,
        r#"{"kind":"a","n":"x"}"#,
        &["/n: expected number, got string (the nearest of 3 forms)"],
    );
}

#[test]
fn nothing_of_a_value_is_repeated() {
    let secret = "hunter2hunter2";
    for property in [
        r#"{"type":"number"}"#,
        r#"{"enum":[1,2]}"#,
        r#"{"const":"k"}"#,
        r#"{"maxLength":1}"#,
        r#"{"pattern":"^x$"}"#,
        r#"{"not":{"type":"string"}}"#,
        r#"{"anyOf":[{"maxLength":1},{"const":3}]}"#,
        "false",
        r#"{"oneOf":[{},{}]}"#,
        r#"{"allOf":[{"minLength":99}]}"#,
    ] {
        let schema = format!(r#"{{"properties":{{"a":{property}}}}}"#);
        let all = said(&schema, &format!(r#"{{"a":"{secret}"}}"#)).join("\n");
        assert!(!all.is_empty() && !all.contains(secret), "{property}: {all}");
    }
}

#[test]
fn what_a_schema_says_is_cleaned_and_shortened() {
    let long = "x".repeat(10_000);
    let schema = format!(r#"{{"properties":{{"a":{{"enum":["\u001b[31m\u202e","{long}"]}}}}}}"#);
    let all = said(&schema, r#"{"a":1}"#).join("\n");
    assert!(all.len() < 400 && !all.contains('\u{1b}') && !all.contains('\u{202e}'), "{all}");

    let many: Vec<String> = (0..100).map(|n| format!(r#"{{"n":{n}}}"#)).collect();
    let mistakes = said(r#"{"items":{"type":"string"}}"#, &format!("[{}]", many.join(",")));
    assert_eq!(mistakes.len(), 5);
}

#[test]
fn drafts_and_formats() {
    let tuple = |draft: &str| format!(r#"{{"$schema":"{draft}","items":[{{"type":"string"}}]}}"#);
    for draft in
        ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"]
    {
        check(&tuple(draft), "[1]", &["/0: expected string, got number"]);
    }
    let newest = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}"#;
    check(newest, "[1]", &["/0: expected string, got number"]);
    // A name nobody knows is read as the newest draft, and not looked up.
    check(
        r#"{"$schema":"https://example.com/mine","prefixItems":[{"type":"string"}]}"#,
        "[\"a\"]",
        &[],
    );
    // A format is a remark.
    check(r#"{"properties":{"a":{"type":"string","format":"email"}}}"#, r#"{"a":"nobody"}"#, &[]);
}

#[test]
fn numbers_of_any_size_are_checked() {
    let schema = r#"{"properties":{"n":{"type":"number","maximum":10},"i":{"type":"integer"}}}"#;
    check(schema, r#"{"n":1e400}"#, &["/n: expected a number of at most 10"]);
    check(schema, r#"{"n":-1e400,"i":9223372036854775807}"#, &[]);
    check(schema, r#"{"i":18446744073709551615}"#, &[]);
    check(schema, r#"{"i":123456789012345678901234567890}"#, &[]);
    check(r#"{"properties":{"n":{"maximum":1e400,"multipleOf":1e-300}}}"#, r#"{"n":1e308}"#, &[]);
    check(r#"{"properties":{"s":{"type":"string","maxLength":99}}}"#, r#"{"s":"\ud800"}"#, &[]);
}
