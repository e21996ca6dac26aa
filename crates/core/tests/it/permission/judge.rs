//! Tests of the permission decision, as a table of all combinations.

use std::fmt::Write as _;

use switchboard_config::{PermissionMode, PermissionRules, SourceOrigin};
use switchboard_core::engine::QueueAccess;
use switchboard_core::permission::{
    AnswerLifetime, AskReason, DecisionReason, HookVerdict, JudgedCall, PermissionSubject,
    PermissionVerdict, ToolAnnotations, ToolInteraction, ToolMemory, ToolOrigin, UserConsent,
    WorkspacePermissions, judge_call,
};
use switchboard_wire::json::Raw;

use super::{local, permissions, rules_of};

const MODES: [PermissionMode; 6] = [
    PermissionMode::Default,
    PermissionMode::Client,
    PermissionMode::Plan,
    PermissionMode::Auto,
    PermissionMode::BypassPermissions,
    PermissionMode::DontAsk,
];
const RULES: [&str; 4] = ["none", "allow", "ask", "deny"];
const READ_ONLY: ToolAnnotations = ToolAnnotations {
    read_only_hint: Some(true),
    destructive_hint: None,
    idempotent_hint: None,
    open_world_hint: None,
};

fn hooks() -> [(&'static str, HookVerdict); 4] {
    [
        ("none", HookVerdict::None),
        ("allow", HookVerdict::Allow),
        ("ask", HookVerdict::Ask { reason: "look at it".into() }),
        ("deny", HookVerdict::Deny { reason: "it is late".into() }),
    ]
}

/// One call of `mcp__s__t`, with everything else the same in each test.
#[derive(Clone)]
struct Case {
    mode: PermissionMode,
    rules: Vec<(&'static str, &'static str)>,
    hook: HookVerdict,
    annotations: ToolAnnotations,
    interaction: ToolInteraction,
    origin: ToolOrigin,
    consent: UserConsent,
    remembered: ToolMemory,
}

impl Case {
    fn in_mode(mode: PermissionMode) -> Self {
        Self {
            mode,
            rules: Vec::new(),
            hook: HookVerdict::None,
            annotations: ToolAnnotations::default(),
            interaction: ToolInteraction::Free,
            origin: ToolOrigin::Server,
            consent: UserConsent::None,
            remembered: ToolMemory::empty(),
        }
    }

    fn with_rule(self, rule: &'static str) -> Self {
        let rules = if rule == "none" { Vec::new() } else { vec![(rule, "mcp__s__t")] };
        Self { rules, ..self }
    }

    fn verdict(&self) -> PermissionVerdict {
        let (permissions, _) = permissions(&self.rules, self.mode, &["s"]);
        let (principal, arguments) = (local(), Raw::empty_object());
        let subject = PermissionSubject {
            permissions: &permissions,
            server: "s",
            tool: "t",
            call: JudgedCall { principal: &principal, arguments: &arguments },
            annotations: self.annotations,
            interaction: self.interaction,
            origin: self.origin,
            consent: self.consent,
        };
        judge_call(&subject, &self.hook, &self.remembered)
    }
}

/// Every combination: 6 modes, 2 kinds of tools, 4 rules, 2 of interaction, 2 of consent, 4 hooks.
#[test]
fn every_combination() {
    let mut table = String::new();
    for mode in MODES {
        for (tool, annotations) in [("reads", READ_ONLY), ("writes", ToolAnnotations::default())] {
            let _ = writeln!(table, "\nmode {}, a tool that {tool}", mode.word());
            let heads = hooks().map(|(name, _)| format!("hook {name}"));
            row(&mut table, "", &heads);
            for (situation, interaction, consent) in SITUATIONS {
                for rule in RULES {
                    let base = Case { annotations, interaction, consent, ..Case::in_mode(mode) };
                    let cells = hooks().map(|(_, hook)| cell(base.clone().with_rule(rule), hook));
                    row(&mut table, &format!("rule {rule}{situation}"), &cells);
                }
            }
        }
    }
    insta::assert_snapshot!("every_combination", table.trim_start());
}

/// A refused call is told of a rule that would allow it exactly where that rule, added, allows it.
#[test]
fn advice_is_true() {
    let remembered = [
        ToolMemory::empty(),
        ToolMemory::with_no(),
        ToolMemory::with_yes(AskReason::Undecided, AnswerLifetime::Always),
    ];
    for mode in MODES {
        for annotations in [READ_ONLY, ToolAnnotations::default()] {
            for (_, interaction, consent) in SITUATIONS {
                for rule in ["none", "ask", "deny"] {
                    for (_, hook) in hooks() {
                        for remembered in remembered.clone() {
                            let base = Case::in_mode(mode).with_rule(rule);
                            let hook = hook.clone();
                            let case = Case {
                                hook,
                                annotations,
                                interaction,
                                consent,
                                remembered,
                                ..base
                            };
                            check_advice(case);
                        }
                    }
                }
            }
        }
    }
}

fn check_advice(mut case: Case) {
    let verdict = case.verdict();
    let (PermissionVerdict::Deny { because } | PermissionVerdict::Ask { because }) = &verdict
    else {
        return;
    };
    let said = format!("{verdict} in mode {}, rules {:?}", case.mode.word(), case.rules);
    case.rules.push(("allow", "mcp__s__t"));
    let helps = matches!(case.verdict(), PermissionVerdict::Allow { .. });
    assert_eq!(because.yields_to_allow_rule(), helps, "{said}");
    // A hook has said why itself, and a rule that denies is named with its place.
    let has_advice = helps || because.advice(QueueAccess::Open).is_some();
    let is_hook = matches!(because, DecisionReason::Hook { .. });
    assert_eq!(has_advice, !is_hook, "{said}");
}

const SITUATIONS: [(&str, ToolInteraction, UserConsent); 4] = [
    ("", ToolInteraction::Free, UserConsent::None),
    (", typed", ToolInteraction::Free, UserConsent::Typed),
    (", wants a person", ToolInteraction::Required, UserConsent::None),
    (", wants a person, typed", ToolInteraction::Required, UserConsent::Typed),
];

fn row(table: &mut String, head: &str, cells: &[String; 4]) {
    let [none, allow, ask, deny] = cells;
    let line = format!("{head:35} | {none:18} | {allow:18} | {ask:18} | {deny}");
    let _ = writeln!(table, "{line}");
}

/// The verdict, and in one word whose it is.
fn cell(case: Case, hook: HookVerdict) -> String {
    let kept = serde_json::to_value(Case { hook, ..case }.verdict()).unwrap();
    let by = kept["because"]["by"].as_str().unwrap_or_default();
    format!("{} {by}", kept["verdict"].as_str().unwrap()).trim_end().to_owned()
}

/// What must hold in every row of that table, said once more and independently of it.
#[test]
fn laws() {
    for mode in MODES {
        for annotations in [READ_ONLY, ToolAnnotations::default()] {
            for (_, interaction, consent) in SITUATIONS {
                let base = Case { annotations, interaction, consent, ..Case::in_mode(mode) };
                for rule in RULES {
                    for (name, hook) in hooks() {
                        let case = Case { hook, ..base.clone().with_rule(rule) };
                        let about = format!("{mode:?} {annotations:?} {consent:?} {rule} {name}");
                        assert_eq!(word(&case.verdict()), lawful(&case, [rule, name]), "{about}");
                    }
                }
            }
        }
    }
}

fn word(verdict: &PermissionVerdict) -> &'static str {
    match verdict {
        PermissionVerdict::Allow { .. } => "allow",
        PermissionVerdict::Deny { .. } => "deny",
        PermissionVerdict::Ask { .. } => "ask",
        PermissionVerdict::Classify => "classify",
    }
}

fn lawful(case: &Case, said: [&str; 2]) -> &'static str {
    let planned =
        case.mode == PermissionMode::Plan && case.annotations == ToolAnnotations::default();
    if said.contains(&"deny") || planned {
        return "deny";
    }
    if case.consent == UserConsent::Typed {
        return "allow";
    }
    if said.contains(&"ask") || case.interaction == ToolInteraction::Required {
        return if case.mode == PermissionMode::DontAsk { "deny" } else { "ask" };
    }
    match case.mode {
        _ if said.contains(&"allow") => "allow",
        PermissionMode::Client | PermissionMode::Plan | PermissionMode::BypassPermissions => {
            "allow"
        }
        PermissionMode::Default => "ask",
        PermissionMode::DontAsk => "deny",
        PermissionMode::Auto => "classify",
    }
}

#[test]
fn a_remembered_answer_counts_for_exactly_its_question() {
    let undecided = || ToolMemory::with_yes(AskReason::Undecided, AnswerLifetime::Project);
    let to_rule =
        || ToolMemory::with_yes(AskReason::Rule("mcp__s__t".into()), AnswerLifetime::Session);
    let default = || Case::in_mode(PermissionMode::Default);
    let check = |case: Case, remembered, expected: &str| {
        let verdict = Case { remembered, ..case }.verdict();
        assert_eq!(verdict.to_string(), expected);
    };
    check(default(), undecided(), "allow: answered before: Always allow in this project");
    check(
        Case::in_mode(PermissionMode::Auto),
        undecided(),
        "allow: answered before: Always allow in this project",
    );
    check(
        Case::in_mode(PermissionMode::DontAsk),
        undecided(),
        "allow: answered before: Always allow in this project",
    );
    check(default(), to_rule(), "ask: mode `default`");
    let asks = || default().with_rule("ask");
    let rule = "rule `mcp__s__t` (user scope, settings.json:1:1)";
    check(asks(), undecided(), &format!("ask: {rule}"));
    check(asks(), to_rule(), "allow: answered before: Allow for this session");
    let quiet = Case::in_mode(PermissionMode::DontAsk).with_rule("ask");
    check(quiet.clone(), to_rule(), "allow: answered before: Allow for this session");
    check(quiet, undecided(), &format!("deny: {rule}; mode `dontAsk` does not ask"));
    check(default().with_rule("deny"), undecided(), &format!("deny: {rule}"));
    // Neither a hook nor a tool that wants a person can be answered in advance.
    let hook = HookVerdict::Ask { reason: "look at it".into() };
    check(Case { hook, ..asks() }, to_rule(), "ask: a hook says: look at it");
    let wants = Case { interaction: ToolInteraction::Required, ..default() };
    check(wants, undecided(), "ask: the tool wants a person to look at each call");
    check(Case::in_mode(PermissionMode::Plan), undecided(), "deny: mode `plan`");
    // A no is a deny.
    check(
        default().with_rule("allow"),
        ToolMemory::with_no(),
        "deny: answered before: Always deny",
    );
    let bypass = Case::in_mode(PermissionMode::BypassPermissions);
    check(bypass, ToolMemory::with_no(), "deny: answered before: Always deny");
}

#[test]
fn our_own_tools_need_no_permission_but_can_be_denied() {
    for mode in MODES {
        let ours = Case { origin: ToolOrigin::BuiltIn, ..Case::in_mode(mode) };
        assert_eq!(ours.verdict().to_string(), "allow: the tool is built in", "{mode:?}");
        let asked = ours.clone().with_rule("ask").verdict();
        assert_eq!(asked.to_string(), "allow: the tool is built in", "{mode:?}");
        let denied = ours.with_rule("deny").verdict();
        assert!(matches!(denied, PermissionVerdict::Deny { .. }), "{mode:?}");
    }
}

/// The form in which a log keeps a decision.
#[test]
fn a_verdict_can_be_kept() {
    let check = |case: Case, expected: &str| {
        assert_eq!(serde_json::to_string(&case.verdict()).unwrap(), expected);
    };
    check(Case::in_mode(PermissionMode::Auto), r#"{"verdict":"classify"}"#);
    check(
        Case::in_mode(PermissionMode::Plan),
        r#"{"verdict":"deny","because":{"by":"mode","mode":"plan"}}"#,
    );
    check(
        Case::in_mode(PermissionMode::DontAsk).with_rule("ask"),
        r#"{"verdict":"deny","because":{"by":"nobody-asked","ask":{"by":"rule","text":"mcp__s__t","scope":"user","at":{"origin":"settings.json","line":1,"column":1}}}}"#,
    );
    let remembered = ToolMemory::with_yes(AskReason::Undecided, AnswerLifetime::Always);
    check(
        Case { remembered, ..Case::in_mode(PermissionMode::Default) },
        r#"{"verdict":"allow","because":{"by":"remembered","answer":"always"}}"#,
    );
}

/// Settings that cannot be understood may forbid any call, so every call of a server's tool is refused, in every mode,
/// also where a person typed it.
#[test]
fn unclear_settings_refuse_every_call() {
    let at = SourceOrigin::file("settings.json").start();
    let unclear = PermissionRules { unclear: Some(at), ..rules_of(&[("allow", "mcp__s__t")]) };
    for mode in MODES {
        let (permissions, _) = WorkspacePermissions::new(&unclear, mode, &["s".to_owned()]);
        let verdict = |origin| {
            let (principal, arguments) = (local(), Raw::empty_object());
            let subject = PermissionSubject {
                permissions: &permissions,
                server: "s",
                tool: "t",
                call: JudgedCall { principal: &principal, arguments: &arguments },
                annotations: READ_ONLY,
                interaction: ToolInteraction::Free,
                origin,
                consent: UserConsent::Typed,
            };
            judge_call(&subject, &HookVerdict::Allow, &ToolMemory::empty()).to_string()
        };
        assert_eq!(
            verdict(ToolOrigin::Server),
            "deny: no call is made while the settings at settings.json:1:1 cannot be understood: they may forbid it"
        );
        assert_eq!(verdict(ToolOrigin::BuiltIn), "allow: the tool is built in");
    }
}
