//! Tests of rules with conditions: for whom and for which arguments they count, and that they never permit more.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::permission::{
    AnswerLifetime, AskReason, DecisionReason, HookVerdict, JudgedCall, PermissionSubject,
    PermissionVerdict, RulePrincipal, ToolAnnotations, ToolInteraction, ToolMemory, ToolOrigin,
    ToolUseSubject, UserConsent, judge_call,
};
use switchboard_wire::json::Raw;

use super::{local, permissions};

const MODES: [PermissionMode; 4] = [
    PermissionMode::Default,
    PermissionMode::Client,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

/// The verdict on a call of `mcp__s__t`, as one word, with the kind of its reason.
fn judge(
    rules: &[(&str, &str)],
    mode: PermissionMode,
    principal: &RulePrincipal,
    arguments: &str,
) -> PermissionVerdict {
    let (permissions, _) = permissions(rules, mode, &["s"]);
    let arguments = Raw::parse(arguments.to_owned()).unwrap();
    let subject = PermissionSubject {
        permissions: &permissions,
        server: "s",
        tool: "t",
        call: JudgedCall { principal, arguments: &arguments },
        annotations: ToolAnnotations::default(),
        interaction: ToolInteraction::Free,
        origin: ToolOrigin::Server,
        consent: UserConsent::None,
    };
    judge_call(&subject, &HookVerdict::None, &ToolMemory::empty())
}

fn word(verdict: &PermissionVerdict) -> &'static str {
    match verdict {
        PermissionVerdict::Allow { because: DecisionReason::Rule(_) } => "allow",
        PermissionVerdict::Deny { because: DecisionReason::Rule(_) } => "deny",
        PermissionVerdict::Deny { because: DecisionReason::RepeatedArgument { .. } } => "repeated",
        PermissionVerdict::Ask { because: DecisionReason::Rule(_) } => "ask",
        PermissionVerdict::Ask { .. } => "undecided",
        other => panic!("{other}"),
    }
}

/// What an allow, an ask and a deny rule with one condition make of a call.
fn check(condition: &Value, principal: &RulePrincipal, arguments: &str, expected: [&str; 3]) {
    let mut rule = condition.clone();
    rule["rule"] = "mcp__s__*".into();
    let rule = rule.to_string();
    let outcomes = ["allow", "ask", "deny"]
        .map(|list| word(&judge(&[(list, &rule)], PermissionMode::Default, principal, arguments)));
    assert_eq!(outcomes, expected, "{rule} {arguments}");
}

const COUNTS: [&str; 3] = ["allow", "ask", "deny"];
const NOT: [&str; 3] = ["undecided", "undecided", "undecided"];
/// The argument cannot be judged.
const UNCLEAR: [&str; 3] = ["undecided", "ask", "deny"];
/// The arguments have a member twice.
const REPEATED: [&str; 3] = ["repeated", "repeated", "deny"];

#[test]
fn a_rule_counts_for_its_principals() {
    let anna = RulePrincipal::new("anna").in_groups(["dev".to_owned(), "ops".to_owned()]);
    let bert = RulePrincipal::new("bert");
    let check = |audience: Value, principal: &RulePrincipal, expected| {
        check(&json!({ "for": audience }), principal, "{}", expected);
    };
    check(json!({ "group": "dev" }), &anna, COUNTS);
    check(json!({ "group": "dev" }), &bert, NOT);
    check(json!({ "group": "dev" }), &local(), NOT);
    check(json!({ "group": "Dev" }), &anna, NOT);
    check(json!({ "group": "*" }), &anna, NOT);
    check(json!({ "principal": "anna" }), &anna, COUNTS);
    check(json!({ "principal": "anna" }), &bert, NOT);
    check(json!({ "principal": "local" }), &local(), COUNTS);
    check(json!({ "group": "dev", "principal": "anna" }), &anna, COUNTS);
    check(json!({ "group": "dev", "principal": "bert" }), &anna, NOT);
    check(json!({ "group": "dev", "principal": "bert" }), &bert, NOT);
}

#[test]
fn a_rule_counts_for_its_arguments() {
    let when = json!({ "when": { "argument": "/repo", "matches": "acme/*" } });
    let check = |arguments, expected| check(&when, &local(), arguments, expected);
    check(r#"{"repo":"acme/x"}"#, COUNTS);
    check(r#"{"re\u0070o":"\u0061cme\/x"}"#, COUNTS);
    check(r#"{"repo":"other/x"}"#, NOT);
    check(r#"{"repo":"x","nested":{"repo":"acme/x"}}"#, NOT);
    // Text that leads elsewhere is not permitted, and is restricted.
    check(r#"{"repo":"acme/../other"}"#, UNCLEAR);
    // Missing, and no text.
    check("{}", UNCLEAR);
    check(r#"{"Repo":"acme/x"}"#, UNCLEAR);
    check(r#"{"repo":null}"#, UNCLEAR);
    check(r#"{"repo":5}"#, UNCLEAR);
    check(r#"{"repo":true}"#, UNCLEAR);
    check(r#"{"repo":["acme/x"]}"#, UNCLEAR);
    check(r#"{"repo":{"repo":"acme/x"}}"#, UNCLEAR);
    check(r#"{"repo":"\udc00"}"#, UNCLEAR);
}

/// Arguments with a member twice, however it is written, are refused; servers disagree about which one counts.
#[test]
fn repeated_members_are_refused() {
    let when = json!({ "when": { "argument": "/repo", "matches": "acme/*" } });
    let check = |arguments, expected| check(&when, &local(), arguments, expected);
    check(r#"{"repo":"acme/x","repo":"acme/x"}"#, REPEATED);
    check(r#"{"repo":"acme/x","re\u0070o":"other/x"}"#, REPEATED);
    check(r#"{"r\u0065po":"other/x","repo":"acme/x"}"#, REPEATED);
    // At any depth, and away from the argument: a deny rule that does not match is no reason to pass them.
    let elsewhere = ["repeated", "repeated", "repeated"];
    check(r#"{"repo":"other/x","a":{"b":[{"c":1,"\u0063":2}]}}"#, elsewhere);
    // Without a condition on arguments, nothing is refused.
    let verdict =
        judge(&[("allow", "mcp__s")], PermissionMode::Default, &local(), r#"{"a":1,"a":2}"#);
    assert_eq!(word(&verdict), "allow");
    // They are refused to principals that the rule is not for, too.
    let other =
        r#"{"rule":"mcp__s__t","for":{"group":"x"},"when":{"argument":"/a","matches":"y"}}"#;
    let verdict = judge(&[("deny", other)], PermissionMode::Default, &local(), r#"{"a":1,"a":2}"#);
    assert_eq!(word(&verdict), "repeated");
    // Other tools take what they are given.
    let other = r#"{"rule":"mcp__s__u","when":{"argument":"/a","matches":"y"}}"#;
    let verdict = judge(&[("deny", other)], PermissionMode::Default, &local(), r#"{"a":1,"a":2}"#);
    assert_eq!(word(&verdict), "undecided");
}

#[test]
fn the_refusal_names_the_member_and_the_rule() {
    let rule = r#"{"rule":"mcp__s__*","when":{"argument":"/repo","matches":"acme/*"}}"#;
    let arguments = r#"{"x":{"re\u0070o":1,"repo":2}}"#;
    let verdict = judge(&[("allow", rule)], PermissionMode::Default, &local(), arguments);
    insta::assert_snapshot!(verdict, @r#"deny: its arguments have `repo` more than once, and the rule `mcp__s__* when /repo matches "acme/*"` (user scope, settings.json:1:1) depends on them"#);
}

/// A tool is hidden from those for whom every call of it is denied.
#[test]
fn only_what_is_denied_whatever_the_arguments_is_hidden() {
    let anna = RulePrincipal::new("anna").in_groups(["dev".to_owned()]);
    let check = |rule: &str, principal: &RulePrincipal, hides: [bool; 2]| {
        let (permissions, _) = permissions(&[("deny", rule)], PermissionMode::Default, &["s"]);
        let tool = permissions.hiding_rule("s", "t", principal).is_some();
        assert_eq!([tool, permissions.hides_server("s", principal)], hides, "{rule}");
    };
    check("mcp__s__t", &local(), [true, false]);
    check("mcp__s", &local(), [true, true]);
    let for_dev = r#"{"rule":"mcp__s__t","for":{"group":"dev"}}"#;
    check(for_dev, &anna, [true, false]);
    check(for_dev, &local(), [false, false]);
    let whole = r#"{"rule":"mcp__s__*","for":{"principal":"anna"}}"#;
    check(whole, &anna, [true, true]);
    check(whole, &local(), [false, false]);
    let some = r#"{"rule":"mcp__s","when":{"argument":"/x","matches":"*"}}"#;
    check(some, &local(), [false, false]);
}

/// Whether a principal could use `mcp__s__t`, and so sees it: with no rule, an allow, an ask and a deny rule for `dev`.
#[test]
fn a_tool_is_listed_for_those_who_could_use_it_in_the_mode() {
    let anna = RulePrincipal::new("anna").in_groups(["dev".to_owned()]);
    let bert = RulePrincipal::new("bert");
    let for_dev = r#"{"rule":"mcp__s__t","for":{"group":"dev"}}"#;
    let some = r#"{"rule":"mcp__s","for":{"group":"dev"},"when":{"argument":"/a","matches":"x"}}"#;
    let both: &[(&str, &str)] = &[("allow", for_dev), ("ask", for_dev)];
    let sometimes: &[(&str, &str)] = &[("allow", for_dev), ("ask", some)];
    let check = |rules: &[(&str, &str)], mode, principal: &RulePrincipal, expected| {
        assert_eq!(
            usable(rules, mode, principal, &Ways::default()),
            expected,
            "{rules:?} {mode:?}"
        );
    };
    for (rules, of_anna) in [
        (&[][..], false),
        (&[("allow", for_dev)], true),
        (&[("allow", some)], true),
        (&[("ask", for_dev)], false),
        (both, false),
        (sometimes, true),
    ] {
        check(rules, PermissionMode::DontAsk, &anna, of_anna);
        check(rules, PermissionMode::DontAsk, &bert, false);
        // A person at the machine types calls, and chooses the mode.
        check(rules, PermissionMode::DontAsk, &local(), true);
        // The annotations of the tool say nothing of reading.
        check(rules, PermissionMode::Plan, &anna, false);
        check(rules, PermissionMode::Default, &bert, true);
        check(rules, PermissionMode::Client, &bert, true);
    }
    let check = |rules: &[(&str, &str)], mode, ways: Ways, expected| {
        assert_eq!(usable(rules, mode, &bert, &ways), expected, "{rules:?} {mode:?} {ways:?}");
    };
    let reads = || Ways { annotations: reading(), ..Ways::default() };
    check(&[], PermissionMode::Plan, reads(), true);
    check(&[], PermissionMode::DontAsk, reads(), false);
    let hook = || Ways { has_hook: true, ..Ways::default() };
    check(&[], PermissionMode::DontAsk, hook(), true);
    check(&[("ask", "mcp__s")], PermissionMode::DontAsk, hook(), false);
    check(&[], PermissionMode::Plan, hook(), false);
    let answered = |question| Ways {
        remembered: ToolMemory::with_yes(question, AnswerLifetime::Always),
        ..Ways::default()
    };
    check(&[], PermissionMode::DontAsk, answered(AskReason::Undecided), true);
    check(
        &[("ask", "mcp__s")],
        PermissionMode::DontAsk,
        answered(AskReason::Rule("mcp__s".into())),
        true,
    );
    check(&[], PermissionMode::Plan, answered(AskReason::Undecided), false);
    let looked_at = Ways { interaction: ToolInteraction::Required, ..Ways::default() };
    check(&[("allow", "mcp__s")], PermissionMode::DontAsk, looked_at, false);
}

/// What besides rules could let a call happen.
#[derive(Debug)]
struct Ways {
    annotations: ToolAnnotations,
    interaction: ToolInteraction,
    has_hook: bool,
    remembered: ToolMemory,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            annotations: ToolAnnotations::default(),
            interaction: ToolInteraction::Free,
            has_hook: false,
            remembered: ToolMemory::empty(),
        }
    }
}

fn reading() -> ToolAnnotations {
    ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() }
}

fn usable(
    rules: &[(&str, &str)],
    mode: PermissionMode,
    principal: &RulePrincipal,
    ways: &Ways,
) -> bool {
    let (permissions, _) = permissions(rules, mode, &["s"]);
    let subject = ToolUseSubject {
        permissions: &permissions,
        server: "s",
        tool: "t",
        principal,
        annotations: ways.annotations,
        interaction: ways.interaction,
        has_hook: ways.has_hook,
    };
    subject.is_usable_in_mode(|| ways.remembered.clone())
}

/// How much a verdict permits.
fn rank(verdict: &PermissionVerdict) -> u8 {
    match verdict {
        PermissionVerdict::Deny { .. } => 0,
        PermissionVerdict::Ask { .. } | PermissionVerdict::Classify => 1,
        PermissionVerdict::Allow { .. } => 2,
    }
}

/// A rule about `mcp__s__t`, with or without conditions, under any list.
fn some_rule() -> impl Strategy<Value = (&'static str, String)> {
    let list = prop::sample::select(vec!["allow", "ask", "deny"]);
    (list, some_conditions()).prop_map(|(list, rule)| (list, rule.to_string()))
}

fn some_conditions() -> impl Strategy<Value = Value> {
    let tools = prop::sample::select(vec!["mcp__s", "mcp__s__*", "mcp__s__t", "mcp__s__u"]);
    let audience = prop::option::of(prop::sample::select(vec![
        json!({ "group": "dev" }),
        json!({ "principal": "anna" }),
        json!({ "group": "ops", "principal": "anna" }),
    ]));
    let pointer = prop::sample::select(vec!["/a", "/b", "/a/b", "/a/0"]);
    let pattern = prop::sample::select(vec!["*", "x", "x*", "*/x", "..", "x/*"]);
    let when = prop::option::of((pointer, pattern));
    (tools, audience, when).prop_map(|(tools, audience, when)| {
        let mut rule = json!({ "rule": tools });
        if let Some(audience) = audience {
            rule["for"] = audience;
        }
        if let Some((argument, matches)) = when {
            rule["when"] = json!({ "argument": argument, "matches": matches });
        }
        rule
    })
}

fn some_arguments() -> impl Strategy<Value = String> {
    let member = prop::sample::select(vec![
        r#""a":"x""#,
        r#""\u0061":"x/y""#,
        r#""a":"x/../y""#,
        r#""a":5"#,
        r#""a":["x"]"#,
        r#""a":{"b":"x"}"#,
        r#""a":{"b":1,"b":2}"#,
        r#""b":"x""#,
        r#""b":null"#,
    ]);
    prop::collection::vec(member, 0..3).prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn some_principal() -> impl Strategy<Value = RulePrincipal> {
    let id = prop::sample::select(vec!["local", "anna", "bert"]);
    let groups = prop::sample::subsequence(vec!["dev".to_owned(), "ops".to_owned()], 0..=2);
    (id, groups).prop_map(|(id, groups)| RulePrincipal::new(id).in_groups(groups))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A deny or ask rule, whatever its conditions, never permits more than there is without it.
    #[test]
    fn restrictions_never_permit(
        rules in prop::collection::vec(some_rule(), 0..4),
        added in some_conditions(),
        list in prop::sample::select(vec!["ask", "deny"]),
        principal in some_principal(),
        arguments in some_arguments(),
        mode in prop::sample::select(MODES.to_vec()),
    ) {
        let before: Vec<_> = rules.iter().map(|(list, rule)| (*list, &**rule)).collect();
        let added = added.to_string();
        let after: Vec<_> = before.iter().copied().chain([(list, &*added)]).collect();
        let [before, after] = [before, after].map(|rules| judge(&rules, mode, &principal, &arguments));
        prop_assert!(rank(&after) <= rank(&before), "{before} became {after}");
    }

    /// A call that may happen is one of a tool that is listed.
    #[test]
    fn what_may_happen_is_listed(
        rules in prop::collection::vec(some_rule(), 0..4),
        principal in some_principal(),
        arguments in some_arguments(),
        mode in prop::sample::select(vec![PermissionMode::DontAsk, PermissionMode::Plan, PermissionMode::Default]),
    ) {
        let rules: Vec<_> = rules.iter().map(|(list, rule)| (*list, &**rule)).collect();
        if !usable(&rules, mode, &principal, &Ways::default()) {
            prop_assert_eq!(rank(&judge(&rules, mode, &principal, &arguments)), 0);
        }
    }

    /// A condition on an allow rule never permits what the rule without it does not.
    #[test]
    fn conditions_of_allow_rules_never_permit(
        rules in prop::collection::vec(some_rule(), 0..4),
        added in some_conditions(),
        principal in some_principal(),
        arguments in some_arguments(),
        mode in prop::sample::select(MODES.to_vec()),
    ) {
        let plain = json!({ "rule": added["rule"] }).to_string();
        let added = added.to_string();
        let with = |added| {
            let rules = rules.iter().map(|(list, rule)| (*list, &**rule));
            let rules: Vec<_> = rules.chain([("allow", added)]).collect();
            judge(&rules, mode, &principal, &arguments)
        };
        let (wide, narrow) = (with(&*plain), with(&*added));
        prop_assert!(rank(&narrow) <= rank(&wide), "{wide} became {narrow}");
    }
}
