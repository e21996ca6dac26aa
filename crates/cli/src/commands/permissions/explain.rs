//! `switchboard permissions explain` and `test`: what would happen to calls, from the configuration alone.
//!
//! Used by `commands::permissions`. They start no server and need no hub: a hub reads the same files. They do not decide
//! (`core::permission::explain_call` does).

use serde::Serialize;
use serde_json::json;
use switchboard_config::{
    CallVerdict, ConfigProblem, Desired, PermissionCase, SourceLocation, read_permission_cases,
};
use switchboard_core::permission::{
    CallToExplain, CitedRule, ConsideredRule, DecisionReason, Explanation, PermissionMemory,
    RuleEffect, RulePrincipal, UnknownTool, explain_call,
};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_wire::json::{JsonKind, Raw};
use switchboard_wire::sanitize;

use crate::args::{Explain, ModeArg, TestRules};
use crate::commands::call::arguments::TypedArguments;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

/// What became of one case.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaseOutcome<'a> {
    passed: bool,
    at: &'a SourceLocation,
    tool: &'a str,
    #[serde(rename = "as")]
    principal: &'a str,
    expected: CallVerdict,
    /// What would happen; absent where no configured server has the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<CallVerdict>,
    /// The reason, or why there is no verdict.
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<DecisionReason>,
}

pub(super) fn explain(
    asked: &Explain,
    memory: &PermissionMemory,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let (desired, notices) = caller.desired();
    let typed = TypedArguments::read(&asked.arguments)?;
    let arguments = typed.arguments(&Raw::empty_object()).map_err(|invalid| {
        let causes = invalid.problems.iter().map(ToString::to_string);
        Failure::plain(FailureKind::Usage, "invalid arguments").with_causes(causes)
    })?;
    let principal = principal(asked.principal.as_deref(), &asked.groups);
    let call = CallToExplain {
        tool: &asked.tool,
        arguments: &arguments,
        principal: &principal,
        mode: asked.mode.map(ModeArg::to_mode),
        annotations: None,
    };
    let explained = explain_call(&desired, Some(memory), &call).map_err(|it| unknown(&it))?;
    let problems = rule_problems(&desired).map(Notice::from);
    if printer.is_json() {
        return printer.json(&explained);
    }
    show_explanation(&explained, printer);
    printer.notices(&notices.into_iter().chain(problems).collect::<Vec<_>>());
    Ok(())
}

fn principal(id: Option<&str>, groups: &[String]) -> RulePrincipal {
    RulePrincipal::new(id.unwrap_or(LOCAL_PRINCIPAL)).in_groups(groups.iter().cloned())
}

fn unknown(error: &UnknownTool) -> Failure {
    let hint = match error {
        UnknownTool::Bare(tool) => format!("write `SERVER/{tool}`"),
        UnknownTool::NoServer(_) => "`switchboard list` shows every server".to_owned(),
    };
    Failure::plain(FailureKind::Failed, error.to_string()).with_hint(hint)
}

/// Problems of rules, which may explain an unexpected outcome.
fn rule_problems(desired: &Desired) -> impl Iterator<Item = &ConfigProblem> {
    use switchboard_config::ConfigProblemKind::{BadRule, NotHonoured};
    desired.problems.iter().filter(|it| matches!(it.kind, BadRule | NotHonoured))
}

fn show_explanation(explained: &Explanation, printer: &Printer) {
    let verb = match explained.verdict {
        CallVerdict::Allow => "would happen",
        CallVerdict::Ask => "would be asked about",
        CallVerdict::Deny => "would be refused",
    };
    let tool = sanitize::sanitize_line(&explained.tool);
    let principal = sanitize::sanitize_line(&explained.principal);
    printer.line(format_args!("{BOLD}{tool}{BOLD:#} by {principal}: {verb}"));
    printer.line(format_args!("  because: {}", reason(&explained.because, printer)));
    if !explained.listed {
        printer.line("  This principal does not see the tool: every call of it is denied.");
    }
    if explained.hooks > 0 {
        let hooks = explained.hooks;
        printer.line(format_args!(
            "  Hooks that run before calls ({hooks}) can decide otherwise, and change the arguments."
        ));
    }
    if matches!(explained.because, DecisionReason::Mode { .. }) && !explained.annotated {
        printer.line("  Whether the tool only reads is not known without its server.");
    }
    if !explained.rules.is_empty() {
        printer.line("");
        let rows = explained.rules.iter().map(|rule| row(rule, printer));
        for row in show::columns(rows) {
            printer.line(row);
        }
    }
}

/// The reason, with places as people know them.
fn reason(because: &DecisionReason, printer: &Printer) -> String {
    match because {
        DecisionReason::Rule(rule) => {
            format!("the rule `{}` ({})", sanitize::sanitize_line(&rule.text), place(rule, printer))
        }
        other => sanitize::sanitize_line(&other.to_string()).into_owned(),
    }
}

fn place(rule: &CitedRule, printer: &Printer) -> String {
    match &rule.at {
        Some(at) => format!("{} scope, {}", rule.scope, printer.places.location(at)),
        None => format!("{} scope", rule.scope),
    }
}

fn row(considered: &ConsideredRule, printer: &Printer) -> [String; 4] {
    let effect = match considered.effect {
        RuleEffect::Counts => "counts",
        RuleEffect::CountsUnjudged => {
            "applies: the argument is missing, is not text, or occurs twice"
        }
        RuleEffect::OtherPrincipal => "does not apply: it is for other principals",
        RuleEffect::OtherArgument => "does not apply: the argument does not match",
        RuleEffect::Unjudged => {
            "does not apply: the argument is missing, is not text, or occurs twice"
        }
    };
    [
        format!("  {}", considered.list.name()),
        show::word(&considered.rule.text),
        effect.to_owned(),
        format!("{DIM}{}{DIM:#}", place(&considered.rule, printer)),
    ]
}

pub(super) fn test(asked: &TestRules, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let path = &asked.file;
    let cases = read_permission_cases(path).map_err(|error| {
        Failure::config(format!("cannot read the cases of {}", path.display()), &error)
    })?;
    let cases = cases.map_err(|problems| unreadable(&problems))?;
    let (desired, notices) = caller.desired();
    let outcomes: Vec<_> = cases.iter().map(|case| judge(&desired, case)).collect();
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    let passed = outcomes.len() - failed;
    if printer.is_json() {
        let told = json!({ "passed": passed, "failed": failed, "cases": outcomes });
        printer.json(&told)?;
    } else {
        let different = outcomes.iter().filter(|outcome| !outcome.passed);
        different.for_each(|outcome| show_difference(outcome, printer));
        let problems = rule_problems(&desired).map(Notice::from);
        printer.notices(&notices.into_iter().chain(problems).collect::<Vec<_>>());
    }
    match failed {
        0 => {
            printer.done(match passed {
                1 => "1 case, as expected".to_owned(),
                _ => format!("{passed} cases, all as expected"),
            });
            Ok(())
        }
        _ => {
            let verb = if failed == 1 { "is" } else { "are" };
            let message = format!("{failed} of {} cases {verb} not as expected", outcomes.len());
            Err(Failure::plain(FailureKind::Failed, message))
        }
    }
}

fn unreadable(problems: &[ConfigProblem]) -> Failure {
    let failure = Failure::plain(FailureKind::Failed, "the cases cannot be understood");
    let failure = failure.with_causes(problems.iter().map(|problem| match &problem.at {
        Some(at) => format!("{at}: {}", problem.message),
        None => problem.message.clone(),
    }));
    match problems.iter().find_map(|problem| problem.hint.as_ref()) {
        Some(hint) => failure.with_hint(hint.to_string()),
        None => failure,
    }
}

fn judge<'a>(desired: &Desired, case: &'a PermissionCase) -> CaseOutcome<'a> {
    let outcome = |verdict, reason, because| CaseOutcome {
        passed: verdict == Some(case.expect),
        at: &case.at,
        tool: &case.tool,
        principal: case.principal.as_deref().unwrap_or(LOCAL_PRINCIPAL),
        expected: case.expect,
        verdict,
        reason,
        because,
    };
    let arguments = Raw::parse(case.arguments.clone());
    let Some(arguments) = arguments.ok().filter(|it| it.kind() == JsonKind::Object) else {
        return outcome(None, "its arguments are not a JSON object".to_owned(), None);
    };
    let principal = principal(case.principal.as_deref(), &case.groups);
    let call = CallToExplain {
        tool: &case.tool,
        arguments: &arguments,
        principal: &principal,
        mode: case.mode,
        annotations: None,
    };
    // Answers of a person are no part of the rules.
    match explain_call(desired, None, &call) {
        Ok(explained) => {
            outcome(Some(explained.verdict), explained.reason, Some(explained.because))
        }
        Err(error) => outcome(None, error.to_string(), None),
    }
}

fn show_difference(outcome: &CaseOutcome<'_>, printer: &Printer) {
    let place = printer.places.location(outcome.at);
    let tool = sanitize::sanitize_line(outcome.tool);
    let principal = sanitize::sanitize_line(outcome.principal);
    printer.line(format_args!("{BOLD}{place}{BOLD:#}: {tool} by {principal}"));
    let found = outcome.verdict.map_or("no verdict", CallVerdict::word);
    printer.line(format_args!("  expected {}, got {found}", outcome.expected));
    let why = match &outcome.because {
        Some(because) => reason(because, printer),
        None => sanitize::sanitize_line(&outcome.reason).into_owned(),
    };
    printer.line(format_args!("  because: {why}"));
}
