//! The file of lasting permission answers in user state: private, replaced atomically, changed under a lock.
//!
//! Used by `permission::memory`. A file that cannot be parsed is never overwritten: it is moved aside first. Which
//! answer counts for a call is decided in `permission::memory`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_config::private_file::{
    FileLock, FileLockError, create_private_folder, replace_private_file,
};

use super::{AnswerLifetime, AnswerTarget, AskReason, LastingAnswer};
use crate::principal::LOCAL_PRINCIPAL;
use crate::{EngineProblem, EngineProblemKind};

/// The version of the file format.
const FILE_VERSION: u32 = 1;
/// How many answers the file may hold; more than a person gives.
const MAX_ANSWERS: usize = 10_000;
/// How long another process may hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Why answers could not be read or stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerStoreError {
    /// Reading or writing failed.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file does not hold answers.
    #[error(
        "`{}` cannot be understood, so no answer in it counts; it is moved aside when the next one is kept",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// The file has another version.
    #[error(
        "`{}` is of version {found}, not {FILE_VERSION}, so no answer in it counts; it is moved aside when the next \
         one is kept",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
    },
    /// Another process holds the lock.
    #[error("`{}` is in use by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file holds too many answers.
    #[error("`{}` holds {MAX_ANSWERS} answers already, the maximum", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The path of the project is not UTF-8, so it cannot be stored.
    #[error("the project's path `{}` is not text, so nothing is remembered for it", path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// The runtime was shut down.
    #[error("storing the answer was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// One stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredAnswer {
    #[serde(rename = "answer")]
    pub(super) remember: AnswerLifetime,
    /// The principal whose call was asked about; `None` for the local one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    server: String,
    signature: String,
    tool: String,
    pub(super) question: AskReason,
}

/// The stored answers, by server.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredAnswers(HashMap<String, Vec<StoredAnswer>>);

/// The folder and file of the answers.
#[derive(Debug, Clone)]
pub(super) struct AnswerStore {
    folder: PathBuf,
}

/// The stamp of the file. Each change replaces the file, so that the stamp changes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

#[derive(Serialize, Deserialize)]
struct AnswerFile {
    version: u32,
    answers: Vec<StoredAnswer>,
}

// === impl AnswerStore ===

impl AnswerStore {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.to_owned() }
    }

    /// Returns the stored answers; empty if there is no file.
    pub(super) fn load(&self) -> Result<StoredAnswers, AnswerStoreError> {
        self.read().map(StoredAnswers::from)
    }

    /// Returns the stamp of the file; `None` if there is no file.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let found = fs::metadata(self.path()).ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(FileStamp { inode: found.ino(), bytes: found.len(), modified })
    }

    /// Adds an answer, and drops stored answers that contradict it.
    pub(super) fn add(
        &self,
        answer: StoredAnswer,
        publish: impl FnOnce(StoredAnswers, Option<FileStamp>),
    ) -> Result<(), AnswerStoreError> {
        let edit = |answers: &mut Vec<StoredAnswer>| {
            answers.retain(|known| *known != answer && !known.contradicts(&answer));
            answers.push(answer);
        };
        self.change(edit, publish)
    }

    /// Drops every answer that `is_meant` picks, and returns them.
    pub(super) fn remove_matching(
        &self,
        is_meant: impl Fn(&LastingAnswer) -> bool,
        publish: impl FnOnce(StoredAnswers, Option<FileStamp>),
    ) -> Result<Vec<LastingAnswer>, AnswerStoreError> {
        let mut dropped = Vec::new();
        let edit = |answers: &mut Vec<StoredAnswer>| {
            dropped = remove_matching(answers, is_meant);
        };
        self.change(edit, publish)?;
        Ok(dropped)
    }

    /// Reads, changes and writes the file under the lock, and publishes the answers before it unlocks: of two
    /// changes the later one is published last. Blocks while another process holds the lock, so not for async code.
    fn change(
        &self,
        edit: impl FnOnce(&mut Vec<StoredAnswer>),
        publish: impl FnOnce(StoredAnswers, Option<FileStamp>),
    ) -> Result<(), AnswerStoreError> {
        let path = self.path();
        self.make_folder()?;
        let _lock = self.lock()?;
        let mut answers = match self.read() {
            Ok(answers) => answers,
            Err(AnswerStoreError::Corrupt { .. } | AnswerStoreError::Version { .. }) => {
                self.move_aside()?;
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        edit(&mut answers);
        if answers.len() > MAX_ANSWERS {
            return Err(AnswerStoreError::Full { path });
        }
        let content = AnswerFile { version: FILE_VERSION, answers };
        self.write(&content).map_err(io_error("write", &path))?;
        publish(StoredAnswers::from(content.answers), self.stamp());
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("answers.json")
    }

    fn read(&self) -> Result<Vec<StoredAnswer>, AnswerStoreError> {
        let path = self.path();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error("read", &path)(source)),
        };
        match serde_json::from_slice(&text) {
            Ok(AnswerFile { version: FILE_VERSION, answers }) => Ok(answers),
            Ok(AnswerFile { version: found, .. }) => Err(AnswerStoreError::Version { path, found }),
            Err(source) => Err(AnswerStoreError::Corrupt { path, source }),
        }
    }

    fn write(&self, content: &AnswerFile) -> io::Result<()> {
        let text = serde_json::to_string_pretty(content)? + "\n";
        replace_private_file(&self.path(), text.as_bytes())
    }

    /// Moves the file to a name that is free, so that files that were moved aside before stay too.
    fn move_aside(&self) -> Result<(), AnswerStoreError> {
        let path = self.path();
        let name = |number: u32| match number {
            1 => "answers.json.corrupt".to_owned(),
            more => format!("answers.json.corrupt-{more}"),
        };
        let free = (1..=u32::MAX).map(|number| self.folder.join(name(number)));
        let Some(aside) = free.into_iter().find(|aside| !aside.exists()) else {
            return Err(AnswerStoreError::Full { path });
        };
        tracing::warn!(aside = %aside.display(), "answers that cannot be understood are moved aside");
        fs::rename(&path, aside).map_err(io_error("move aside", &path))
    }

    fn make_folder(&self) -> Result<(), AnswerStoreError> {
        create_private_folder(&self.folder).map_err(io_error("create", &self.folder))
    }

    fn lock(&self) -> Result<FileLock, AnswerStoreError> {
        let path = self.folder.join("answers.lock");
        FileLock::acquire_within(&path, LOCK_TIMEOUT).map_err(|error| match error {
            FileLockError::Contended => AnswerStoreError::Locked { path: path.clone() },
            FileLockError::Io(source) => io_error("lock", &path)(source),
        })
    }
}

fn remove_matching(
    answers: &mut Vec<StoredAnswer>,
    is_meant: impl Fn(&LastingAnswer) -> bool,
) -> Vec<LastingAnswer> {
    let mut dropped = Vec::new();
    answers.retain(|answer| {
        let lasting = answer.to_lasting();
        let is_kept = !is_meant(&lasting);
        if !is_kept {
            dropped.push(lasting);
        }
        is_kept
    });
    dropped
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AnswerStoreError {
    let path = path.to_owned();
    move |source| AnswerStoreError::Io { doing, path, source }
}

// === impl StoredAnswer ===

impl StoredAnswer {
    pub(super) fn new(
        target: &AnswerTarget<'_>,
        question: AskReason,
        remember: AnswerLifetime,
    ) -> Result<Self, AnswerStoreError> {
        let project = match (remember, target.project.to_str()) {
            (AnswerLifetime::Project, None) => {
                return Err(AnswerStoreError::PathNotText { path: target.project.to_owned() });
            }
            (AnswerLifetime::Project, Some(path)) => Some(path.to_owned()),
            _ => None,
        };
        Ok(Self {
            remember,
            principal: (target.principal != LOCAL_PRINCIPAL).then(|| target.principal.to_owned()),
            project,
            server: target.server.to_owned(),
            signature: target.signature.to_owned(),
            tool: target.tool.to_owned(),
            question,
        })
    }

    /// The answer as people see it. Its id is made from all members, so that every process computes an equal one.
    fn to_lasting(&self) -> LastingAnswer {
        let Self { remember, principal, project, server, signature, tool, question } = self;
        let mut digest = Sha256::new();
        let (kind, asked) = match question {
            AskReason::Undecided => ("undecided", ""),
            AskReason::Rule(text) => ("rule", text.as_str()),
        };
        let project_text = project.as_deref().unwrap_or_default();
        let parts = [remember.word(), project_text, server, signature, tool, kind, asked];
        for text in parts.into_iter().chain(principal.as_deref()) {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        let digest = digest.finalize();
        let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        LastingAnswer {
            id: format!("{number:08x}"),
            answer: *remember,
            principal: principal.clone(),
            project: project.clone(),
            server: server.clone(),
            tool: tool.clone(),
            question: question.clone(),
        }
    }

    /// Whether one answer is a no and the other a yes, about one tool and of one principal.
    fn contradicts(&self, other: &Self) -> bool {
        let is_no = |answer: &Self| answer.remember == AnswerLifetime::Never;
        self.principal == other.principal
            && self.server == other.server
            && self.tool == other.tool
            && is_no(self) != is_no(other)
    }

    /// Whether the answer counts for a call. A no counts for every server of that name, and a no of the local
    /// principal for all principals.
    pub(super) fn is_about(&self, target: &AnswerTarget<'_>) -> bool {
        let same_tool = self.server == target.server && self.tool == target.tool;
        let is_no = self.remember == AnswerLifetime::Never;
        let same_server = is_no || self.signature == target.signature;
        let same_principal = match &self.principal {
            Some(principal) => principal == target.principal,
            None => is_no || target.principal == LOCAL_PRINCIPAL,
        };
        let here = match (self.remember, &self.project) {
            (AnswerLifetime::Project, None) => false,
            (AnswerLifetime::Project, Some(project)) => target.project.to_str() == Some(project),
            _ => true,
        };
        same_tool && same_server && same_principal && here
    }
}

// === impl StoredAnswers ===

impl StoredAnswers {
    pub(super) fn add(&mut self, answer: StoredAnswer) {
        let answers = self.0.entry(answer.server.clone()).or_default();
        answers.retain(|known| *known != answer && !known.contradicts(&answer));
        answers.push(answer);
    }

    pub(super) fn remove_matching(
        &mut self,
        is_meant: impl Fn(&LastingAnswer) -> bool,
    ) -> Vec<LastingAnswer> {
        self.0.values_mut().flat_map(|answers| remove_matching(answers, &is_meant)).collect()
    }

    /// Returns the answers, by server and tool.
    pub(super) fn lasting_answers(&self) -> Vec<LastingAnswer> {
        let mut lasting: Vec<_> = self.0.values().flatten().map(StoredAnswer::to_lasting).collect();
        lasting.sort_by(|one, other| {
            (&one.server, &one.tool, &one.id).cmp(&(&other.server, &other.tool, &other.id))
        });
        lasting
    }

    pub(super) fn about(&self, server: &str) -> impl Iterator<Item = &StoredAnswer> {
        self.0.get(server).into_iter().flatten()
    }
}

impl From<Vec<StoredAnswer>> for StoredAnswers {
    fn from(answers: Vec<StoredAnswer>) -> Self {
        let mut kept: HashMap<String, Vec<StoredAnswer>> = HashMap::new();
        // The file may hold anything; answers for one call or one session do not belong there.
        let lasting = |answer: &StoredAnswer| {
            !matches!(answer.remember, AnswerLifetime::Once | AnswerLifetime::Session)
        };
        for answer in answers.into_iter().filter(lasting) {
            kept.entry(answer.server.clone()).or_default().push(answer);
        }
        Self(kept)
    }
}

// === impl AnswerStoreError ===

impl AnswerStoreError {
    /// Returns the error as a problem to show.
    pub fn problem(&self) -> EngineProblem {
        let cause = std::error::Error::source(self);
        let message = match cause {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        };
        EngineProblem::new(EngineProblemKind::Storage, message)
    }
}
