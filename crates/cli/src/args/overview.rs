//! The program's help: all commands in groups, for `switchboard`, `switchboard help` and `switchboard --help`.
//!
//! Used by `args::parse`. The summary of a command is the first line of its doc comment, so each is written once. The
//! help of a single command is clap's.

use std::fmt::Write as _;

use clap::builder::Styles;
use clap::{Command, CommandFactory as _};

use super::Args;

/// The groups, and their commands in the order of the help.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Everyday", &["setup", "list", "tools", "call", "status", "top", "ui", "console"]),
    (
        "Servers",
        &["add", "add-json", "remove", "get", "edit", "enable", "disable", "reconnect", "secret"],
    ),
    (
        "Prompts and resources",
        &["prompts", "prompt", "resources", "read", "skills", "skill", "complete"],
    ),
    (
        "Permissions",
        &["approve", "reject", "reset-project-choices", "permissions", "questions", "answer"],
    ),
    ("Clients", &["clients", "import", "install", "uninstall", "connect"]),
    ("Signing in", &["login", "logout", "accounts", "xaa"]),
    ("Serving", &["serve", "token", "cluster", "stop"]),
    ("Plugins", &["plugin"]),
    (
        "Diagnosis and this program",
        &["doctor", "logs", "probe", "completions", "version", "self", "help"],
    ),
];

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// The parser of the command line, whose help shows the commands in groups.
pub(super) fn grouped_command() -> Command {
    let mut command = Args::command();
    // clap adds its command `help` here.
    command.build();
    let command = command.mut_subcommand("help", |help| help.about("Show the help of a command"));
    let groups = groups_text(&command);
    // clap would list the commands a second time.
    Args::command()
        .mut_subcommands(|command| command.hide(true))
        .override_usage("switchboard [OPTIONS] <COMMAND>")
        .before_help(groups)
        .help_template(TEMPLATE)
}

fn groups_text(command: &Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name_and_aliases(command, name).len()).max().unwrap_or_default();
    let header = *Styles::styled().get_header();
    let literal = *Styles::styled().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names {
            let summary = command.find_subcommand(name).and_then(Command::get_about);
            let summary = summary.map(ToString::to_string).unwrap_or_default();
            let shown = name_and_aliases(command, name);
            let _ = writeln!(text, "  {literal}{shown:width$}{literal:#}  {summary}");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The name of a command with its other names: `list, ls`.
fn name_and_aliases(command: &Command, name: &str) -> String {
    let aliases = command.find_subcommand(name).into_iter().flat_map(Command::get_visible_aliases);
    std::iter::once(name).chain(aliases).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_fits_a_line() {
        let mut command = Args::command();
        command.build();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut expected: Vec<_> = visible.map(|command| command.get_name().to_owned()).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter()).collect();
        expected.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, expected.iter().collect::<Vec<_>>());
        let help = grouped_command().render_help().to_string();
        let groups = help.lines().take_while(|line| *line != "Options:");
        let wide: Vec<_> = groups.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    /// clap would break a longer line of an example, which then cannot be pasted.
    #[test]
    fn every_example_fits_a_line() {
        fn check(command: &Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        let mut command = Args::command();
        command.build();
        check(&command);
    }
}
