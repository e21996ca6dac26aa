//! Tests of converting typed text to arguments with a schema.

use switchboard_core::schema::{TypedArgument, build_arguments};

use super::raw;

const SCHEMA: &str = r##"{"type":"object","required":["title"],"properties":{
    "title":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"draft":{"type":"boolean"},
    "labels":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"integer"}},
    "owner":{"$ref":"#/$defs/owner"},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
    "either":{"type":["integer","string"]},"any":{},"level":{"enum":[1,2]},"dotted.name":{"type":"string"}},
    "$defs":{"owner":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}}}"##;

fn typed(words: &[&str], schema: &str) -> Result<String, String> {
    let parsed: Result<Vec<TypedArgument>, _> =
        words.iter().map(|word| TypedArgument::parse(word)).collect();
    let parsed = parsed.map_err(|mistake| mistake.to_string())?;
    build_arguments(&parsed, &raw(schema)).map(|raw| raw.to_string()).map_err(|bad| bad.to_string())
}

#[test]
fn the_schema_says_what_text_means() {
    for (words, expected) in [
        (&["title=12"][..], r#"{"title":"12"}"#),
        (&["title=a=b"], r#"{"title":"a=b"}"#),
        (&["title="], r#"{"title":""}"#),
        (
            &["title=x", "count=3", "ratio=1.50", "draft=true"],
            r#"{"title":"x","count":3,"ratio":1.50,"draft":true}"#,
        ),
        (
            &["title=x", "count=123456789012345678901"],
            r#"{"title":"x","count":123456789012345678901}"#,
        ),
        (&["title=x", "labels=a, b", "labels=c"], r#"{"title":"x","labels":["a","b","c"]}"#),
        (&["title=x", "sizes=1,2"], r#"{"title":"x","sizes":[1,2]}"#),
        (&["title=x", "sizes=[1, 2]"], r#"{"title":"x","sizes":[1, 2]}"#),
        (
            &["title=x", "owner.name=Ann", "owner.age=7"],
            r#"{"title":"x","owner":{"name":"Ann","age":7}}"#,
        ),
        (
            &["title=x", r#"owner={"name":"Ann"}"#, "owner.age=7"],
            r#"{"title":"x","owner":{"name":"Ann","age":7}}"#,
        ),
        (&["title=x", "maybe=null"], r#"{"title":"x","maybe":null}"#),
        (&["title=x", "maybe=5"], r#"{"title":"x","maybe":5}"#),
        (&["title=x", "either=5"], r#"{"title":"x","either":5}"#),
        (&["title=x", "either=five"], r#"{"title":"x","either":"five"}"#),
        (&["title=x", "any=5"], r#"{"title":"x","any":"5"}"#),
        (&["title=x", r#"any:={"a": 1e400}"#], r#"{"title":"x","any":{"a": 1e400}}"#),
        (&["title=x", "level=2"], r#"{"title":"x","level":2}"#),
        (&["title=x", "dotted.name=y"], r#"{"title":"x","dotted.name":"y"}"#),
        (&["title:=\"x\""], r#"{"title":"x"}"#),
    ] {
        assert_eq!(typed(words, SCHEMA).as_deref(), Ok(expected), "{words:?}");
    }
    assert_eq!(typed(&["anything=1"], "{}").as_deref(), Ok(r#"{"anything":"1"}"#));
}

#[test]
fn a_mistake_says_how_to_write_it() {
    let lines: Vec<String> = [
        &["title"][..],
        &["=x"],
        &["title:=x"],
        &[],
        &["title=x", "count=three"],
        &["title=x", "count=1.5"],
        &["title=x", "draft=yes"],
        &["title=x", "sizes=1,b"],
        &["title=x", "titel=y"],
        &["title=x", "zzz=y"],
        &["title=x", "owner.nam=y"],
        &["title=x", "title=y"],
        &["title=x", "owner=Ann"],
    ]
    .iter()
    .map(|words| format!("{words:?}\n  {}", typed(words, SCHEMA).unwrap_err()))
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
