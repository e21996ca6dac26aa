//! Tests of catalog views: order, filters, owners, deferred tools.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_config::{Scope, ToolFilter};
use switchboard_core::catalog::{
    self, Catalog, CatalogMember, CatalogView, NameStyle, ServerLists,
};

use super::{compose, listing, member, named, names, tool, with_tools};

fn filter(allow: Option<&[&str]>, deny: &[&str]) -> ToolFilter {
    let texts = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
    ToolFilter { allow: allow.map(texts), deny: texts(deny) }
}

/// Lists with resources and templates.
fn addresses(uris: &[&str], templates: &[&str]) -> ServerLists {
    let item = |key: &str, text: &str| json!({ key: text, "name": "n" });
    let items = |key, texts: &[&str]| {
        listing(&texts.iter().map(|text| item(key, text)).collect::<Vec<Value>>())
    };
    ServerLists::default()
        .with_resources(catalog::parse_resources("s", &items("uri", uris)))
        .with_templates(catalog::parse_templates("s", &items("uriTemplate", templates)))
}

#[test]
fn order_is_that_of_servers_and_lists() {
    let catalog = compose(&[member("z", named(&["b", "a"])), member("a", named(&["c"]))]);
    assert_eq!(names(&catalog), ["mcp__z__b", "mcp__z__a", "mcp__a__c"]);
    assert_eq!(catalog.servers().collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(catalog.tool("mcp__a__c").unwrap().server(), "a");
    assert!(catalog.tool("mcp__a__C").is_none());
    assert_eq!(catalog.tool_of("z", "a").unwrap().name, "mcp__z__a");
    assert!(catalog.tool_of("a", "a").is_none());
    assert_eq!(catalog.names(NameStyle::Gateway).tool("z__a").unwrap().name, "mcp__z__a");
    assert!(catalog.names(NameStyle::Gateway).tool("mcp__z__a").is_none());
}

#[test]
fn bare_names_of_two_servers_that_are_one_name_mean_neither() {
    let catalog = compose(&[member("a", named(&["x", "y"])), member("b", named(&["x"]))]);
    let bare = catalog.names(NameStyle::Bare);
    assert_eq!(bare.tools().map(|(name, _)| name).collect::<Vec<_>>(), ["y"]);
    assert!(bare.tool("x").is_none());
    let withheld: Vec<_> = bare.unnamed_tools().map(|listed| &*listed.name).collect();
    assert_eq!(withheld, ["mcp__a__x", "mcp__b__x"]);
}

#[test]
fn filters_hide_and_rename_nothing() {
    let check = |entry: ToolFilter, agent: Option<ToolFilter>, expected: &[&str]| {
        let lists = named(&["get.a", "get/a", "set"]);
        let members = [CatalogMember { filter: &entry, ..member("my server", lists) }];
        let view = CatalogView { agent: agent.as_ref(), ..CatalogView::everything() };
        let catalog = Catalog::compose(&[], &members, &view);
        let raw: Vec<_> = catalog.tools().iter().map(|listed| &*listed.tool.name).collect();
        assert_eq!(raw, expected, "{entry:?} {agent:?}");
        // Its twin is hidden, and still it keeps the name that tells them apart.
        if let Some(listed) = catalog.tool_of("my server", "get.a") {
            assert_eq!(listed.name, "mcp__my_server__get_a_6748e7c7");
        }
    };
    let none = || filter(None, &[]);
    check(none(), None, &["get.a", "get/a", "set"]);
    check(filter(Some(&["get*"]), &["*/a"]), None, &["get.a"]);
    check(filter(Some(&[]), &[]), None, &[]);
    check(none(), Some(filter(Some(&["mcp__my_server__get_*"]), &[])), &["get.a", "get/a"]);
    check(none(), Some(filter(Some(&["get.a"]), &[])), &["get.a"]);
    check(none(), Some(filter(None, &["mcp__my_server"])), &[]);
    check(none(), Some(filter(Some(&["mcp__my_server"]), &["set"])), &["get.a", "get/a"]);
    check(filter(None, &["get*"]), Some(filter(Some(&["get*"]), &[])), &[]);
}

#[test]
fn hidden_tools_and_servers() {
    let prompts = listing(&[json!({ "name": "p" })]);
    let hidden = addresses(&["h://1"], &["h://{x}"])
        .with_prompts(catalog::parse_prompts("s", &prompts))
        .with_instructions(Some("hidden"));
    let shown = named(&["get.a", "set"]).with_instructions(Some("shown"));
    let view = CatalogView {
        hides_tool: &|_, label| (label.server().normal(), label.normal()) == ("sh_own", "get_a"),
        hides_server: &|server| server == "hid_den",
        ..CatalogView::everything()
    };
    let members = [member("hid.den", hidden), member("sh.own", shown)];
    let catalog = Catalog::compose(&[], &members, &view);
    assert_eq!(names(&catalog), ["mcp__sh_own__set"]);
    assert_eq!(catalog.prompts().len() + catalog.resources().len() + catalog.templates().len(), 0);
    assert_eq!(catalog.instructions(), [("sh.own", "shown")]);
    assert_eq!(catalog.owner("h://1", Some("hid.den")), None);
    assert_eq!(catalog.cost(), [("sh.own", catalog.tools()[0].tool.cost)]);
    let all = compose(&members);
    assert_eq!(all.prompt("mcp__hid_den__p").unwrap().server(), "hid.den");
    assert_eq!(all.names(NameStyle::Gateway).prompt("hid_den__p").unwrap().prompt.name, "p");
    assert_eq!(all.cost()[0], ("hid.den", 0));
}

#[test]
fn only_what_is_wanted_at_once_is_not_deferred() {
    let check = |always_load, meta: Value, deferred| {
        let mut item = tool("t");
        item["_meta"] = meta.clone();
        let members = [CatalogMember { always_load, ..member("s", with_tools(&[item])) }];
        assert_eq!(compose(&members).tools()[0].deferred, deferred, "{always_load} {meta}");
    };
    check(false, json!({}), true);
    check(true, json!({}), false);
    check(true, json!({ "anthropic/deferLoading": true }), false);
    check(false, json!({ "anthropic/alwaysLoad": true }), false);
    check(false, json!({ "anthropic/alwaysLoad": true, "anthropic/deferLoading": true }), false);
    check(false, json!({ "anthropic/deferLoading": false }), false);
    check(false, json!({ "anthropic/deferLoading": true }), true);
}

#[test]
fn connectors_collapse_and_one_server_stands_once() {
    let connector =
        CatalogMember { scope: Scope::Connectors, ..member("My  App", named(&["a  b"])) };
    let again = member("My  App", named(&["other"]));
    assert_eq!(names(&compose(&[connector, again])).len(), 1);
    let connector =
        CatalogMember { scope: Scope::Connectors, ..member("My  App", named(&["a  b"])) };
    assert_eq!(names(&compose(&[connector])), ["mcp__My_App__a__b"]);
}

#[test]
fn an_address_has_one_owner() {
    let catalog = compose(&[
        member("first", addresses(&["a://1"], &["t://{x}"])),
        member("second", addresses(&["a://1", "a://2", "t://listed"], &["t://{x}", "b://{+x}"])),
        member("third", ServerLists::default()),
    ]);
    for (uri, mentioned_by, owner) in [
        ("a://1", None, Some("first")),
        ("a://1", Some("second"), Some("first")),
        ("a://2", Some("third"), Some("second")),
        ("t://listed", None, Some("second")),
        ("t://other", Some("third"), Some("first")),
        ("b://x/y", None, Some("second")),
        ("c://1", Some("third"), Some("third")),
        ("c://1", Some("gone"), None),
        ("c://1", None, None),
    ] {
        assert_eq!(catalog.owner(uri, mentioned_by), owner, "{uri} {mentioned_by:?}");
    }
}

#[test]
fn problems_of_all_servers_are_shown() {
    let bad =
        ServerLists::default().with_prompts(catalog::parse_prompts("s", &listing(&[json!(1)])));
    let members = [member("a", bad.clone()), member("b", bad)];
    let catalog = compose(&members);
    let servers: Vec<_> =
        catalog.problems().iter().map(|problem| problem.server.as_deref()).collect();
    assert_eq!(servers, [Some("a"), Some("b")], "each server has its own");
    let lists: Vec<_> = members.iter().map(|member| Arc::strong_count(&member.lists)).collect();
    assert_eq!(lists, [1, 1], "a catalog keeps items, not lists");
}

/// Entries that share a connection share its lists; each has notes only about tools that it shows.
#[test]
fn what_is_wrong_with_a_hidden_tool_is_not_told() {
    let bad = json!({ "name": "bad", "inputSchema": "none" });
    let lists = with_tools(&[tool("good"), bad, json!(7)]);
    let check = |entry: ToolFilter, expected: &[&str]| {
        let members = [CatalogMember { filter: &entry, ..member("s", lists.clone()) }];
        let catalog = Catalog::compose(&[], &members, &CatalogView::everything());
        let items = catalog.problems().iter().map(|problem| problem.item.as_deref().unwrap());
        assert_eq!(items.collect::<Vec<_>>(), expected, "{entry:?}");
    };
    check(filter(None, &[]), &["bad", "number 3"]);
    check(filter(None, &["bad"]), &["number 3"]);
    check(filter(Some(&["good"]), &[]), &[]);
}
