//! Arguments of `permissions`.
//!
//! Used by `commands::permissions`. It does not read the stored answers or the rules.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::serving::ModeArg;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard permissions list
  switchboard permissions forget github/create_issue
  switchboard permissions explain github/create_issue repo=acme/app
  switchboard permissions explain github/create_issue --as anna --group dev
  switchboard permissions test rules.yaml";

/// What to do with remembered answers.
#[derive(Debug, Subcommand)]
pub(crate) enum Permissions {
    /// Show the answers that are remembered: for a project, always, never
    List,
    /// Take answers back; the question is asked again from the next call on
    Forget(Forget),
    /// Say what would happen to a call, and which rule decides; no call is made, and no server started
    Explain(Explain),
    /// Compare what the rules make of calls with what a file expects
    Test(TestRules),
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The answer's id, `server/tool`, or a server for everything about it
    #[arg(value_name = "ID|SERVER/TOOL|SERVER", required_unless_present = "all")]
    pub(crate) which: Option<String>,
    /// Every answer there is
    #[arg(long, conflicts_with = "which")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// `server/tool` or `mcp__server__tool`
    pub(crate) tool: String,
    /// Arguments of the call, as for `switchboard call`
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Who calls, by the principal's id [default: you]
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// A group that the principal is in; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// What happens to calls that no rule decides; by default what `permissions.defaultMode` says, else `client`
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct TestRules {
    /// A list of cases, as JSON or YAML: `as`, `groups`, `tool`, `arguments`, `mode`, `expect`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
