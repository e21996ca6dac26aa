//! Arguments of the commands that use servers: `tools`, `call`, `read`, `prompt`, `complete`, `logs`, `questions`,
//! `answer`.
//!
//! Used by `args::Command` and the commands of these names. It does not interpret tool arguments (`commands::call`
//! does).

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::probe::seconds;
use super::span::span;
use crate::shell_completion::{server, server_or_tool, tool};

pub(super) const TOOLS_EXAMPLES: &str = "\
Examples:
  switchboard tools
  switchboard tools github --search 'create issue'
  switchboard tools mcp__github__create_issue";

pub(super) const CALL_EXAMPLES: &str = "\
Arguments:
  key=value      a number, true or false, or text, by the tool's schema
  key=a,b        a list
  key.member=c   a member of an object
  key:=json      a JSON value, unchanged
  '{…}'          all arguments as one JSON object
  @FILE, -       the same, from a file or from standard input

Examples:
  switchboard call github/create_issue title='A bug' labels=bug,urgent
  switchboard call mcp__time__now '{\"zone\": \"UTC\"}'
  echo '{\"text\": \"hi\"}' | switchboard call echo -";

pub(super) const READ_EXAMPLES: &str = "\
Examples:
  switchboard read docs://guide
  switchboard read docs docs://guide
  switchboard read @docs:docs://guide > guide.md";

pub(super) const PROMPT_EXAMPLES: &str = "\
Examples:
  switchboard prompt reviews/code-review language=Rust
  switchboard prompt mcp__reviews__code-review language=Rust --json";
pub(super) const SKILL_EXAMPLES: &str = "\
Examples:
  switchboard skill pdf-processing
  switchboard skill docs/pdf-processing > SKILL.md";

pub(super) const COMPLETE_EXAMPLES: &str = "\
Examples:
  switchboard complete reviews/code-review language Ru
  switchboard complete 'file:///{path}' path src/";

pub(super) const LOGS_EXAMPLES: &str = "\
Examples:
  switchboard logs github
  switchboard logs github -f -n 100
  switchboard logs --audit --since 1h --server github";

pub(super) const ANSWER_EXAMPLES: &str = "\
Examples:
  switchboard answer q3                        on a terminal: ask you
  switchboard answer q3 name=Ada colour=green  fill in a form
  switchboard answer q3 --decline
  switchboard answer q4 --allow                allow a call once
  switchboard answer q4 --allow always         allow later calls, too
  switchboard answer q4 --deny-always          deny later calls, too";

#[derive(Debug, Args)]
pub(crate) struct Questions {
    /// Show each question as it arrives, until Ctrl-C; meanwhile, questions that a client cannot show wait for your answer
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// Allow the call: `once`, for the `session`, in this `project`, or `always`
    #[arg(long, value_name = "SPAN", num_args = 0..=1, default_missing_value = "once")]
    pub(crate) allow: Option<Span>,
    /// Deny the call
    #[arg(long, conflicts_with = "allow")]
    pub(crate) deny: bool,
    /// Deny this call and every later one of this tool
    #[arg(long, conflicts_with_all = ["allow", "deny"])]
    pub(crate) deny_always: bool,
    /// Decline the server's request
    #[arg(long, conflicts_with_all = ["allow", "deny", "deny_always"])]
    pub(crate) decline: bool,
    /// Cancel the question
    #[arg(long, conflicts_with_all = ["allow", "deny", "deny_always", "decline"])]
    pub(crate) cancel: bool,
    /// The id of the question, as `switchboard questions` shows it
    pub(crate) id: String,
    /// Values for the fields of its form
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}

/// For how long a call is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Span {
    /// Only this call
    Once,
    /// Until the client's session ends
    Session,
    /// In this project, from now on
    Project,
    /// In every project, from now on
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Only tools that match these words, the best match first
    #[arg(long, value_name = "QUERY")]
    pub(crate) search: Option<String>,
    /// A server; or a tool, to show its description and arguments
    #[arg(value_name = "SERVER|TOOL", add = server_or_tool())]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Give up after this many seconds without an answer or progress
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Give up after this many seconds without an answer, even if progress arrives
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// The tool: `server/tool`, its full name, or its own name if only one server has it
    #[arg(add = tool())]
    pub(crate) tool: String,
    /// Arguments of the tool
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OfServer {
    /// Only this server
    #[arg(add = server())]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The resource: `URI`, `SERVER URI` or `@SERVER:URI`
    #[arg(value_name = "URI", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// The prompt: `server/prompt`, its full name, or its own name if only one server has it
    pub(crate) name: String,
    /// Arguments of the prompt
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Skill {
    /// The skill: its name or URI if only one server has it, `SERVER/NAME` or `SERVER/URI`
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// A prompt, or a resource template
    #[arg(value_name = "PROMPT|TEMPLATE")]
    pub(crate) of: String,
    /// The argument of the prompt, or the variable of the template
    pub(crate) argument: String,
    /// What has been typed so far
    #[arg(default_value = "")]
    pub(crate) value: String,
    /// Values of the other arguments, as far as they are known
    #[arg(value_name = "KNOWN=VALUE")]
    pub(crate) known: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The server's name
    #[arg(add = server())]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Follow new lines until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The number of lines
    #[arg(short = 'n', long, value_name = "LINES", default_value = "50")]
    pub(crate) lines: usize,
    /// Show the audit log: who called what, what was decided and by which rule, and how each call ended
    #[arg(long)]
    pub(crate) audit: bool,
    /// Only calls of this server
    #[arg(
        long = "server",
        value_name = "SERVER",
        requires = "audit",
        conflicts_with = "server",
        add = server()
    )]
    pub(crate) only: Option<String>,
    /// Only calls of the last 15m, 1h, 2d, …
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "audit")]
    pub(crate) since: Option<Duration>,
    /// The server's name
    #[arg(required_unless_present = "audit", add = server())]
    pub(crate) server: Option<String>,
}
