//! Tests of schemas that were written to hang, to overflow, or to fetch.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use switchboard_core::schema::{SchemaError, SchemaValidator, check_schema};

use super::raw;

/// Compiles and checks on a thread with the stack a runtime's worker has, within a time that a person would
/// not notice. `None` if the schema is refused.
fn outcome(schema: String, arguments: &'static str) -> Option<bool> {
    let started = Instant::now();
    let run = move || {
        let validator = SchemaValidator::compile(&raw(schema)).ok()?;
        Some(validator.validate(&raw(arguments)).is_ok())
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run).unwrap();
    let outcome = thread.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    outcome
}

/// `count` definitions, each made from the next by `link`.
fn chain(count: usize, link: impl Fn(usize) -> String) -> String {
    let mut defs = String::new();
    for at in 0..count {
        write!(defs, r#""d{at}":{},"#, link(at + 1)).unwrap();
    }
    format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{defs}"d{count}":{{"type":"string"}}}}}}"##)
}

#[test]
fn references_that_go_round() {
    for (schema, fits) in [
        (r##"{"$ref":"#"}"##, true),
        (r##"{"allOf":[{"$ref":"#"}]}"##, true),
        (r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}"##, true),
        (
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
            true,
        ),
        (r##"{"not":{"$ref":"#"}}"##, false),
        (r##"{"if":{"$ref":"#"},"then":{"$ref":"#"},"else":{"$ref":"#"}}"##, true),
        (r##"{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}"##, true),
        (r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##, true),
    ] {
        assert_eq!(outcome(schema.to_owned(), r#"{"a":{"a":{}}}"#), Some(fits), "{schema}");
    }
    let tree = r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##;
    assert_eq!(outcome(tree.to_owned(), r#"{"a":{"a":[]}}"#), Some(false));
}

#[test]
fn references_that_double() {
    let twice = |next| {
        format!(r##"{{"allOf":[{{"$ref":"#/$defs/d{next}"}},{{"$ref":"#/$defs/d{next}"}}]}}"##)
    };
    // Ten doublings are a thousand steps; sixty would outlast everyone.
    assert_eq!(outcome(chain(10, twice), "\"text\""), Some(true));
    assert_eq!(outcome(chain(60, twice), "\"text\""), Some(false));
    for keyword in ["anyOf", "oneOf"] {
        let twice = |next| twice(next).replace("allOf", keyword);
        assert_ne!(outcome(chain(60, twice), "1"), Some(true), "{keyword}");
    }
    // One level of the value per doubling.
    let deeper =
        r##"{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}"##;
    let nested: &'static str = format!("{}1{}", r#"{"a":"#.repeat(60), "}".repeat(60)).leak();
    assert_eq!(outcome(deeper.to_owned(), nested), Some(false));
    let asks = |next| {
        format!(r##"{{"allOf":[{{"$ref":"#/$defs/d{next}"}}],"unevaluatedProperties":false}}"##)
    };
    assert_eq!(outcome(chain(60, asks), "{}"), Some(false));
}

#[test]
fn long_lists_are_honest_work() {
    let schema = r##"{"items":{"$ref":"#/$defs/i"},"$defs":{"i":{"anyOf":[{"type":"integer"},{"$ref":"#/$defs/n"}]},
        "n":{"type":"null"}}}"##;
    let long: &'static str = format!("[{}1]", "1,".repeat(200_000)).leak();
    assert_eq!(outcome(schema.to_owned(), long), Some(true));
}

#[test]
fn every_definition_refers_to_every_other() {
    let all: Vec<String> = (0..12).map(|at| format!(r##"{{"$ref":"#/$defs/d{at}"}}"##)).collect();
    let defs: Vec<String> =
        (0..12).map(|at| format!(r#""d{at}":{{"anyOf":[{}]}}"#, all.join(","))).collect();
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{}}}}}"##, defs.join(","));
    for arguments in ["1", "{}"] {
        assert_eq!(outcome(schema.clone(), arguments), Some(false));
    }
}

#[test]
fn long_chains_and_deep_nests() {
    let next = |next| format!(r##"{{"$ref":"#/$defs/d{next}"}}"##);
    assert_eq!(outcome(chain(100, next), "\"text\""), Some(true));
    assert_eq!(outcome(chain(6000, next), "\"text\""), Some(false));
    let not = |levels: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    assert!(outcome(not(60), "1").is_some());
    assert_eq!(outcome(not(70), "1"), None);
    let deep: &'static str = format!("{}{}", "[".repeat(120), "]".repeat(120)).leak();
    assert_eq!(outcome(r##"{"items":{"$ref":"#"}}"##.to_owned(), deep), Some(true));
    let forms = r##"{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#"}}]}"##;
    let shallow: &'static str = format!("{}{}", "[".repeat(90), "]".repeat(90)).leak();
    assert_eq!(outcome(forms.to_owned(), shallow), Some(true));
    let too_deep: &'static str = format!("{}{}", "[".repeat(500), "]".repeat(500)).leak();
    assert_eq!(outcome("{}".to_owned(), too_deep), Some(false));
}

#[test]
fn sizes_are_bounded() {
    let properties: Vec<String> = (0..20_001).map(|n| format!(r#""p{n}":{{}}"#)).collect();
    let many = format!(r#"{{"properties":{{{}}}}}"#, properties.join(","));
    let patterns: Vec<String> =
        (0..257).map(|n| format!(r#""p{n}":{{"pattern":"a{n}"}}"#)).collect();
    for schema in [
        many,
        format!(r#"{{"description":"{}"}}"#, "x".repeat(1024 * 1024)),
        format!(r#"{{"properties":{{{}}}}}"#, patterns.join(",")),
    ] {
        assert!(matches!(
            SchemaValidator::compile(&raw(schema)),
            Err(SchemaError::TooLarge { .. })
        ));
    }
}

#[test]
fn patterns_take_linear_time() {
    let text: &'static str = format!("\"{}!\"", "a".repeat(200_000)).leak();
    assert_eq!(outcome(r#"{"pattern":"^(a+)+$"}"#.to_owned(), text), Some(false));
    assert_eq!(outcome(r#"{"pattern":"(x{1000}){1000}"}"#.to_owned(), text), None);
    // What looks around is left to the server.
    assert_eq!(outcome(r#"{"pattern":"^(?!b)a+$"}"#.to_owned(), "\"bb\""), Some(true));
    let keys = r#"{"patternProperties":{"^(?=a)":{}},"additionalProperties":false}"#;
    assert_eq!(outcome(keys.to_owned(), r#"{"abc":1}"#), Some(true));
}

#[test]
fn nothing_is_fetched() {
    for reference in [
        "https://example.com/s.json",
        "http://127.0.0.1/s",
        "file:///etc/passwd",
        "other.json",
        "//host/x",
    ] {
        let schema = format!(r#"{{"properties":{{"a":{{"$ref":"{reference}"}}}}}}"#);
        let bad = SchemaValidator::compile(&raw(schema)).unwrap_err();
        assert!(matches!(bad, SchemaError::Remote(_)), "{reference}: {bad}");
    }
    // References by id stay within the document.
    let own = r##"{"$id":"https://example.com/tool","properties":{"a":{"$ref":"https://example.com/tool#/$defs/s"},
        "b":{"$ref":"item"}},"$defs":{"s":{"type":"string"},"i":{"$id":"item","$ref":"#/$defs/n","$defs":{"n":{"type":"number"}}}}}"##;
    assert_eq!(outcome(own.to_owned(), r#"{"a":"x","b":1}"#), Some(true));
    assert_eq!(outcome(own.to_owned(), r#"{"a":"x","b":"y"}"#), Some(false));
}

#[test]
fn broken_schemas_are_told() {
    for (schema, expected) in [
        ("[]", "the schema is not an object"),
        (r##"{"$ref":"#/$defs/none"}"##, "the schema refers to `#/$defs/none`, which is not in it"),
        (
            r#"{"$ref":"https://example.com/x"}"#,
            "the schema refers to `https://example.com/x`, and nothing is fetched",
        ),
        (
            r#"{"type":"strin"}"#,
            "the schema is not valid: value is not valid under any of the schemas listed in the 'anyOf' keyword at /type",
        ),
        (r#"{"pattern":"("}"#, "the schema is not valid: value is not a \"regex\" at /pattern"),
    ] {
        assert_eq!(check_schema(&raw(schema)).unwrap_err(), expected, "{schema}");
    }
    assert_eq!(check_schema(&raw(r#"{"type":"object"}"#)), Ok(()));
    assert_eq!(check_schema(&raw("true")), Ok(()));
}
