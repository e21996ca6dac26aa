//! One bad item costs no other.

use serde_json::{Value, json};
use switchboard_core::{
    ProblemKind,
    catalog::{self, Lists, Tool, ToolMeta},
};
use switchboard_wire::{
    client::{CutShort, Excluded, Listing},
    json::Raw,
};

use super::{any_schema, listing, tool};

/// A tool made of the usual members and `more`.
fn tool_with(mut more: Value) -> Value {
    let mut item = tool("t");
    item.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
    item
}

fn parse(item: &Value) -> Tool {
    Tool::parse(&Raw::of(item).unwrap(), &any_schema).unwrap()
}

#[test]
fn a_bad_tool_is_left_out_alone() {
    let check = |bad: &str, item: &str, reason: &str| {
        let mut list = listing(&[tool("before"), tool("after")]);
        list.items.insert(1, Raw::parse(bad.to_owned()).unwrap());
        let parsed = catalog::tools("srv", &list, &any_schema);
        let kept: Vec<_> = parsed.items.iter().map(|tool| &*tool.name).collect();
        assert_eq!(kept, ["before", "after"], "{bad}");
        let problem = &parsed.problems[0];
        assert_eq!(problem.message, format!("the tool is left out: {reason}"), "{bad}");
        assert_eq!(problem.item.as_deref(), Some(item), "{bad}");
        assert_eq!(problem.server.as_deref(), Some("srv"));
        assert_eq!((problem.kind, parsed.problems.len()), (ProblemKind::Quarantined, 1));
    };
    let rest = r#""inputSchema":{"type":"object"}"#;
    check("7", "number 2", "it is not an object");
    check("{}", "number 2", "`name` is missing");
    check(&format!(r#"{{"name":"",{rest}}}"#), "number 2", "`name` is missing");
    check(&format!(r#"{{"name":5,{rest}}}"#), "number 2", "`name` is not a text");
    check(&format!(r#"{{"name":"\ud800",{rest}}}"#), "number 2", "`name` is not a text");
    check(
        &format!(r#"{{"name":"a","n\u0061me":"b",{rest}}}"#),
        "number 2",
        "member `name` stands more than once",
    );
    check(
        &format!(r#"{{"name":"x","odd":1,"odd":2,{rest}}}"#),
        "x",
        "member `odd` stands more than once",
    );
    check(
        r#"{"name":"x","inputSchema":{"type":"object","type":"array"}}"#,
        "x",
        "member `type` stands more than once",
    );
    check(
        &format!(r#"{{"name":"x","_meta":{{"a":1,"a":2}},{rest}}}"#),
        "x",
        "member `a` stands more than once",
    );
    check(r#"{"name":"x"}"#, "x", "`inputSchema` is missing");
    check(r#"{"name":"x","inputSchema":null}"#, "x", "`inputSchema` is not an object");
    check(r#"{"name":"x","inputSchema":true}"#, "x", "`inputSchema` is not an object");
    check(r#"{"name":"x","inputSchema":{}}"#, "x", "the `type` of `inputSchema` is not `object`");
    check(
        r#"{"name":"x","inputSchema":{"type":["object"]}}"#,
        "x",
        "the `type` of `inputSchema` is not `object`",
    );
    check(&format!(r#"{{"name":"x","description":3,{rest}}}"#), "x", "`description` is not a text");
    check(
        &format!(r#"{{"name":"x","annotations":[],{rest}}}"#),
        "x",
        "`annotations` is not an object",
    );
    check(
        &format!(r#"{{"name":"before",{rest}}}"#),
        "before",
        "another one of the same name comes before it",
    );
    // What a server calls its tool is shown cleaned.
    check(r#"{"name":"\u001b[31m\u202ered"}"#, "[31mred", "`inputSchema` is missing");
}

#[test]
fn a_refused_schema_is_named() {
    let refuse = |schema: &Raw| {
        let is_bad = schema.as_str().contains("bad");
        if is_bad { Err("line\u{1b} noise".to_owned()) } else { Ok(()) }
    };
    let output = tool_with(json!({ "outputSchema": { "bad": 1 } }));
    let input = json!({ "name": "i", "inputSchema": { "type": "object", "bad": 1 } });
    let parsed = catalog::tools("s", &listing(&[output, input, tool("ok")]), &refuse);
    let messages: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(
        messages,
        [
            "the tool is left out: `outputSchema` cannot be used: line noise",
            "the tool is left out: `inputSchema` cannot be used: line noise",
        ]
    );
    assert_eq!(parsed.items.len(), 1);
}

#[test]
fn what_was_left_out_before_and_a_list_without_end_are_problems() {
    let excluded = vec![Excluded { name: "x".into(), reason: "no header".into() }];
    let cut_short = Some(CutShort::TooManyPages(3));
    let list = Listing { excluded, cut_short, ..listing(&[tool("a")]) };
    let parsed = catalog::tools("s", &list, &any_schema);
    let problems: Vec<_> =
        parsed.problems.iter().map(|problem| (problem.kind, &*problem.message)).collect();
    assert_eq!(
        problems,
        [
            (ProblemKind::Quarantined, "the tool is left out: no header"),
            (ProblemKind::ListCutShort, "not all tools are shown: the list has more than 3 pages"),
        ]
    );
}

#[test]
fn an_item_passes_as_sent_but_for_words_that_had_to_change() {
    let check = |sent: &str, passed: &str| {
        let tool = Tool::parse(&Raw::parse(sent.to_owned()).unwrap(), &any_schema).unwrap();
        assert_eq!(tool.item.as_str(), passed);
    };
    let same =
        r#"{ "x":1e400, "name":"t\u0061", "description":"d", "inputSchema":{ "type":"object" } }"#;
    check(same, same);
    check(
        r#"{"name":"t","title":"a\nb","description":" d\u200b ","inputSchema":{"type":"object"},"annotations":{"title":"\u202ex","z":1}}"#,
        r#"{"name":"t","title":"a b","description":"d","inputSchema":{"type":"object"},"annotations":{"title":"x","z":1}}"#,
    );
    check(
        r#"{"name":"t","title":null,"description":"\u200b","inputSchema":{"type":"object"},"outputSchema":null,"_meta":null,"annotations":null}"#,
        r#"{"name":"t","inputSchema":{"type":"object"}}"#,
    );
}

#[test]
fn descriptions_are_cut() {
    let tool = parse(&tool_with(json!({ "description": "é".repeat(5_000) })));
    let description = tool.description.unwrap();
    assert_eq!(description.chars().count(), 2_048);
    assert!(description.ends_with("é… [cut]"));
    let passed: Value = tool.item.decode().unwrap();
    assert_eq!(passed["description"], description);
}

#[test]
fn annotations_have_the_defaults_of_the_protocol() {
    let check = |annotations: Value, expected: (bool, bool, bool, bool)| {
        let tool = parse(&tool_with(json!({ "annotations": annotations })));
        let hints = tool.annotations;
        let found = (
            hints.is_read_only(),
            hints.is_destructive(),
            hints.is_idempotent(),
            hints.is_open_world(),
        );
        assert_eq!(found, expected, "{annotations}");
    };
    check(json!({}), (false, true, false, true));
    check(json!(null), (false, true, false, true));
    check(json!({ "readOnlyHint": "yes", "destructiveHint": 0 }), (false, true, false, true));
    check(
        json!({ "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false }),
        (true, false, true, false),
    );
}

#[test]
fn wishes_of_a_tool() {
    let check = |meta: Value, expected: ToolMeta| {
        assert_eq!(parse(&tool_with(json!({ "_meta": meta }))).meta, expected, "{meta}");
    };
    check(json!({ "anthropic/searchHint": 5, "anthropic/deferLoading": "x" }), ToolMeta::default());
    check(
        json!({
            "anthropic/searchHint": "find\u{200b}\nme",
            "anthropic/deferLoading": false,
            "anthropic/alwaysLoad": true,
            "anthropic/maxResultSizeChars": 9_000_000_000_000u64,
            "anthropic/requiresUserInteraction": true,
        }),
        ToolMeta {
            search_hint: Some("find me".into()),
            defer_loading: Some(false),
            always_load: true,
            max_result_chars: Some(500_000),
            requires_user_interaction: true,
        },
    );
    let limit = |value: Value| {
        parse(&tool_with(json!({ "_meta": { "anthropic/maxResultSizeChars": value } })))
            .meta
            .max_result_chars
    };
    assert_eq!([json!(7), json!(-1), json!("7")].map(limit), [Some(7), None, None]);
}

#[test]
fn titles_and_costs() {
    let title = |more| parse(&tool_with(more)).title;
    assert_eq!(title(json!({})), None);
    assert_eq!(title(json!({ "annotations": { "title": "A" } })).as_deref(), Some("A"));
    let both = json!({ "title": "T", "annotations": { "title": "A" } });
    assert_eq!(title(both).as_deref(), Some("T"));
    // `t`, `four`, and `{"type":"object"}`: 1 + 4 + 17 characters.
    assert_eq!(parse(&tool_with(json!({ "description": "four" }))).cost, 6);
}

#[test]
fn prompts() {
    let items = [
        json!({ "name": "p", "description": "d\u{7}", "arguments": [
            { "name": "a", "required": true },
            { "name": "b", "title": "B", "description": "\u{202e}x", "required": null },
        ]}),
        json!({ "name": "q", "arguments": [{ "description": "nameless" }] }),
        json!({ "name": "r", "arguments": {} }),
        json!({ "name": "s" }),
    ];
    let parsed = catalog::prompts("srv", &listing(&items));
    let prompt = &parsed.items[0];
    assert_eq!(prompt.description.as_deref(), Some("d"));
    let arguments: Vec<_> = prompt
        .arguments
        .iter()
        .map(|a| (&*a.name, a.title.as_deref(), a.description.as_deref(), a.required))
        .collect();
    assert_eq!(arguments, [("a", None, None, true), ("b", Some("B"), Some("x"), false)]);
    assert_eq!(
        prompt.item.as_str(),
        r#"{"name":"p","description":"d","arguments":[{"name":"a","required":true},{"name":"b","title":"B","description":"x"}]}"#
    );
    assert_eq!(parsed.items[1].name, "s");
    let problems: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(
        problems,
        [
            "the prompt is left out: `name` is missing",
            "the prompt is left out: `arguments` is not a list"
        ]
    );
}

#[test]
fn resources_and_templates() {
    let items = [
        json!({ "uri": "a://1", "name": "one\n", "mimeType": "text/plain", "size": 12 }),
        json!({ "uri": "a://1", "name": "again" }),
        json!({ "uri": "a://\u{202e}", "name": "hidden" }),
        json!({ "uri": "a://2" }),
        json!({ "uri": "a://3", "name": "x", "size": "big", "_meta": { "k": 1 } }),
    ];
    let parsed = catalog::resources("srv", &listing(&items));
    let kept: Vec<_> =
        parsed.items.iter().map(|item| (&*item.uri, &*item.name, item.size)).collect();
    assert_eq!(kept, [("a://1", "one", Some(12)), ("a://3", "x", None)]);
    let problems: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(
        problems,
        [
            "the resource is left out: another one of the same name comes before it",
            "the resource is left out: `uri` holds characters that cannot be seen",
            "the resource is left out: `name` is missing",
        ]
    );
    let items = [
        json!({ "uriTemplate": "a://{x", "name": "broken" }),
        json!({ "uriTemplate": "a://{x}", "name": "good" }),
    ];
    let parsed = catalog::templates("srv", &listing(&items));
    assert_eq!(parsed.items[0].name, "good");
    assert_eq!(
        parsed.problems[0].message,
        "the template is left out: `uriTemplate` cannot be used: a brace has no partner"
    );
}

#[test]
fn a_new_list_brings_its_own_problems_and_leaves_the_others() {
    let bad = listing(&[json!({}), json!({ "name": "p" })]);
    let lists = Lists::default()
        .with_tools(catalog::tools("s", &bad, &any_schema))
        .with_prompts(catalog::prompts("s", &bad))
        .with_instructions(Some(" do\u{200b} this \n"));
    let items = |lists: &Lists| -> Vec<_> {
        lists.problems().map(|problem| problem.item.clone().unwrap()).collect()
    };
    assert_eq!(items(&lists), ["number 1", "p", "number 1"]);
    let lists = lists.with_tools(catalog::tools("s", &listing(&[tool("t")]), &any_schema));
    assert_eq!(items(&lists), ["number 1"]);
    assert_eq!((lists.tools.len(), lists.prompts.len()), (1, 1));
    assert_eq!(lists.instructions.as_deref(), Some("do this"));
    assert_eq!(lists.cost(), 5);
    assert_eq!(lists.with_instructions(Some("\u{200b}")).instructions, None);
}
