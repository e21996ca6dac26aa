//! Remembered answers to permission questions, and how long each one counts.
//!
//! Used by `dispatch::consent` (recall, remember), by `switchboard permissions` and by the hub's admin page (list,
//! forget). Session answers live in memory and are bounded: the oldest session is forgotten, and asked again. Other
//! answers are stored in user state (`permission::store`). A lookup compares the stamp of that file, and reads the
//! file only where another process has changed it, so that an answer taken back in any process counts from the next
//! call on.
//!
//! A yes counts for exactly the server that was asked about, identified by the digest of its signature, for exactly the
//! question, and for the principal whose call was asked about. A no counts for every server of that name: changing a
//! server's command must not be a way around it. A no of the person who runs the engine counts for every principal.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use switchboard_config::Scope;

use super::AskReason;
pub use super::store::AnswerStoreError;
use super::store::{AnswerStore, FileStamp, StoredAnswer, StoredAnswers};
use crate::EngineProblem;
use crate::catalog::{ConfiguredServer, NameCollisions, NameStyle};

/// How many sessions have their answers kept.
const MAX_SESSIONS: usize = 1024;
/// How many answers of one session are kept.
const MAX_ANSWERS_PER_SESSION: usize = 1024;

/// For how long an answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerLifetime {
    /// Yes, this time.
    Once,
    /// Yes, until the session ends.
    Session,
    /// Yes, in this project.
    Project,
    /// Yes, everywhere.
    Always,
    /// No, everywhere and for good.
    Never,
}

/// The tool that an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerTarget<'a> {
    /// The id of the principal whose call it is.
    pub principal: &'a str,
    /// The root of the project.
    pub project: &'a Path,
    /// The server's name, as configured.
    pub server: &'a str,
    /// The digest of the server's command or URL.
    pub signature: &'a str,
    /// The tool's name, as the server lists it.
    pub tool: &'a str,
}

/// The remembered answers about one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolMemory {
    no: bool,
    yes: Vec<(AskReason, AnswerLifetime)>,
}

/// An answer that lasts beyond its session, for people to inspect and take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastingAnswer {
    /// The id of this answer, equal in every process.
    pub id: String,
    /// For how long the answer counts: for this project, always, or never.
    pub answer: AnswerLifetime,
    /// The principal for whose calls the answer counts; `None` for the person who runs the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The root of the only project in which the answer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The server's name, as configured.
    pub server: String,
    /// The tool's name, as the server lists it.
    pub tool: String,
    /// The question that was answered.
    pub question: AskReason,
}

/// All remembered answers. A handle: clones share them.
#[derive(Debug, Clone)]
pub struct PermissionMemory {
    /// The file of lasting answers; without one they last as long as this value.
    store: Option<AnswerStore>,
    shared: Arc<Mutex<MemoryState>>,
}

#[derive(Debug)]
struct MemoryState {
    kept: StoredAnswers,
    /// The stamp of the file when `kept` was read from it.
    stamp: Option<FileStamp>,
    sessions: SessionAnswers,
}

#[derive(Debug, Default)]
struct SessionAnswers {
    /// Session ids, oldest first.
    order: VecDeque<String>,
    answers: HashMap<String, VecDeque<StoredAnswer>>,
}

// === impl PermissionMemory ===

impl PermissionMemory {
    /// Opens the answers in user state. A file that cannot be read is a problem and counts as empty. Reads a small
    /// file: call it where blocking is fine.
    pub fn open(state_dir: &Path) -> (Self, Vec<EngineProblem>) {
        let store = AnswerStore::new(state_dir);
        let stamp = store.stamp();
        let (kept, problems) = match store.load() {
            Ok(kept) => (kept, Vec::new()),
            Err(error) => (StoredAnswers::default(), vec![error.problem()]),
        };
        let shared = MemoryState { kept, stamp, sessions: SessionAnswers::default() };
        (Self { store: Some(store), shared: Arc::new(Mutex::new(shared)) }, problems)
    }

    /// Makes a memory without a file: lasting answers last as long as this value.
    pub fn in_memory() -> Self {
        let shared = MemoryState {
            kept: StoredAnswers::default(),
            stamp: None,
            sessions: SessionAnswers::default(),
        };
        Self { store: None, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Returns the remembered answers about a tool, in this session.
    pub fn recall(&self, session: &str, target: &AnswerTarget<'_>) -> ToolMemory {
        self.follow_file();
        let shared = self.shared();
        let mut remembered = ToolMemory::default();
        let of_session = shared.sessions.answers.get(session).into_iter().flatten();
        for answer in of_session.chain(shared.kept.about(target.server)) {
            if answer.is_about(target) {
                remembered.add(answer);
            }
        }
        remembered
    }

    /// Remembers an answer to a question. Reads the file again first, so that answers of other processes stay in it
    /// and count from now on.
    pub async fn remember(
        &self,
        session: &str,
        target: &AnswerTarget<'_>,
        question: AskReason,
        answer: AnswerLifetime,
    ) -> Result<(), AnswerStoreError> {
        let answer = StoredAnswer::new(target, question, answer)?;
        match answer.remember {
            AnswerLifetime::Once => Ok(()),
            AnswerLifetime::Session => {
                self.shared().sessions.add(session, answer);
                Ok(())
            }
            AnswerLifetime::Project | AnswerLifetime::Always | AnswerLifetime::Never => {
                self.keep(answer).await
            }
        }
    }

    /// Forgets the answers of a session that ended.
    pub fn forget_session(&self, session: &str) {
        self.shared().sessions.forget(session);
    }

    /// Returns every lasting answer, by server and tool.
    pub fn lasting_answers(&self) -> Vec<LastingAnswer> {
        self.follow_file();
        self.shared().kept.lasting_answers()
    }

    /// Takes back the lasting answers that `is_meant` picks, and returns them. From the next call on the question
    /// is asked again, in every process of this user.
    pub async fn forget(
        &self,
        is_meant: impl Fn(&LastingAnswer) -> bool + Send + 'static,
    ) -> Result<Vec<LastingAnswer>, AnswerStoreError> {
        let Some(store) = self.store.clone() else {
            return Ok(self.shared().kept.remove_matching(is_meant));
        };
        let memory = self.clone();
        let forget = move || {
            store.remove_matching(is_meant, |kept, stamp| memory.replace_stored(kept, stamp))
        };
        tokio::task::spawn_blocking(forget).await?
    }

    async fn keep(&self, answer: StoredAnswer) -> Result<(), AnswerStoreError> {
        let Some(store) = self.store.clone() else {
            self.shared().kept.add(answer);
            return Ok(());
        };
        let memory = self.clone();
        let keep = move || store.add(answer, |kept, stamp| memory.replace_stored(kept, stamp));
        tokio::task::spawn_blocking(keep).await?
    }

    /// Reads the file again where another process has changed it. A file that became unreadable changes nothing: a
    /// *never* must not end because a disk fails.
    fn follow_file(&self) {
        let Some(store) = &self.store else { return };
        let stamp = store.stamp();
        if self.shared().stamp == stamp {
            return;
        }
        match store.load() {
            Ok(kept) => self.replace_stored(kept, stamp),
            Err(error) => {
                tracing::warn!(%error, "remembered answers stay as they were");
                self.shared().stamp = stamp;
            }
        }
    }

    fn replace_stored(&self, kept: StoredAnswers, stamp: Option<FileStamp>) {
        let mut shared = self.shared();
        shared.kept = kept;
        shared.stamp = stamp;
    }

    fn shared(&self) -> parking_lot::MutexGuard<'_, MemoryState> {
        self.shared.lock()
    }
}

// === impl SessionAnswers ===

impl SessionAnswers {
    fn add(&mut self, session: &str, answer: StoredAnswer) {
        if !self.answers.contains_key(session) {
            self.make_room();
            self.order.push_back(session.to_owned());
        }
        let answers = self.answers.entry(session.to_owned()).or_default();
        answers.retain(|known| *known != answer);
        if answers.len() == MAX_ANSWERS_PER_SESSION {
            answers.pop_front();
        }
        answers.push_back(answer);
    }

    fn make_room(&mut self) {
        if self.order.len() == MAX_SESSIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }

    fn forget(&mut self, session: &str) {
        if self.answers.remove(session).is_some() {
            self.order.retain(|known| known != session);
        }
    }
}

// === impl LastingAnswer ===

impl LastingAnswer {
    /// Whether `name` means this answer: its id, its server, `server/tool`, or `mcp__server__tool` as in questions
    /// and rules.
    pub fn is_named(&self, name: &str) -> bool {
        let of_tool = || name.strip_prefix(&*self.server)?.strip_prefix('/');
        self.id == name
            || self.server == name
            || of_tool() == Some(&*self.tool)
            || self.full_names().any(|full| full == name)
    }

    /// `mcp__server__tool`, once for each scope, since scopes normalise a server's name differently.
    fn full_names(&self) -> impl Iterator<Item = String> {
        let name = |scope| {
            let server = ConfiguredServer { name: &self.server, scope };
            let server = NameCollisions::among_servers([server]).server(server);
            let labels = server.labels([&*self.tool]);
            labels.into_iter().flat_map(|label| [label.full_name(), label.name(NameStyle::Full)])
        };
        [Scope::User, Scope::Connectors].into_iter().flat_map(name)
    }
}

// === impl ToolMemory ===

impl ToolMemory {
    /// An empty memory.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A memory in which a person said yes to this question.
    pub fn with_yes(question: AskReason, answer: AnswerLifetime) -> Self {
        Self { no: false, yes: vec![(question, answer)] }
    }

    /// A memory in which a person said no for good.
    pub fn with_no() -> Self {
        Self { no: true, yes: Vec::new() }
    }

    /// Whether a person said no for good.
    pub fn has_no(&self) -> bool {
        self.no
    }

    /// Whether a person said yes to some question about the tool.
    pub fn has_yes(&self) -> bool {
        !self.yes.is_empty()
    }

    /// For how long a person said yes to this question, if one did.
    pub fn lifetime_of_yes(&self, question: &AskReason) -> Option<AnswerLifetime> {
        self.yes.iter().find(|(answered, _)| answered == question).map(|(_, answer)| *answer)
    }

    fn add(&mut self, answer: &StoredAnswer) {
        match answer.remember {
            AnswerLifetime::Never => self.no = true,
            lasting => self.yes.push((answer.question.clone(), lasting)),
        }
    }
}

// === impl AnswerLifetime ===

impl AnswerLifetime {
    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Project => "project",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::LOCAL_PRINCIPAL;

    fn answer(tool: &str) -> StoredAnswer {
        let target = AnswerTarget {
            principal: LOCAL_PRINCIPAL,
            project: Path::new("/p"),
            server: "s",
            signature: "x",
            tool,
        };
        StoredAnswer::new(&target, AskReason::Undecided, AnswerLifetime::Session).unwrap()
    }

    #[test]
    fn sessions_and_their_answers_are_bounded_and_the_oldest_go_first() {
        let mut sessions = SessionAnswers::default();
        for number in 0..=MAX_SESSIONS {
            sessions.add(&number.to_string(), answer("t"));
        }
        assert_eq!((sessions.answers.len(), sessions.order.len()), (MAX_SESSIONS, MAX_SESSIONS));
        assert!(!sessions.answers.contains_key("0") && sessions.answers.contains_key("1"));

        for number in 0..=MAX_ANSWERS_PER_SESSION {
            sessions.add("1", answer(&number.to_string()));
        }
        let kept = &sessions.answers["1"];
        assert_eq!(kept.len(), MAX_ANSWERS_PER_SESSION);
        assert!(!kept.contains(&answer("0")) && kept.contains(&answer("1")));
    }

    #[test]
    fn a_session_that_ended_leaves_nothing() {
        let mut sessions = SessionAnswers::default();
        sessions.add("a", answer("t"));
        sessions.add("a", answer("t"));
        assert_eq!(sessions.answers["a"].len(), 1);
        sessions.forget("a");
        sessions.forget("b");
        assert!(sessions.answers.is_empty() && sessions.order.is_empty());
    }
}
