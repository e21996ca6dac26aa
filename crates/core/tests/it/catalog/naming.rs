//! Tests of tool names: unique and reversible for every server and tool name.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::{collection::vec, prelude::*, sample::select};
use switchboard_config::Scope;
use switchboard_core::catalog::{Catalog, CatalogMember, CatalogView, ConfiguredServer, NameStyle};

use super::{compose, configured, member, named, names};

/// Servers and their tools; names are made to collide.
type World = Vec<(String, Scope, Vec<String>)>;

fn name() -> impl Strategy<Value = String> {
    let crowded = select(vec!["a", "b", "_", "__", ".", "é", "世", "-", "A", "0", "_0123abcd"]);
    prop_oneof![
        8 => vec(crowded, 1..5).prop_map(|parts| parts.concat()),
        1 => "[ab_.]{50,80}",
        1 => "\\PC{1,20}",
        1 => Just("t".repeat(300)),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let scope = select(vec![Scope::User, Scope::Connectors, Scope::Project]);
    let server = (name(), scope, vec(name(), 0..6));
    vec(server, 1..6).prop_map(|servers| {
        let mut seen = HashSet::new();
        let mut unique = |name: &String| seen.insert(name.clone());
        let servers = servers.into_iter().filter(|(name, ..)| unique(name));
        let tools = |tools: Vec<String>| tools.into_iter().collect::<BTreeSet<_>>();
        servers
            .map(|(name, scope, list)| (name, scope, tools(list).into_iter().collect()))
            .collect()
    })
}

fn members(world: &World) -> Vec<CatalogMember<'_>> {
    let lists = |tools: &[String]| named(&tools.iter().map(String::as_str).collect::<Vec<_>>());
    let entries = world.iter();
    entries
        .map(|(name, scope, tools)| CatalogMember { scope: *scope, ..member(name, lists(tools)) })
        .collect()
}

fn all(world: &World) -> Vec<ConfiguredServer<'_>> {
    world.iter().map(|(name, scope, _)| ConfiguredServer { name, scope: *scope }).collect()
}

/// Every (server, tool) and its name.
fn mapping(catalog: &Catalog, style: NameStyle) -> BTreeMap<(String, String), String> {
    let pair = |(name, listed): (&str, &std::sync::Arc<switchboard_core::catalog::ListedTool>)| {
        ((listed.server().to_owned(), listed.tool.name.clone()), name.to_owned())
    };
    catalog.names(style).tools().map(pair).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn unique_exact_short_and_plain(world in world()) {
        let catalog = Catalog::compose(&all(&world), &members(&world), &CatalogView::everything());
        let count: usize = world.iter().map(|(_, _, tools)| tools.len()).sum();
        for style in [NameStyle::Full, NameStyle::Gateway] {
            let mapping = mapping(&catalog, style);
            prop_assert_eq!(mapping.len(), count, "none is missing");
            let distinct: HashSet<_> = mapping.values().collect();
            prop_assert_eq!(distinct.len(), count, "none is shared");
            for ((server, tool), name) in &mapping {
                prop_assert!(name.len() <= style.limit(), "{}", name);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)), "{}", name);
                let listed = catalog.names(style).tool(name).unwrap();
                prop_assert_eq!((listed.server(), &listed.tool.name), (&**server, tool));
                prop_assert_eq!(&catalog.tool_of(server, tool).unwrap().tool.name, tool);
            }
        }
    }

    #[test]
    fn alone_every_server_has_exact_bare_names(world in world()) {
        for member in members(&world) {
            let count = member.lists.tools.len();
            let catalog = Catalog::compose(&all(&world), &[member], &CatalogView::everything());
            let names: HashSet<_> = catalog.names(NameStyle::Bare).tools().map(|(name, _)| name.to_owned()).collect();
            prop_assert_eq!(names.len(), count);
            prop_assert!(names.iter().all(|name| name.len() <= NameStyle::Bare.limit()));
        }
    }

    #[test]
    fn neither_order_nor_who_is_connected_renames_anything(
        (world, shuffled) in world().prop_flat_map(|world| (Just(world.clone()), Just(world).prop_shuffle())),
        connected in vec(any::<bool>(), 6),
    ) {
        let whole = Catalog::compose(&all(&world), &members(&world), &CatalogView::everything());
        let mut backwards = shuffled.clone();
        for (_, _, tools) in &mut backwards {
            tools.reverse();
        }
        let some: World = world.iter().zip(&connected).filter(|(_, is)| **is).map(|(s, _)| s.clone()).collect();
        for style in [NameStyle::Full, NameStyle::Gateway] {
            let expected = mapping(&whole, style);
            let again = Catalog::compose(&all(&shuffled), &members(&backwards), &CatalogView::everything());
            prop_assert_eq!(&mapping(&again, style), &expected);
            let partly = Catalog::compose(&all(&shuffled), &members(&some), &CatalogView::everything());
            for (origin, name) in mapping(&partly, style) {
                prop_assert_eq!(&name, &expected[&origin]);
            }
        }
    }
}

#[test]
fn the_classic_confusion() {
    let catalog = compose(&[member("a", named(&["b__c"])), member("a__b", named(&["c"]))]);
    assert_eq!(names(&catalog), ["mcp__a__b__c_01b8a75b", "mcp__a__b__c_a92700ce"]);
    // Being configured is enough.
    let catalog = Catalog::compose(
        &configured(&["a__b"]),
        &[member("a", named(&["x"]))],
        &CatalogView::everything(),
    );
    assert_eq!(names(&catalog), ["mcp__a__x_8b86bced"]);
}

#[test]
fn a_tool_named_like_anothers_mark_is_not_taken_for_it() {
    let marked = compose(&[member("s", named(&["a.b", "a/b"]))]);
    let name = names(&marked)[0].strip_prefix("mcp__s__").unwrap().to_owned();
    let catalog = compose(&[member("s", named(&["a.b", "a/b", &name]))]);
    let distinct: HashSet<_> = names(&catalog).into_iter().collect();
    assert_eq!(distinct.len(), 3);
    assert_eq!(catalog.tool(&format!("mcp__s__{name}")).unwrap().tool.name, "a.b");
}

#[test]
fn two_tools_with_one_hash_are_both_left_out() {
    // Found by trying: both hashes begin with 66bc344a.
    let twins = [20012, 58644].map(|n| format!("{}{n}", "t".repeat(70)));
    let catalog = compose(&[member("s", named(&[&twins[0], "fine", &twins[1]]))]);
    assert_eq!(names(&catalog), ["mcp__s__fine"]);
    let items: Vec<_> =
        catalog.problems().iter().map(|problem| problem.item.clone().unwrap()).collect();
    assert_eq!(items, twins);
    assert_eq!(
        catalog.problems()[0].message,
        "the tool is left out: its name would also mean another tool"
    );
}
