//! Tests of catalog items with malformed definitions: one bad item does not affect others.

use serde_json::{Value, json};
use switchboard_core::{
    EngineProblem, EngineProblemKind,
    catalog::{self, ServerLists, Tool, ToolMeta, ToolUi, ToolVisibility},
};
use switchboard_wire::{
    Era, Version,
    client::{ExcludedItem, FetchedList, ListTruncation},
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
    Tool::parse(&Raw::from_value(item).unwrap(), &any_schema).unwrap()
}

#[test]
fn a_bad_tool_is_left_out_alone() {
    let check = |bad: &str, item: &str, reason: &str| {
        let mut list = listing(&[tool("before"), tool("after")]);
        list.items.insert(1, Raw::parse(bad.to_owned()).unwrap());
        let parsed = catalog::parse_tools("srv", &list, &any_schema);
        let kept: Vec<_> = parsed.items.iter().map(|tool| &*tool.name).collect();
        assert_eq!(kept, ["before", "after"], "{bad}");
        let problem = &parsed.problems[0];
        assert_eq!(problem.message, format!("the tool is left out: {reason}"), "{bad}");
        assert_eq!(problem.item.as_deref(), Some(item), "{bad}");
        assert_eq!(problem.server.as_deref(), Some("srv"));
        assert_eq!((problem.kind, parsed.problems.len()), (EngineProblemKind::Quarantined, 1));
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
        "member `name` occurs more than once",
    );
    check(
        &format!(r#"{{"name":"x","odd":1,"odd":2,{rest}}}"#),
        "x",
        "member `odd` occurs more than once",
    );
    check(
        &format!(r#"{{"name":"before",{rest}}}"#),
        "before",
        "an item before it has the same name",
    );
    // What a server calls its tool is shown cleaned.
    check(
        r#"{"name":"\u001b[31m\u202ered","odd":1,"odd":2}"#,
        "[31mred",
        "member `odd` occurs more than once",
    );
}

/// Members of a tool besides its name: as they are sent, as clients of the newest version and older ones get them, and
/// what is noted.
#[test]
fn an_imperfect_tool_is_listed_and_only_its_top_level_is_repaired() {
    let check = |sent: &str, newest: &str, older: &str, notes: &[&str]| {
        let whole = |members: &str| format!(r#"{{"name":"x",{members}}}"#);
        let list = FetchedList { items: vec![Raw::parse(whole(sent)).unwrap()], ..listing(&[]) };
        let parsed = catalog::parse_tools("srv", &list, &switchboard_core::schema::check_schema);
        let [tool] = &parsed.items[..] else { panic!("{sent}: {:?}", parsed.problems) };
        assert_eq!(tool.item_for(Version::V2026_07_28).as_str(), whole(newest), "{sent}");
        for version in Version::ALL.into_iter().filter(|version| version.era() == Era::Legacy) {
            assert_eq!(tool.item_for(version).as_str(), whole(older), "{version}: {sent}");
        }
        let problems: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
        assert_eq!(problems.len(), notes.len(), "{sent}: {problems:?}");
        for (problem, note) in problems.iter().zip(notes) {
            assert!(
                problem.starts_with("the definition of the tool has a mistake: "),
                "{sent}: {problem}"
            );
            assert!(problem.contains(note), "{sent}: {problem}");
        }
        assert!(parsed.problems.iter().all(|problem| problem.kind == EngineProblemKind::Imperfect));
        assert!(parsed.problems.iter().all(|problem| problem.item.as_deref() == Some("x")));
    };
    let any = r#""inputSchema":{"type":"object"}"#;
    // Everything below the top level passes as it came, whatever it is.
    for (schema, note) in [
        (r#"{"type":"array","items":[{"type":"string"},{"type":"number"}]}"#, "only the server"),
        (r#"{"type":"string","required":true}"#, "only the server"),
        (r#"{"type":"any"}"#, "only the server"),
        (r##"{"$ref":"#/$defs/none"}"##, "`#/$defs/none`, which is not in it"),
        (r#"{"$ref":"https://example.test/s"}"#, "nothing is fetched"),
        (r#"{"type":"string","pattern":"("}"#, "only the server"),
    ] {
        let sent = format!(r#""inputSchema":{{"type":"object","properties":{{"a":{schema}}}}}"#);
        check(&sent, &sent, &sent, &[note]);
    }
    check(
        "\"odd\":1",
        &format!("\"odd\":1,{any}"),
        &format!("\"odd\":1,{any}"),
        &["any arguments"],
    );
    for sent in ["null", "true", "[]", r#""x""#, r#"{"type":"object","type":"array"}"#] {
        check(&format!(r#""inputSchema":{sent}"#), any, any, &["any arguments"]);
    }
    check(r#""inputSchema":{}"#, any, any, &["`type: object` was added"]);
    check(r#""inputSchema":{"type":["object"]}"#, any, any, &["`type: object` was added"]);
    let dialect = r#""inputSchema":{"$schema":7,"type":"object"}"#;
    check(dialect, any, any, &["without `inputSchema.$schema`"]);
    let input = |members: &str| format!(r#""inputSchema":{{"type":"object",{members}}}"#);
    let required = input(r#""required":true"#);
    check(&required, &required, any, &["only the server", "`required`"]);
    let required = input(r#""required":["a",7]"#);
    check(&required, &required, any, &["only the server", "`required`"]);
    let properties = input(r#""properties":[]"#);
    check(&properties, &properties, any, &["only the server", "`properties`"]);
    let properties = input(r#""properties":{"a":true,"b":false,"c":{"type":"null"}}"#);
    let objects = input(r#""properties":{"a":{},"b":{"not":{}},"c":{"type":"null"}}"#);
    check(&properties, &properties, &objects, &["`properties`"]);

    for (member, note) in [
        (r#""description":3"#, "without `description`: `description` is not a text"),
        (r#""title":{}"#, "without `title`"),
        (r#""annotations":[]"#, "without `annotations`"),
        (r#""annotations":{"title":"a","title":"b"}"#, "without `annotations`"),
        (r#""_meta":{"a":1,"a":2}"#, "without `_meta`"),
        (r#""icons":[{"mimeType":"image/png"}]"#, "without `icons`"),
        (r#""icons":[{"src":"data:,","sizes":"48x48"}]"#, "without `icons`"),
        (r#""execution":{"taskSupport":"maybe"}"#, "without `execution`"),
        (r#""outputSchema":[]"#, "without `outputSchema`"),
        (r##""outputSchema":{"type":"object","$ref":"#/none"}"##, "without `outputSchema`"),
        (r#""outputSchema":{"type":"object","properties":{"a":{"type":"any"}}}"#, "`outputSchema`"),
        (
            r#""outputSchema":{"type":"object","properties":{"a":{"pattern":"(?i)a"}}}"#,
            "ECMAScript",
        ),
        (r#""outputSchema":{"type":"object","properties":{"a":{"enum":[]}}}"#, "`enum`"),
    ] {
        check(&format!("{member},{any}"), any, any, &[note]);
    }
    check(
        &format!(r#""annotations":{{"readOnlyHint":"yes","openWorldHint":true}},{any}"#),
        &format!(r#""annotations":{{"openWorldHint":true}},{any}"#),
        &format!(r#""annotations":{{"openWorldHint":true}},{any}"#),
        &["without `readOnlyHint`: `readOnlyHint` is not a boolean"],
    );
    // Any schema is allowed in the newest version, and only those of objects before.
    for output in [
        r#"{"type":"array","items":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
        r#"{"anyOf":[{"type":"object"}]}"#,
    ] {
        let sent = format!(r#""outputSchema":{output},{any}"#);
        check(&sent, &sent, any, &["before 2026-07-28 get it without `outputSchema`"]);
    }
    let perfect = format!(
        r#""title":"X","icons":[{{"src":"data:,","sizes":["any"],"theme":"dark"}}],"execution":{{"taskSupport":"optional"}},"outputSchema":{{"type":"object","properties":{{"a":{{"pattern":"^a$"}}}}}},{any}"#
    );
    check(&perfect, &perfect, &perfect, &[]);
}

#[test]
fn a_refused_schema_is_named() {
    let refuse = |schema: &Raw| {
        let is_bad = schema.as_str().contains("bad");
        if is_bad { Err("line\u{1b} noise".to_owned()) } else { Ok(()) }
    };
    let output = tool_with(json!({ "outputSchema": { "bad": 1 } }));
    let input = json!({ "name": "i", "inputSchema": { "type": "object", "bad": 1 } });
    let parsed = catalog::parse_tools("s", &listing(&[output, input, tool("ok")]), &refuse);
    let messages: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(
        messages,
        [
            "the definition of the tool has a mistake: it is listed without `outputSchema`: `outputSchema` cannot be used: line noise",
            "the definition of the tool has a mistake: `inputSchema` cannot be used, so only the server checks arguments: line noise",
        ]
    );
    assert_eq!(parsed.items.len(), 3);
}

#[test]
fn what_was_left_out_before_and_a_list_without_end_are_problems() {
    let excluded = vec![ExcludedItem { name: "x".into(), reason: "no header".into() }];
    let cut_short = Some(ListTruncation::TooManyPages(3));
    let list = FetchedList { excluded, cut_short, ..listing(&[tool("a")]) };
    let parsed = catalog::parse_tools("s", &list, &any_schema);
    let problems: Vec<_> =
        parsed.problems.iter().map(|problem| (problem.kind, &*problem.message)).collect();
    assert_eq!(
        problems,
        [
            (EngineProblemKind::Quarantined, "the tool is left out: no header"),
            (
                EngineProblemKind::ListCutShort,
                "not all tools are shown: the list has more than 3 pages"
            ),
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
fn the_ui_of_a_tool() {
    let check =
        |meta: Value, resource: Option<&str>, (model, app): (bool, bool), warnings: &[&str]| {
            let tool = parse(&tool_with(json!({ "_meta": meta })));
            let visibility = ToolVisibility { model, app };
            let expected = ToolUi { resource: resource.map(str::to_owned), visibility };
            assert_eq!(tool.ui, expected, "{meta}");
            let told: Vec<_> = tool.imperfections.iter().map(ToString::to_string).collect();
            assert_eq!(told, warnings, "{meta}");
        };
    let both = (true, true);
    let (x, y) = (Some("ui://x"), Some("ui://y"));
    check(json!({}), None, both, &[]);
    check(json!({ "ui": { "resourceUri": "ui://x", "other": 1 } }), x, both, &[]);
    check(json!({ "ui/resourceUri": "ui://y" }), y, both, &[]);
    check(json!({ "ui": { "resourceUri": "ui://x" }, "ui/resourceUri": "ui://y" }), x, both, &[]);
    check(json!({ "ui": { "resourceUri": "UI://X" } }), Some("UI://X"), both, &[]);
    check(json!({ "ui": { "visibility": ["app"] } }), None, (false, true), &[]);
    check(json!({ "ui": { "visibility": ["model", "odd"] } }), None, (true, false), &[]);
    check(json!({ "ui": { "visibility": ["app", "model"] } }), None, both, &[]);
    check(json!({ "ui": { "visibility": [] } }), None, (false, false), &[]);
    check(json!({ "ui": null }), None, both, &[]);
    let not_object = "it is listed without `ui`: `ui` is not an object";
    check(json!({ "ui": ["app"], "ui/resourceUri": "ui://y" }), y, both, &[not_object]);
    let address = "it is listed without `resourceUri`: `resourceUri` is not what the protocol says";
    let visibility =
        "it is listed without `visibility`: `visibility` is not what the protocol says";
    check(
        json!({ "ui": { "resourceUri": "note://x", "visibility": "app" } }),
        None,
        both,
        &[address, visibility],
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
    let parsed = catalog::parse_prompts("srv", &listing(&items));
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
fn a_prompt_is_listed_without_what_clients_refuse() {
    let item = json!({ "name": "p", "title": 5, "description": [], "icons": [{}], "_meta": [],
        "arguments": [{ "name": "a", "required": "yes", "title": {} }] });
    let parsed = catalog::parse_prompts("srv", &listing(&[item]));
    let clean = r#"{"name":"p","arguments":[{"name":"a"}]}"#;
    assert_eq!(parsed.items[0].item.as_str(), clean);
    let mut dropped = dropped_members(&parsed.problems);
    dropped.sort_unstable();
    assert_eq!(dropped, ["_meta", "description", "icons", "required", "title", "title"]);
}

#[test]
fn a_resource_is_listed_without_what_clients_refuse() {
    let annotations = json!({ "priority": 5, "audience": ["robot"], "lastModified": "yesterday" });
    let bad = json!({ "name": "r", "title": 5, "description": [], "mimeType": 5, "icons": "x",
        "_meta": [], "annotations": annotations });
    let mut resource = bad.clone();
    resource["uri"] = "r://1".into();
    resource["size"] = "12".into();
    let other = json!({ "uri": "r://2", "name": "r", "size": 1.5, "annotations": "none" });
    let good = json!({ "uri": "r://3", "name": "r", "size": 12.0, "icons": [{ "src": "data:," }],
        "annotations": { "priority": 1, "audience": ["user"],
            "lastModified": "2025-01-12T15:00:58Z" } });
    let parsed = catalog::parse_resources("srv", &listing(&[resource, other, good.clone()]));
    let items: Vec<_> = parsed.items.iter().map(|item| item.item.as_str()).collect();
    let clean = [
        r#"{"annotations":{},"name":"r","uri":"r://1"}"#,
        r#"{"name":"r","uri":"r://2"}"#,
        &good.to_string(),
    ];
    let values = |texts: &[&str]| -> Vec<Value> {
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    };
    assert_eq!(values(&items), values(&clean));
    assert_eq!(dropped_members(&parsed.problems).len(), 11);
    let mut template = bad;
    template["uriTemplate"] = "r://{x}".into();
    let parsed = catalog::parse_templates("srv", &listing(&[template]));
    assert_eq!(parsed.items.len(), 1);
    assert_eq!(dropped_members(&parsed.problems).len(), 8);
}

/// The members that the problems say were dropped; every problem says so.
fn dropped_members(problems: &[EngineProblem]) -> Vec<&str> {
    assert!(problems.iter().all(|problem| problem.kind == EngineProblemKind::Imperfect));
    problems.iter().map(|problem| problem.message.split('`').nth(1).unwrap()).collect()
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
    let parsed = catalog::parse_resources("srv", &listing(&items));
    let kept: Vec<_> =
        parsed.items.iter().map(|item| (&*item.uri, &*item.name, item.size)).collect();
    assert_eq!(kept, [("a://1", "one", Some(12)), ("a://3", "x", None)]);
    let problems: Vec<_> = parsed.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(
        problems,
        [
            "the resource is left out: an item before it has the same name",
            "the resource is left out: `uri` holds characters that cannot be seen",
            "the resource is left out: `name` is missing",
            "the definition of the resource has a mistake: it is listed without `size`: `size` is not what the protocol says",
        ]
    );
    let items = [
        json!({ "uriTemplate": "a://{x", "name": "broken" }),
        json!({ "uriTemplate": "a://{x}", "name": "good" }),
    ];
    let parsed = catalog::parse_templates("srv", &listing(&items));
    assert_eq!(parsed.items[0].name, "good");
    assert_eq!(
        parsed.problems[0].message,
        "the template is left out: `uriTemplate` cannot be used: a brace has no partner"
    );
}

#[test]
fn a_new_list_brings_its_own_problems_and_leaves_the_others() {
    let bad = listing(&[json!({}), json!({ "name": "p" })]);
    let lists = ServerLists::default()
        .with_tools(catalog::parse_tools("s", &bad, &any_schema))
        .with_prompts(catalog::parse_prompts("s", &bad))
        .with_instructions(Some(" do\u{200b} this \n"));
    let items = |lists: &ServerLists| -> Vec<_> {
        lists.problems().map(|problem| problem.item.clone().unwrap()).collect()
    };
    assert_eq!(items(&lists), ["number 1", "p", "number 1"], "the tool `p` is only imperfect");
    let lists = lists.with_tools(catalog::parse_tools("s", &listing(&[tool("t")]), &any_schema));
    assert_eq!(items(&lists), ["number 1"]);
    assert_eq!((lists.tools.len(), lists.prompts.len()), (1, 1));
    assert_eq!(lists.instructions.as_deref(), Some("do this"));
    assert_eq!(lists.cost(), 5);
    assert_eq!(lists.with_instructions(Some("\u{200b}")).instructions, None);
}
