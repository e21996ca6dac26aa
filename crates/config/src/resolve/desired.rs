//! The result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::approval_gate::UndecidedItem;
use crate::agent::SelectedAgent;
use crate::approval::{ApprovalItem, RedactedChange};
use crate::entry::{Entry, QuestionSettings, ServerSignature};
use crate::host_context::ResolveOptions;
use crate::policy::{AdmittedEntry, Policy};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemSeverity};
use crate::redact::redact_entry;
use crate::scope::Scope;
use crate::settings::{
    ConnectorSource, HookEvent, IdentityProvider, Limits, Mode, PluginSettings, ToolPattern,
};
use crate::source::{ConfigNode, Located, SourceLocation};

/// Everything that is desired in one workspace.
#[derive(Debug, Clone)]
pub struct Desired {
    /// The project root.
    pub root: PathBuf,
    /// Every server that is shown, greatest precedence first. A name may stand here twice: an entry that awaits
    /// approval, was rejected or is blocked stands beside the one of a lower scope that counts meanwhile.
    pub servers: Vec<DesiredServer>,
    /// Entries that another one stands in for.
    pub shadowed: Vec<ShadowedEntry>,
    /// Permission rules.
    pub rules: PermissionRules,
    /// Hooks, in the order they run.
    pub hooks: Vec<Hook>,
    /// The other settings.
    pub settings: EffectiveSettings,
    /// The agent that was asked for.
    pub agent: Option<SelectedAgent>,
    /// What a person has not decided about yet.
    pub pending: Vec<UndecidedItem>,
    /// Everything that is wrong.
    pub problems: Vec<ConfigProblem>,
    /// Folders of `PATH` in which the commands of servers are not looked up: nothing wrong, and worth knowing for a
    /// closer look.
    pub skipped_folders: Vec<ConfigProblem>,
    /// Every file and folder that was looked at, whether it exists or not.
    pub watched: Vec<PathBuf>,
    /// The variables that entries name; with their values they tell two workspaces apart.
    pub variables: BTreeSet<String>,
    /// Whether the administrator's servers are the only ones, so that none can be added.
    pub exclusive: bool,
    pub(crate) policy: Policy,
    /// The administrator's file that leaves no room for other servers.
    pub(crate) exclusive_at: Option<SourceLocation>,
    /// The names that settings switch off.
    pub(crate) switched_off: BTreeMap<String, SourceLocation>,
}

/// One server.
#[derive(Debug, Clone)]
pub struct DesiredServer {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub scope: Scope,
    /// Where its entry stands.
    pub at: SourceLocation,
    /// What is to become of it.
    pub state: ServerReadiness,
    /// Its entry as written, with references to variables.
    pub template: ConfigNode,
    /// Where a process of it starts, and what its relative paths are relative to: the folder that its file was
    /// approved for, or home.
    pub working_dir: PathBuf,
    /// What a person approves or rejects; absent where nobody has to.
    pub item: Option<ApprovalItem>,
    /// What makes it the same server as another; absent where variables have no values.
    pub signature: Option<ServerSignature>,
}

/// What is to become of a server. Only one that is ready carries an expanded entry, and only one that policy admitted is
/// ready.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerReadiness {
    /// It is to be started.
    Ready(Box<AdmittedEntry>),
    /// It is switched off.
    Disabled(NotReadyReason),
    /// A person has to look at it first. Where it was approved before, the differences are given, without secrets;
    /// [`UndecidedItem`] has them as written.
    AwaitingApproval {
        /// What changed since.
        changes: Option<Vec<RedactedChange>>,
    },
    /// A person, or a file, refused it.
    Rejected(NotReadyReason),
    /// Policy does not let it run.
    Blocked(NotReadyReason),
    /// Its entry cannot be used.
    Invalid(NotReadyReason),
}

/// Why, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReadyReason {
    /// A few words.
    pub why: String,
    /// The rule, setting or member.
    pub by: Option<SourceLocation>,
}

/// An entry that another one stands in for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedEntry {
    /// Its name.
    pub name: String,
    /// Its scope.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
    /// The server that counts in its place: of the same name, or the same server under another one.
    pub behind: String,
}

/// Whether secrets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretVisibility {
    /// They are masked.
    Masked,
    /// They are shown.
    Revealed,
}

/// Permission rules of all scopes that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules {
    /// Calls that need no question.
    pub allow: Vec<PermissionRule>,
    /// Calls that never happen.
    pub deny: Vec<PermissionRule>,
    /// Calls that are always asked about.
    pub ask: Vec<PermissionRule>,
    /// What happens to a call that no rule decides.
    pub mode: Option<Located<Mode>>,
    /// The administrator's mode: a session may ask for a stricter one, not for one that lets more happen.
    pub managed_mode: Option<Mode>,
    /// A command that helps the `auto` mode decide.
    pub classifier: Option<ClassifierCommand>,
}

impl PermissionRules {
    /// The mode of a session: its own, else that of the settings, else `usual`; never one that lets more happen than the
    /// administrator's.
    pub fn effective_mode(&self, session: Option<Mode>, usual: Mode) -> Mode {
        let settings = self.mode.as_ref().map(|mode| mode.value);
        let mode = session.or(settings).unwrap_or(usual);
        self.managed_mode.filter(|managed| managed.rank() < mode.rank()).unwrap_or(mode)
    }
}

/// A command that classifies calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassifierCommand {
    /// The command line.
    pub command: String,
    /// Where it starts.
    pub start_folder: PathBuf,
    /// Where it stands.
    pub at: SourceLocation,
}

/// One permission rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// As written.
    pub text: String,
    /// As understood.
    pub rule: ToolPattern,
    /// Where it comes from.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// A regular expression for the tool's name; absent matches all.
    pub matcher: Option<String>,
    /// The command line.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it starts.
    pub start_folder: PathBuf,
    /// Where it comes from.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
}

/// Settings that are neither servers nor permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectiveSettings {
    /// Variables, on top of the caller's environment.
    pub env: BTreeMap<String, Located<String>>,
    /// The organisation's catalogue.
    pub connectors: Option<Located<ConnectorSource>>,
    /// The organisation's identity provider.
    pub xaa_idp: Option<Located<IdentityProvider>>,
    /// Native plugins.
    pub native_plugins: Vec<Located<String>>,
    /// How they are run; whatever is said of one plugin is all there is to say of it.
    pub plugins: PluginSettings,
    /// The tools of an editor that are shown.
    pub ide_tools: Option<Vec<Located<String>>>,
    /// Who answers the questions of servers where the client cannot.
    pub questions: QuestionSettings,
    /// Whether the gateway checks the arguments of its clients' calls.
    pub check_arguments: Option<bool>,
    /// Numbers.
    pub limits: Limits,
}

// === impl Desired ===

impl Desired {
    /// The servers to start.
    pub fn ready_servers(&self) -> impl Iterator<Item = (&DesiredServer, &Entry)> {
        self.servers.iter().filter_map(|server| server.entry().map(|entry| (server, entry)))
    }

    /// Everything shown under this name, greatest precedence first.
    pub fn servers_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a DesiredServer> {
        self.servers.iter().filter(move |server| server.name == name)
    }

    /// Whether a file could not be read, so that servers may be missing here which are configured there.
    pub fn is_incomplete(&self) -> bool {
        let hides_servers = |kind: ConfigProblemKind| {
            use ConfigProblemKind::{CannotInherit, FailedClosed, Malformed, Unreadable};
            matches!(kind, Unreadable | Malformed | FailedClosed | CannotInherit)
        };
        self.problems.iter().any(|problem| hides_servers(problem.kind))
    }

    /// Whether nothing at all is configured, so that the built-in server may be shown: no server, no file that could
    /// not be read, no administrator's list, and no argument that says what to use.
    pub fn is_unconfigured(&self, asked: &ResolveOptions) -> bool {
        self.servers.is_empty() && !self.exclusive && !self.is_incomplete() && !asked.is_selective()
    }

    /// Why the agent that was asked for cannot be served: there is none of that name, or a server that it requires is
    /// not to be started.
    pub fn agent_problem(&self) -> Option<&ConfigProblem> {
        self.problems.iter().find(|problem| {
            let is_required = problem.kind == ConfigProblemKind::RequiredServer;
            problem.kind == ConfigProblemKind::AgentNotFound
                || is_required && problem.severity == ProblemSeverity::Error
        })
    }

    /// What the agent that was asked for is told, if there is an agent and its file is trusted.
    pub fn agent_prompt(&self) -> Option<&str> {
        let prompt = self.agent.as_ref()?.prompt.as_deref()?.trim();
        (!prompt.is_empty()).then_some(prompt)
    }

    /// What an import compares with.
    pub fn signatures(&self) -> BTreeMap<String, ServerSignature> {
        let known = |server: &DesiredServer| {
            server.signature.clone().map(|signature| (server.name.clone(), signature))
        };
        self.servers.iter().filter_map(known).collect()
    }
}

// === impl Server ===

impl DesiredServer {
    /// The expanded entry, of one that is to be started.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.state {
            ServerReadiness::Ready(entry) => Some(entry),
            _ => None,
        }
    }

    /// Whether it runs inside this process, or would if it were let. An entry in a file that says so is invalid.
    pub fn is_in_process(&self) -> bool {
        let says_so = self.template.get("type").and_then(ConfigNode::as_str) == Some("sdk");
        says_so && !matches!(self.state, ServerReadiness::Invalid(_))
    }

    /// Its entry for showing: as written, never expanded.
    pub fn template_json(&self, secrets: SecretVisibility) -> Value {
        match secrets {
            SecretVisibility::Masked => redact_entry(&self.template.to_json()),
            SecretVisibility::Revealed => self.template.to_json(),
        }
    }
}

// === impl ServerReadiness ===

impl ServerReadiness {
    /// A stable word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Disabled(_) => "disabled",
            Self::AwaitingApproval { .. } => "awaiting-approval",
            Self::Rejected(_) => "rejected",
            Self::Blocked(_) => "blocked",
            Self::Invalid(_) => "invalid",
        }
    }

    /// Why it is not to be started, where there is more to say than its name.
    pub fn reason(&self) -> Option<&NotReadyReason> {
        match self {
            Self::Ready(_) | Self::AwaitingApproval { .. } => None,
            Self::Disabled(reason)
            | Self::Rejected(reason)
            | Self::Blocked(reason)
            | Self::Invalid(reason) => Some(reason),
        }
    }

    /// Whether an entry in this state stands in for those of its name in lower scopes.
    pub(super) fn shadows(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::Disabled(_) | Self::Invalid(_))
    }
}

impl NotReadyReason {
    pub(super) fn new(why: impl Into<String>, by: Option<SourceLocation>) -> Self {
        Self { why: why.into(), by }
    }
}
