//! The form of secrets in an entry: names that a secret may have, and no providers.
//!
//! Used by `entry_check` before an entry is written, and by `resolve::servers` before it is expanded. It does not look
//! up secrets (`resolve::secrets`).

use std::collections::BTreeSet;

use super::name::{collect_secret_names, is_valid_secret_name};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::source::{ConfigNode, ConfigValue, SourceLocation};

/// The problem of an entry that cannot be expanded because of the form of its secrets: a name that no secret
/// may have, or a provider, which settings declare and entries never do.
pub(crate) fn secret_form_problem(
    server: &str,
    entry: &ConfigNode,
    at: &SourceLocation,
) -> Option<ConfigProblem> {
    let problem = |message: String, hint: &str| {
        ConfigProblem::error(ConfigProblemKind::BadValue, message)
            .at(at.clone())
            .of_server(server)
            .hint(ProblemHint::Other(hint.to_owned()))
    };
    let mut names = BTreeSet::new();
    collect_secret_names(entry, &mut names);
    if let Some(name) = names.iter().find(|name| !is_valid_secret_name(name)) {
        let message = format!(
            "server `{server}` names the secret `{name}`; a name is a letter, then letters, digits, `_`, `-` or `.`, without a default"
        );
        return Some(problem(message, "write it as `${secret:NAME}`"));
    }
    let (field, form) = find_provider(entry, "")?;
    let message = format!(
        "server `{server}` names a provider in `{field}` (`{form}`); an entry may name a secret, never a provider"
    );
    let hint = "declare it in `secretProviders` of your own settings, and write `${secret:NAME}` in the entry";
    Some(problem(message, hint))
}

/// The first string with the form of a provider: the field, and the form.
fn find_provider(node: &ConfigNode, field: &str) -> Option<(String, &'static str)> {
    match &node.value {
        ConfigValue::String(text) => provider_form(text).map(|form| (field.to_owned(), form)),
        ConfigValue::List(elements) => elements
            .iter()
            .enumerate()
            .find_map(|(index, element)| find_provider(element, &format!("{field}[{index}]"))),
        // The 1Password CLI expands `op://` in the environment of the program that it starts itself.
        ConfigValue::Object(members) => members
            .iter()
            .filter(|member| member.key != "env" || !runs_op(node))
            .find_map(|member| {
                let separator = if field.is_empty() { "" } else { "." };
                find_provider(&member.value, &format!("{field}{separator}{}", member.key))
            }),
        _ => None,
    }
}

fn runs_op(entry: &ConfigNode) -> bool {
    let command = entry.get("command").and_then(ConfigNode::as_str);
    command.is_some_and(|command| command.rsplit('/').next() == Some("op"))
}

fn provider_form(text: &str) -> Option<&'static str> {
    let contains = |form: &str| text.find(form).is_some_and(|at| text[at..].contains('}'));
    if contains("${file:") {
        Some("${file:…}")
    } else if contains("${cmd:") {
        Some("${cmd:…}")
    } else {
        text.starts_with("op://").then_some("op://…")
    }
}
