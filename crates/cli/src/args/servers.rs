//! Arguments of the commands that manage servers: `add`, `remove`, `list`, `get`, `edit`, `enable`, `disable`,
//! `approve`, `reject`, `import`, `install`, `uninstall`.
//!
//! Used by the commands of these names. It does not validate entries (`config` does).

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use switchboard_config::{Scope, import::ClientApp, install};

use crate::shell_completion::server;

pub(super) const ADD_EXAMPLES: &str = "\
Examples:
  switchboard add github npx -y @modelcontextprotocol/server-github
  switchboard add -e API_KEY weather -- npx -y weather-mcp
  switchboard add -s user sentry https://mcp.sentry.dev/mcp
  switchboard add docs https://example.com/mcp -H 'X-Api-Key: ${DOCS_KEY}'
  switchboard add -t ws live wss://example.com/ws

Keep secrets out of the file: `-e KEY` and `${KEY}` write a reference, which
Switchboard resolves when the server starts.";

pub(super) const ADD_JSON_EXAMPLES: &str = "\
Examples:
  switchboard add-json time '{\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}'
  switchboard add-json -s user docs '{\"url\": \"https://example.com/mcp\"}'";

pub(super) const LIST_EXAMPLES: &str = "\
✔ connected  ! sign-in needed  ✘ failed, or its entry is invalid
⏸ awaiting approval  ⊘ disabled, rejected, or blocked by policy
○ ready to start, not checked

Examples:
  switchboard list
  switchboard list --no-check --json
  switchboard list --check && echo all well";

pub(super) const APPROVE_EXAMPLES: &str = "\
Examples:
  switchboard approve
  switchboard approve github
  switchboard approve --all --yes";

pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  switchboard import claude-desktop --dry-run
  switchboard import cursor codex --yes
  switchboard import vscode --project-files -s local";

pub(super) const INSTALL_EXAMPLES: &str = "\
Examples:
  switchboard install cursor
  switchboard install claude-desktop --dry-run
  switchboard install codex --yes -- --tool-search auto
  switchboard install vscode --name work -- --servers github,jira";

/// Where a server is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// For you, in this project; kept out of version control
    Local,
    /// For everyone in this project, in its .mcp.json
    Project,
    /// For you, in every project
    User,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A command that speaks over standard input and output
    Stdio,
    /// Streamable HTTP
    #[value(alias = "streamable-http")]
    Http,
    /// HTTP with server-sent events, the older transport
    Sse,
    /// WebSocket
    Ws,
}

/// Where a switch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchScope {
    /// Only in this project
    Local,
    /// In every project
    User,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The scope to write to
    #[arg(short, long, value_enum, default_value = "local")]
    pub(crate) scope: ScopeArg,
    /// How to reach the server [default: `stdio` for a command, `http` or `ws` by the URL]
    #[arg(short, long, value_enum, value_name = "KIND")]
    pub(crate) transport: Option<Kind>,
    /// Set an environment variable for the command; KEY alone writes a reference to your own variable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Send a header with each request to the URL
    #[arg(short = 'H', long, value_name = "KEY: VALUE")]
    pub(crate) header: Vec<String>,
    /// Move values that look like secrets to the secret store, without asking
    #[arg(long)]
    pub(crate) secret: bool,
    /// Write values that look like secrets to the file, without asking
    #[arg(long, conflicts_with = "secret")]
    pub(crate) no_secret: bool,
    /// The id of the OAuth client that is registered for you
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The secret of that client, as a reference: ${secret:NAME} or ${VARIABLE}
    #[arg(long, value_name = "REFERENCE", requires = "client_id")]
    pub(crate) client_secret: Option<String>,
    /// The local port to which the browser returns after you sign in
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) callback_port: Option<u16>,
    /// Sign in through your organisation's identity provider
    #[arg(long)]
    pub(crate) xaa: bool,
    /// The server's name: letters, digits, `_` and `-`
    pub(crate) name: String,
    /// A command and its arguments, or a URL
    #[arg(
        value_name = "COMMAND|URL",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) server: Vec<String>,
    /// Whether `--` stands before the command, so that every word is meant as it is.
    #[arg(skip)]
    pub(crate) is_literal: bool,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct AddJson {
    /// The scope to write to
    #[arg(short, long, value_enum, default_value = "local")]
    pub(crate) scope: ScopeArg,
    /// The server's name; without it, every server in `mcpServers` is added under its own name
    pub(crate) name: Option<String>,
    /// The entry, alone or inside `mcpServers`
    #[arg(value_name = "JSON")]
    pub(crate) entry: String,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The scope to remove it from; needed if the server is in several
    #[arg(short, long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// The server's name
    #[arg(add = server())]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Exit 1 if an enabled server cannot be reached or has an invalid entry
    #[arg(long, conflicts_with = "no_check")]
    pub(crate) check: bool,
    /// Do not connect to any server
    #[arg(long)]
    pub(crate) no_check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Show secrets, too
    #[arg(long)]
    pub(crate) reveal: bool,
    /// The server's name
    #[arg(add = server())]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The scope of the entry to change; needed if the server is in several
    #[arg(short, long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// The server's name
    #[arg(add = server())]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Switch {
    /// Where the switch applies
    #[arg(short, long, value_enum, default_value = "local")]
    pub(crate) scope: SwitchScope,
    /// The server's name
    #[arg(add = server())]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// Approve everything that awaits approval
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Do not ask; needs a name or `--all`
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Accepted for old scripts, without effect: `approve` always shows everything as it stands in the file
    #[arg(long = "reveal", hide = true)]
    pub(crate) _reveal: bool,
    /// The name of a server, or of anything else that awaits approval
    #[arg(add = server())]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The name of a server, or of anything else in the project
    #[arg(add = server())]
    pub(crate) name: String,
}

/// Whether a command asks before it changes files.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Confirmation {
    /// Show what would be done, and do nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The scope to write to [default: `user`, and `local` for servers of this project]
    #[arg(short, long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// Copy from the client's files in this project instead of those in your home
    #[arg(long)]
    pub(crate) project_files: bool,
    /// Move values that look like secrets to the secret store
    #[arg(long)]
    pub(crate) move_secrets: bool,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    /// The clients to copy from
    #[arg(value_parser = clients(), value_name = "CLIENT", required = true)]
    pub(crate) clients: Vec<ClientApp>,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The name of the entry in the client
    #[arg(long, default_value = "switchboard")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    /// The client to install in
    #[arg(value_parser = installable())]
    pub(crate) client: ClientApp,
    /// Flags of `connect`, after `--`
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) connect: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// The name of the entry in the client
    #[arg(long, default_value = "switchboard")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    /// The client to remove it from
    #[arg(value_parser = installable())]
    pub(crate) client: ClientApp,
}

fn installable() -> impl TypedValueParser<Value = ClientApp> {
    PossibleValuesParser::new(install::INSTALLABLE_CLIENTS.map(ClientApp::name))
        .try_map(|word| word.parse::<ClientApp>())
}

pub(super) fn clients() -> impl TypedValueParser<Value = ClientApp> {
    PossibleValuesParser::new(ClientApp::ALL.map(ClientApp::name))
        .try_map(|word| word.parse::<ClientApp>())
}

// === impl ScopeArg ===

impl ScopeArg {
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Local => Scope::Local,
            Self::Project => Scope::Project,
            Self::User => Scope::User,
        }
    }
}

// === impl SwitchScope ===

impl SwitchScope {
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Local => Scope::Local,
            Self::User => Scope::User,
        }
    }
}

// === impl Kind ===

impl Kind {
    /// The word in `type`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
        }
    }
}
