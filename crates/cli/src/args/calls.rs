//! The words of the commands that use servers.

use std::time::Duration;

use clap::Args;

use super::probe::seconds;
use super::span::span;

pub(super) const TOOLS_EXAMPLES: &str = "\
Examples:
  switchboard tools
  switchboard tools github --search 'create issue'
  switchboard tools mcp__github__create_issue";

pub(super) const CALL_EXAMPLES: &str = "\
Arguments:
  key=value      read as the tool's schema says: a number, a truth value, text; a,b for a list; a.b=c inside an object
  key:=json      JSON as it stands
  '{…}'          all of them as one JSON object; @FILE reads it from a file, - from standard input

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

pub(super) const COMPLETE_EXAMPLES: &str = "\
Examples:
  switchboard complete reviews/code-review language Ru
  switchboard complete 'file:///{path}' path src/";

pub(super) const LOGS_EXAMPLES: &str = "\
Examples:
  switchboard logs github
  switchboard logs github -f -n 100
  switchboard logs --audit --since 1h --server github";

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Only tools that fit these words, best first
    #[arg(long, value_name = "QUERY")]
    pub(crate) search: Option<String>,
    /// One server, or one tool, which is then shown with what it takes
    #[arg(value_name = "SERVER|TOOL")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Give up after this many seconds without an answer or progress
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// The tool: `server/tool`, its full name, or its own name where only one server has it
    pub(crate) tool: String,
    /// What to call it with
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OfServer {
    /// Only those of this server
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
    /// The prompt: `server/prompt`, its full name, or its own name where only one server has it
    pub(crate) name: String,
    /// What to fill in
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// A prompt, or the template of a resource
    #[arg(value_name = "PROMPT|TEMPLATE")]
    pub(crate) of: String,
    /// The argument of the prompt, or the variable of the template
    pub(crate) argument: String,
    /// What is typed of it so far
    #[arg(default_value = "")]
    pub(crate) value: String,
    /// Values of other arguments that are known
    #[arg(value_name = "KNOWN=VALUE")]
    pub(crate) known: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Server {
    /// Which server
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Go on as more is written, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many lines
    #[arg(short = 'n', long, value_name = "LINES", default_value = "50")]
    pub(crate) lines: usize,
    /// Show the record of calls: who called what, what was decided and by which rule, how it ended
    #[arg(long)]
    pub(crate) audit: bool,
    /// Only calls of this server
    #[arg(long = "server", value_name = "SERVER", requires = "audit", conflicts_with = "server")]
    pub(crate) only: Option<String>,
    /// Only calls since so long ago: 15m, 1h, 2d
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "audit")]
    pub(crate) since: Option<Duration>,
    /// Which server
    #[arg(required_unless_present = "audit")]
    pub(crate) server: Option<String>,
}
