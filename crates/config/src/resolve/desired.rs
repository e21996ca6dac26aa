//! [`Desired`]: the desired state of one workspace.
//!
//! Used by `sources`, the supervisor in `core`, and every command that lists servers. It is built in
//! `resolve`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::approval_gate::UndecidedItem;
use crate::agent::SelectedAgent;
use crate::approval::{ApprovalItem, RedactedChange};
use crate::entry::{Entry, EntryCredential, QuestionSettings, ServerSignature, StartPolicy};
use crate::host_context::ResolveOptions;
use crate::policy::{AdmittedEntry, Policy};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemSeverity};
use crate::redact::redact_entry;
use crate::scope::Scope;
use crate::secret::{SecretProvider, SecretText};
use crate::settings::{
    ConditionalRule, ConnectorSource, HookEvent, IdentityProvider, LimitSettings, PermissionMode,
    PluginSettings, RuleAudience, ToolPattern,
};
use crate::source::{ConfigNode, LocatedValue, SourceLocation};

/// The desired state of one workspace: its servers, rules, hooks and problems.
#[derive(Debug, Clone)]
pub struct Desired {
    /// The project root.
    pub root: PathBuf,
    /// Every server to show, greatest precedence first. A name may occur twice: an entry that awaits
    /// approval, was rejected or is blocked stands beside the entry of a lower scope that is used meanwhile.
    pub servers: Vec<DesiredServer>,
    /// Entries that are replaced by another.
    pub shadowed: Vec<ShadowedEntry>,
    /// Permission rules.
    pub rules: PermissionRules,
    /// Hooks, in the order they run.
    pub hooks: Vec<EffectiveHook>,
    /// The other settings.
    pub settings: EffectiveSettings,
    /// The requested agent.
    pub agent: Option<SelectedAgent>,
    /// The items without a person's decision.
    pub pending: Vec<UndecidedItem>,
    /// All problems.
    pub problems: Vec<ConfigProblem>,
    /// Folders of `PATH` in which the commands of servers are not looked up: no mistake, but shown by
    /// `doctor`.
    pub skipped_folders: Vec<ConfigProblem>,
    /// Every file and folder that was read, whether it exists or not.
    pub watched: Vec<PathBuf>,
    /// The variables that entries name; their values are part of a workspace's identity.
    pub variables: BTreeSet<String>,
    /// Whether the administrator's servers are the only ones, so that none can be added.
    pub exclusive: bool,
    pub(crate) policy: Policy,
    /// The administrator's file that excludes other servers.
    pub(crate) exclusive_at: Option<SourceLocation>,
    /// The names of servers that settings disable.
    pub(crate) switched_off: BTreeMap<String, SourceLocation>,
}

/// One desired server.
#[derive(Debug, Clone)]
pub struct DesiredServer {
    /// The server's name.
    pub name: String,
    /// The scope of its entry.
    pub scope: Scope,
    /// Where its entry stands.
    pub at: SourceLocation,
    /// The server's state.
    pub state: ServerReadiness,
    /// The server's entry as written, with references to variables.
    pub template: ConfigNode,
    /// The folder in which its process starts, and to which its relative paths belong: the folder that its
    /// file was approved for, or home.
    pub working_dir: PathBuf,
    /// The item to approve or reject; absent if no approval is needed.
    pub item: Option<ApprovalItem>,
    /// The entry's signature; absent if variables or secrets have no values.
    pub signature: Option<ServerSignature>,
    /// The secrets in the entry of a ready server, by name.
    pub secrets: BTreeMap<String, SecretText>,
}

/// The state of a desired server. Only a ready server carries an expanded entry, and only a server that
/// policy admitted is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerReadiness {
    /// The server should be started.
    Ready(Box<AdmittedEntry>),
    /// The server is disabled.
    Disabled(NotReadyReason),
    /// A person has to decide first. If it was approved before, the changes are given, redacted;
    /// [`UndecidedItem`] has them as written.
    AwaitingApproval {
        /// The changes since the last approval.
        changes: Option<Vec<RedactedChange>>,
    },
    /// A person, or a file, rejected it.
    Rejected(NotReadyReason),
    /// Policy does not allow it.
    Blocked(NotReadyReason),
    /// The server's entry cannot be used.
    Invalid(NotReadyReason),
}

/// The reason for a state, and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReadyReason {
    /// The reason, in a few words.
    pub why: String,
    /// The rule, setting or member.
    pub by: Option<SourceLocation>,
}

/// An entry that is replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedEntry {
    /// The entry's name.
    pub name: String,
    /// The entry's scope.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
    /// The server in its place: one with its name, or an equal server under another name.
    pub behind: String,
}

/// Whether secrets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretVisibility {
    /// Secrets are redacted.
    Masked,
    /// Secrets are shown.
    Revealed,
}

/// The permission rules of all scopes that may set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules {
    /// Calls that are allowed without a question.
    pub allow: Vec<PermissionRule>,
    /// Calls that are denied.
    pub deny: Vec<PermissionRule>,
    /// Calls that always need a person's answer.
    pub ask: Vec<PermissionRule>,
    /// The mode for a call that no rule decides.
    pub mode: Option<LocatedValue<PermissionMode>>,
    /// The administrator's mode: a session may request a stricter mode, but not a more permissive one.
    pub managed_mode: Option<PermissionMode>,
    /// A command that helps the `auto` mode decide.
    pub classifier: Option<ClassifierCommand>,
    /// Where settings with rules or hooks cannot be understood. An unreadable rule may refuse calls, so no call is made.
    pub unclear: Option<SourceLocation>,
}

impl PermissionRules {
    /// The mode of a session: its own, otherwise that of the settings, otherwise `usual`; never more
    /// permissive than the administrator's.
    pub fn effective_mode(
        &self,
        session: Option<PermissionMode>,
        usual: PermissionMode,
    ) -> PermissionMode {
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
    /// The folder in which it starts.
    pub start_folder: PathBuf,
    /// Where it is configured.
    pub at: SourceLocation,
}

/// One permission rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The rule and its conditions in one line.
    pub text: String,
    /// The rule as written.
    pub written: ConditionalRule,
    /// The parsed pattern of its tools.
    pub tools: ToolPattern,
    /// The rule's scope.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveHook {
    /// The event on which it runs.
    pub event: HookEvent,
    /// A regular expression for the tool's name; absent matches all.
    pub matcher: Option<String>,
    /// The command line.
    pub command: String,
    /// The timeout.
    pub timeout: Duration,
    /// The folder in which it starts.
    pub start_folder: PathBuf,
    /// The hook's scope.
    pub scope: Scope,
    /// Where it is configured.
    pub at: SourceLocation,
}

/// Settings that are neither servers nor permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectiveSettings {
    /// Variables that are added to the caller's environment.
    pub env: BTreeMap<String, LocatedValue<String>>,
    /// The organisation's connector catalog.
    pub connectors: Option<LocatedValue<ConnectorSource>>,
    /// The organisation's identity provider.
    pub xaa_idp: Option<LocatedValue<IdentityProvider>>,
    /// The providers of secrets that are not in the secret store.
    pub secret_providers: BTreeMap<String, LocatedValue<SecretProvider>>,
    /// The administrators of `serve`, by the user and by the organisation's administrator.
    pub admins: Vec<LocatedValue<RuleAudience>>,
    /// Paths of native plugins.
    pub native_plugins: Vec<LocatedValue<String>>,
    /// How native plugins are run; the settings of a single plugin replace those of all.
    pub plugins: PluginSettings,
    /// The tools of an editor that are shown.
    pub ide_tools: Option<Vec<LocatedValue<String>>>,
    /// Who answers the questions of servers if the client cannot.
    pub questions: QuestionSettings,
    /// When servers are started whose entries do not say it.
    pub start: Option<StartPolicy>,
    /// Whether the gateway validates the arguments of its clients' calls.
    pub check_arguments: Option<bool>,
    /// Numeric limits.
    pub limits: LimitSettings,
}

// === impl PermissionRule ===

impl PermissionRule {
    /// A rule at a location; `tools` is its parsed pattern.
    pub fn new(
        written: ConditionalRule,
        tools: ToolPattern,
        scope: Scope,
        at: SourceLocation,
    ) -> Self {
        Self { text: written.to_string(), written, tools, scope, at }
    }
}

// === impl Desired ===

impl Desired {
    /// The servers to start.
    pub fn ready_servers(&self) -> impl Iterator<Item = (&DesiredServer, &Entry)> {
        self.servers.iter().filter_map(|server| server.entry().map(|entry| (server, entry)))
    }

    /// All servers with this name, greatest precedence first.
    pub fn servers_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a DesiredServer> {
        self.servers.iter().filter(move |server| server.name == name)
    }

    /// The problem that makes a server invalid.
    pub fn own_problem(&self, server: &DesiredServer) -> Option<&ConfigProblem> {
        let ServerReadiness::Invalid(reason) = &server.state else {
            return None;
        };
        self.problems.iter().find(|problem| {
            problem.server.as_deref() == Some(&server.name)
                && problem.at == reason.by
                && !matches!(
                    problem.kind,
                    ConfigProblemKind::UnknownMember | ConfigProblemKind::UrlWithoutType
                )
        })
    }

    /// Whether a file was unreadable, so that configured servers may be missing.
    pub fn is_incomplete(&self) -> bool {
        let hides_servers = |kind: ConfigProblemKind| {
            use ConfigProblemKind::{CannotInherit, FailedClosed, Malformed, Unreadable};
            matches!(kind, Unreadable | Malformed | FailedClosed | CannotInherit)
        };
        self.problems.iter().any(|problem| hides_servers(problem.kind))
    }

    /// Whether nothing is configured, so that the built-in server may be shown: no server, no unreadable
    /// file, no allow list of the administrator, and no argument that selects servers.
    pub fn is_unconfigured(&self, asked: &ResolveOptions) -> bool {
        self.servers.is_empty() && !self.exclusive && !self.is_incomplete() && !asked.is_selective()
    }

    /// Why the requested agent cannot be served: no agent has that name, or a server that it requires is not
    /// ready.
    pub fn agent_problem(&self) -> Option<&ConfigProblem> {
        self.problems.iter().find(|problem| {
            let is_required = problem.kind == ConfigProblemKind::RequiredServer;
            problem.kind == ConfigProblemKind::AgentNotFound
                || is_required && problem.severity == ProblemSeverity::Error
        })
    }

    /// The prompt of the requested agent, if its file is trusted.
    pub fn agent_prompt(&self) -> Option<&str> {
        let prompt = self.agent.as_ref()?.prompt.as_deref()?.trim();
        (!prompt.is_empty()).then_some(prompt)
    }
}

// === impl DesiredServer ===

impl DesiredServer {
    /// The expanded entry of a ready server.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.state {
            ServerReadiness::Ready(entry) => Some(entry),
            _ => None,
        }
    }

    /// The credential that the server of a ready entry is reached with.
    pub fn credential(&self) -> EntryCredential {
        let of = |entry| EntryCredential::of_entry(entry, &self.template);
        self.entry().map_or(EntryCredential::None, of)
    }

    /// Whether the server runs inside this process, or would if it were allowed. An entry in a file cannot say so.
    pub fn is_in_process(&self) -> bool {
        let says_so = self.template.get("type").and_then(ConfigNode::as_str) == Some("sdk");
        says_so && !matches!(self.state, ServerReadiness::Invalid(_))
    }

    /// The server's entry for showing: as written, never expanded.
    pub fn template_json(&self, secrets: SecretVisibility) -> Value {
        match secrets {
            SecretVisibility::Masked => redact_entry(&self.template.to_json()),
            SecretVisibility::Revealed => self.template.to_json(),
        }
    }
}

// === impl ServerReadiness ===

impl ServerReadiness {
    /// A stable word for machines.
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

    /// Why it is not ready, if there is more to say than the state's name.
    pub fn reason(&self) -> Option<&NotReadyReason> {
        match self {
            Self::Ready(_) | Self::AwaitingApproval { .. } => None,
            Self::Disabled(reason)
            | Self::Rejected(reason)
            | Self::Blocked(reason)
            | Self::Invalid(reason) => Some(reason),
        }
    }

    /// Whether an entry in this state hides entries with its name in lower scopes.
    pub(super) fn shadows(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::Disabled(_) | Self::Invalid(_))
    }
}

impl NotReadyReason {
    pub(super) fn new(why: impl Into<String>, by: Option<SourceLocation>) -> Self {
        Self { why: why.into(), by }
    }
}
