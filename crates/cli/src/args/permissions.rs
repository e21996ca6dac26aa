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
    /// Show the remembered answers
    List,
    /// Delete remembered answers, so that the next call asks again
    Forget(Forget),
    /// Show what would happen to a call and which rule decides, without calling or starting anything
    Explain(Explain),
    /// Test the rules against calls and expected decisions in a file
    Test(TestRules),
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The id of an answer; `server/tool`; or a server, for all answers about it
    #[arg(value_name = "ID|SERVER/TOOL|SERVER", required_unless_present = "all")]
    pub(crate) which: Option<String>,
    /// Delete all remembered answers
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
    /// The id of the principal that makes the call [default: you]
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// A group that the principal is in; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// What to do with calls that no rule decides [default: `permissions.defaultMode`, else `client`]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct TestRules {
    /// A list of cases in JSON or YAML, with `as`, `groups`, `tool`, `arguments`, `mode` and `expect`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
