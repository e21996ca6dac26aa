//! Tests of edits: the written text, and every byte outside it.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_config::edit::{
    add_to_list, get_member, remove_from_list, remove_member, set_member,
};

fn check_set(before: &str, path: &[&str], value: &Value, after: &str) {
    assert_eq!(set_member(before, path, value).unwrap(), after);
}

fn check_remove(before: &str, path: &[&str], after: &str) {
    assert_eq!(remove_member(before, path).unwrap(), after);
}

#[test]
fn into_nothing() {
    let entry = json!({ "command": "x" });
    let file = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n";
    check_set("", &["mcpServers", "a"], &entry, file);
    check_set("{}", &["mcpServers", "a"], &entry, file.trim_end());
    check_set("// mine\n", &["mcpServers", "a"], &entry, &format!("// mine\n{file}"));
    check_set("{\n  \"mcpServers\": null\n}\n", &["mcpServers", "a"], &entry, file);
}

#[test]
fn beside_others_in_the_habits_of_the_file() {
    check_set(
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {} // first\n\t}\n}",
        &["mcpServers", "b"],
        &json!({ "command": "x" }),
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {}, // first\n\t\t\"b\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}",
    );
    check_set(
        "{\r\n  \"a\": 1,\r\n}\r\n",
        &["b"],
        &json!([1]),
        "{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    1\r\n  ],\r\n}\r\n",
    );
    check_set(r#"{"a":1}"#, &["b"], &json!({ "c": 2 }), r#"{"a":1,"b": {"c":2}}"#);
    check_set(r#"{ "a": 1 }"#, &["b"], &json!(2), r#"{ "a": 1, "b": 2 }"#);
    check_set("{ /* none yet */ }", &["b"], &json!(2), "{ /* none yet */\n  \"b\": 2\n}");
    check_set(
        "\u{feff}{\n  \"a\": 1\n}",
        &["b"],
        &json!(2),
        "\u{feff}{\n  \"a\": 1,\n  \"b\": 2\n}",
    );
}

#[test]
fn replacing_touches_only_what_differs() {
    check_set(
        "{\n  \"a\": {\n    // why\n    \"command\": \"x\",\n    \"args\": [1, 2], // two\n    \"old\": true\n  }\n}\n",
        &["a"],
        &json!({ "command": "y", "args": [1, 2], "timeout": 5000 }),
        "{\n  \"a\": {\n    // why\n    \"command\": \"y\",\n    \"args\": [1, 2], // two\n    \"timeout\": 5000\n  }\n}\n",
    );
    check_set("{\"a\": 1, \"a\": 2}", &["a"], &json!(3), "{\"a\": 1, \"a\": 3}");
}

#[test]
fn taking_away() {
    check_remove("{\n  \"a\": 1,\n  \"b\": 2\n}\n", &["a"], "{\n  \"b\": 2\n}\n");
    check_remove("{\n  \"a\": 1,\n  \"b\": 2\n}\n", &["b"], "{\n  \"a\": 1\n}\n");
    check_remove(
        "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}\n",
        &["b"],
        "{\n  \"a\": 1 // one\n}\n",
    );
    check_remove(
        "{\n  \"a\": 1, // one\n  // about b\n  \"b\": 2,\n}\n",
        &["a"],
        "{\n  // about b\n  \"b\": 2,\n}\n",
    );
    check_remove(
        "{\n  \"a\": 1, // one\n  // about b\n  \"b\": 2\n}\n",
        &["b"],
        "{\n  \"a\": 1 // one\n  // about b\n}\n",
    );
    check_remove(r#"{"a":1,"b":2,"c":3}"#, &["b"], r#"{"a":1,"c":3}"#);
    check_remove(r#"{"a":1, "b":2}"#, &["b"], r#"{"a":1}"#);
    check_remove(r#"{ "a": 1 }"#, &["a"], "{}");
    check_remove("{\n  \"x\": {\n    \"a\": 1,\n  }\n}", &["x", "a"], "{\n  \"x\": {}\n}");
    check_remove(r#"{"a":1,"b":2,"a":3}"#, &["a"], r#"{"b":2}"#);
    check_remove(r#"{"a":1}"#, &["x", "y"], r#"{"a":1}"#);
}

#[test]
fn lists() {
    let add = |text: &str, item| add_to_list(text, &["l"], item).unwrap();
    assert_eq!(add("{\n  \"l\": [\"a\"]\n}", "b"), "{\n  \"l\": [\"a\",\"b\"]\n}");
    assert_eq!(add("{\n  \"l\": [\"a\", \"b\"]\n}", "c"), "{\n  \"l\": [\"a\", \"b\", \"c\"]\n}");
    assert_eq!(add("{\"l\": [\"a\"]}", "a"), "{\"l\": [\"a\"]}");
    assert_eq!(get_member(&add("", "a"), &["l"]).unwrap(), Some(json!(["a"])));
    let take = |text: &str, item| remove_from_list(text, &["l"], item).unwrap();
    assert_eq!(take("{\"l\": [\"a\", \"b\", \"a\"]}", "a"), "{\"l\": [\"b\"]}");
    assert_eq!(take("{\"l\": [\n  \"a\", // x\n  \"b\"\n]}", "a"), "{\"l\": [\n  \"b\"\n]}");
    assert_eq!(take("{}", "a"), "{}");
    assert!(add_to_list("{\"l\": 5}", &["l"], "a").is_err());
}

#[test]
fn what_cannot_be_read_is_not_changed() {
    assert_eq!(
        set_member("{\n  \"a\": ", &["b"], &json!(1)).unwrap_err().to_string(),
        "line 2, column 8: Expected value after colon in object property"
    );
    assert_eq!(
        set_member("[]", &["b"], &json!(1)).unwrap_err().to_string(),
        "the file is not an object"
    );
    assert!(set_member("{\"a\": 5}", &["a", "b"], &json!(1)).is_err());
}

// === laws ===

/// A document in some layout, with comments and trailing commas here and there.
fn document() -> impl Strategy<Value = String> {
    let trivia = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" /* c */ "),
        Just(" // line\n"),
        Just("\n\n    "),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"text, { \\\" // not a comment\"".to_owned()),
        Just("-1.5e3".to_owned()),
    ];
    let value = leaf.prop_recursive(3, 24, 4, {
        let trivia = trivia.clone();
        move |inner| {
            let item = (trivia.clone(), inner, trivia.clone());
            prop_oneof![
                (prop::collection::vec(item.clone(), 0..4), any::<bool>()).prop_map(
                    |(items, trailing)| {
                        let texts = items
                            .into_iter()
                            .map(|(before, value, after)| format!("{before}{value}{after}"));
                        bracketed('[', texts.collect(), trailing, ']')
                    }
                ),
                (prop::collection::vec(item, 0..4), any::<bool>()).prop_map(|(items, trailing)| {
                    let texts =
                        items.into_iter().enumerate().map(|(index, (before, value, after))| {
                            format!("{before}\"k{index}\":{before}{value}{after}")
                        });
                    bracketed('{', texts.collect(), trailing, '}')
                }),
            ]
        }
    });
    let member = (trivia.clone(), value, trivia.clone());
    (prop::collection::vec(member, 0..5), any::<bool>(), trivia).prop_map(
        |(members, trailing, end)| {
            let texts = members.into_iter().enumerate().map(|(index, (before, value, after))| {
                format!("{before}\"m{index}\": {value}{after}")
            });
            format!("{}{}", bracketed('{', texts.collect(), trailing, '}'), end)
        },
    )
}

fn bracketed(open: char, items: Vec<String>, trailing: bool, close: char) -> String {
    let comma = if trailing && !items.is_empty() { "," } else { "" };
    // A line comment must not swallow the text after it, so an item with one ends with a line break.
    let text = items.into_iter().map(|item| if item.contains("//") { item + "\n" } else { item });
    format!("{open}{}{comma}{close}", text.collect::<Vec<_>>().join(","))
}

/// Whether a strict JSON parser can still read the text if it could before.
fn stays_strict(before: &str, after: &str) -> bool {
    let is_strict = |text| serde_json::from_str::<Value>(text).is_ok();
    !is_strict(before) || is_strict(after)
}

fn root(text: &str) -> Value {
    get_member(text, &[]).unwrap().unwrap()
}

/// Whether `long` is `short` with text inserted.
fn holds_in_order(long: &str, short: &str) -> bool {
    let mut rest = long.chars();
    short.chars().all(|wanted| rest.any(|found| found == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn adding_keeps_every_byte(text in document(), deep in any::<bool>()) {
        let path: &[&str] = if deep { &["mcpServers", "new"] } else { &["new"] };
        let after = set_member(&text, path, &json!({ "command": "x", "args": ["y"] })).unwrap();
        prop_assert!(stays_strict(&text, &after), "{text:?} became {after:?}");
        prop_assert!(holds_in_order(&after, text.trim_end()), "{text:?} became {after:?}");
        let mut expected = root(&text);
        if deep { expected["mcpServers"]["new"] = json!({ "command": "x", "args": ["y"] }); }
        else { expected["new"] = json!({ "command": "x", "args": ["y"] }); }
        prop_assert_eq!(root(&after), expected);
    }

    #[test]
    fn taking_away_keeps_every_other_byte(text in document(), index in 0_usize..5) {
        let key = format!("m{index}");
        let after = remove_member(&text, &[&key]).unwrap();
        prop_assert!(stays_strict(&text, &after), "{text:?} became {after:?}");
        prop_assert!(holds_in_order(&text, &after), "{text:?} became {after:?}");
        let mut expected = root(&text);
        expected.as_object_mut().unwrap().shift_remove(&key);
        prop_assert_eq!(root(&after), expected);
        // The bytes of the other members are unchanged.
        for other in (0..5).filter(|other| *other != index) {
            let member = format!("\"m{other}\":");
            prop_assert_eq!(text.contains(&member), after.contains(&member));
        }
    }

    #[test]
    fn replacing_changes_one_stretch(text in document(), index in 0_usize..5) {
        let key = format!("m{index}");
        let Some(old) = get_member(&text, &[&key]).unwrap() else { return Ok(()) };
        let after = set_member(&text, &[&key], &json!("new value")).unwrap();
        let (before, rest) = after.split_once("\"new value\"").unwrap();
        prop_assert!(before.len() + rest.len() <= text.len());
        prop_assert!(text.starts_with(before) && text.ends_with(rest), "{text:?} became {after:?}");
        let mut expected = root(&text);
        expected[&key] = json!("new value");
        prop_assert_eq!(root(&after), expected);
        // Setting the old value gives an equal value, and setting the present value gives equal bytes.
        prop_assert_eq!(root(&set_member(&after, &[&key], &old).unwrap()), root(&text));
        prop_assert_eq!(set_member(&text, &[&key], &old).unwrap(), text);
    }

    #[test]
    fn adding_and_taking_away_gives_the_value_back(text in document()) {
        let after = set_member(&text, &["new"], &json!({ "a": [1, 2] })).unwrap();
        prop_assert_eq!(root(&remove_member(&after, &["new"]).unwrap()), root(&text));
    }
}
