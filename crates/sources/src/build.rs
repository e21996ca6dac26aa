//! The snapshot builder: reads all files and returns the next snapshot if anything changed.
//!
//! Used by `task`, on a blocking thread. It does not wait for changes (`task`, `files::watch`) and does not
//! fetch the connector catalog (`connectors::refresh`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::{
    ConnectorSource, Desired, DynamicConfig, HostContext, LocatedValue, ResolveOptions,
    resolve_desired,
};
use switchboard_core::ide;
use tokio::sync::{Notify, oneshot};

use super::broken_files::{EffectiveState, SourcesReading, mark_waiting, narrow_desired};
use super::connectors::{
    ConnectorCatalog, ConnectorRequest, FetchOutcome, effective_connector_source,
};
use super::files::{FileStates, FileWatch};
use super::options::SourcesOptions;
use super::problem::SourceProblem;
use super::snapshot::DesiredSnapshot;

/// How often one build reads everything again while files keep changing.
const MAX_READ_ROUNDS: usize = 8;

/// Reads, watches and compares files. All methods may block.
pub(super) struct SnapshotBuilder {
    surroundings: HostContext,
    asked: ResolveOptions,
    /// The paths whose existence makes a folder the project root.
    marks: BTreeSet<PathBuf>,
    watch: FileWatch,
    catalogue: ConnectorCatalog,
    /// The last reading without a newly broken file.
    good: Option<SourcesReading>,
    handed: Option<LastSnapshot>,
    /// Files to look at before the first read.
    known_files: BTreeSet<PathBuf>,
    emptied: Duration,
    emptied_since: Option<Instant>,
}

/// The last published snapshot, with its reading.
struct LastSnapshot {
    reading: SourcesReading,
    problems: Vec<SourceProblem>,
    generation: u64,
}

/// The result of one build.
pub(super) struct BuildOutcome {
    /// The snapshot to publish, if anything changed.
    pub(super) snapshot: Option<DesiredSnapshot>,
    /// The connector catalog to fetch.
    pub(super) wanted: Option<ConnectorRequest>,
    /// Whether the operating system reports changes.
    pub(super) is_told: bool,
    /// Whether another build is due soon even without a reported change.
    pub(super) is_unfinished: bool,
}

// === impl SnapshotBuilder ===

impl SnapshotBuilder {
    pub(super) fn new(
        surroundings: HostContext,
        asked: ResolveOptions,
        options: &SourcesOptions,
        wake: Arc<Notify>,
    ) -> Self {
        let folders = surroundings.cwd.ancestors();
        let marks =
            folders.flat_map(|folder| [".git", ".switchboard"].map(|mark| folder.join(mark)));
        Self {
            marks: marks.collect(),
            surroundings,
            asked,
            watch: FileWatch::new(options.watching, wake),
            catalogue: ConnectorCatalog::default(),
            good: None,
            handed: None,
            known_files: options.known_files.iter().cloned().collect(),
            emptied: options.timing.emptied,
            emptied_since: None,
        }
    }

    /// Reads everything, with the connector catalog from the last fetch.
    pub(super) fn build_next(&mut self, outcome: &FetchOutcome) -> BuildOutcome {
        self.catalogue.update(outcome);
        let reading = self.read();
        let is_being_written = self.is_being_written(&reading.look);
        let is_unfinished = is_being_written || !reading.is_settled;
        let snapshot = if is_being_written { None } else { self.hand_over(reading) };
        BuildOutcome {
            snapshot,
            wanted: self.connector_request(),
            is_told: self.watch.has_system_watch(),
            is_unfinished,
        }
    }

    /// Stops watching. The returned receiver completes when the watcher's thread has ended.
    pub(super) fn close(&mut self) -> Option<oneshot::Receiver<()>> {
        self.watch.close()
    }

    /// Reads until no file changes during the read. Files are looked at before and after it, and later
    /// changes are reported by the watch.
    fn read(&mut self) -> SourcesReading {
        let mut paths = self.watched_paths(None);
        paths.append(&mut self.known_files);
        let mut round = 1;
        loop {
            let reading = self.read_once(&paths);
            if reading.is_settled || round == MAX_READ_ROUNDS {
                return reading;
            }
            paths = self.watched_paths(Some(&reading.desired));
            round += 1;
        }
    }

    /// Reads the configuration once. The reading is settled if `expected` were the files to read, and none changed
    /// meanwhile.
    fn read_once(&mut self, expected: &BTreeSet<PathBuf>) -> SourcesReading {
        let before = FileStates::read(expected, &self.marks);
        let mut desired = resolve_desired(&self.surroundings, &self.request_with_connectors());
        let editor_problems = ide::add_editor(&mut desired, &self.surroundings, &self.asked);
        let paths = self.watched_paths(Some(&desired));
        let leads_same_way = self.watch.follow(&paths, &self.marks);
        let look = FileStates::read(&paths, &self.marks);
        let mut reading = SourcesReading {
            is_settled: before == look && leads_same_way,
            desired,
            look,
            catalogue: self.catalogue.text().cloned(),
            editor_problems,
        };
        reading.is_settled &= self.follow_catalogue(&reading);
        reading
    }

    /// The paths to watch: those of the present reading, and those of the last good one, whose broken file
    /// may name more.
    fn watched_paths(&self, now: Option<&Desired>) -> BTreeSet<PathBuf> {
        let good = self.good.as_ref().map(|reading| &reading.desired);
        let all = now.into_iter().chain(good);
        all.flat_map(|desired| desired.watched.iter().cloned()).collect()
    }

    fn request_with_connectors(&self) -> ResolveOptions {
        let mut asked = self.asked.clone();
        asked.connectors.extend(self.catalogue.fetched());
        asked
    }

    /// Whether the connector catalog is still the configured one; if not, loads the cached copy of the
    /// configured one.
    fn follow_catalogue(&mut self, reading: &SourcesReading) -> bool {
        let (desired, _) = self.effective_desired(reading);
        let source = self.connector_source(&desired).cloned();
        self.catalogue.follow(source, &self.surroundings.state_dir)
    }

    /// The configured connector catalog, unless policy or arguments exclude it.
    fn connector_source<'a>(
        &self,
        desired: &'a Desired,
    ) -> Option<&'a LocatedValue<ConnectorSource>> {
        effective_connector_source(desired, &self.asked)
    }

    fn connector_request(&self) -> Option<ConnectorRequest> {
        let (desired, _) = self.effective_desired(&self.handed.as_ref()?.reading);
        let source = &self.connector_source(&desired)?.value;
        Some(ConnectorRequest::new(source, &self.surroundings, &desired.settings.env))
    }

    fn effective_desired<'a>(
        &'a self,
        reading: &'a SourcesReading,
    ) -> (Cow<'a, Desired>, Vec<SourceProblem>) {
        let Some(good) = &self.good else {
            return (Cow::Borrowed(&reading.desired), Vec::new());
        };
        match reading.effective_state(good) {
            EffectiveState::Present => (Cow::Borrowed(&reading.desired), Vec::new()),
            EffectiveState::LastGood(files) => {
                let problems = files.into_iter().map(|file| SourceProblem::BrokenFile { file });
                (Cow::Borrowed(&good.desired), problems.collect())
            }
            EffectiveState::Changed(files) if self.are_servers_only(&files) => {
                let desired = mark_waiting(&reading.desired, &good.desired, &files);
                let problems = files.into_iter().map(|file| SourceProblem::Waiting { file });
                (Cow::Owned(desired), problems.collect())
            }
            EffectiveState::Changed(files) => {
                let desired = narrow_desired(&reading.desired, &good.desired, &files);
                let problems = files.into_iter().map(|file| SourceProblem::Narrowed { file });
                (Cow::Owned(desired), problems.collect())
            }
        }
    }

    /// Whether these files can hold only servers, so that no rule is lost with them.
    fn are_servers_only(&self, files: &BTreeSet<PathBuf>) -> bool {
        let is_given =
            |file: &PathBuf| self.asked.dynamic.contains(&DynamicConfig::File(file.clone()));
        let mut files = files.iter();
        files.all(|file| file.ends_with(".mcp.json") && !is_given(file))
    }

    /// Whether a file was emptied within the last `emptied` time and is probably being written. Files of the
    /// administrator and of user state take effect at once.
    fn is_being_written(&mut self, look: &FileStates) -> bool {
        let ours = [&self.surroundings.managed_dir, &self.surroundings.state_dir];
        let handed = self.handed.as_ref();
        let is_emptied = handed.is_some_and(|handed| {
            let mut emptied = look.emptied_since(&handed.reading.look);
            emptied.any(|file| !ours.iter().any(|folder| file.starts_with(folder)))
        });
        if !is_emptied {
            self.emptied_since = None;
            return false;
        }
        let since = self.emptied_since.get_or_insert_with(Instant::now);
        since.elapsed() < self.emptied
    }

    fn hand_over(&mut self, reading: SourcesReading) -> Option<DesiredSnapshot> {
        let (desired, held) = self.effective_desired(&reading);
        let is_good = held.is_empty();
        let problems = self.problems(&reading, held);
        let generation = self.handed.as_ref().map_or(0, |handed| handed.generation) + 1;
        let is_new = !self.handed.as_ref().is_some_and(|handed| {
            handed.reading.says_same(&reading) && handed.problems == problems
        });
        let snapshot = is_new.then(|| DesiredSnapshot {
            generation,
            desired: desired.into_owned(),
            problems: problems.clone(),
        });
        if is_good {
            self.good = Some(reading.clone());
        }
        if is_new {
            self.handed = Some(LastSnapshot { reading, problems, generation });
        }
        snapshot
    }

    fn problems(&self, now: &SourcesReading, held: Vec<SourceProblem>) -> Vec<SourceProblem> {
        let configuration = now.desired.problems.iter().cloned().map(SourceProblem::Configuration);
        let editor = now.editor_problems.iter().cloned().map(SourceProblem::Editor);
        let polling = self.watch.problem().map(|error| SourceProblem::Polling { error });
        configuration
            .chain(held)
            .chain(editor)
            .chain(self.catalogue.problem())
            .chain(polling)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_config::Platform;
    use switchboard_process::ProcessGuard;

    use super::*;
    use crate::options::WatchMode;

    /// Whether one read is enough, with the files known or not.
    fn is_settled_at_once(are_files_known: bool) -> bool {
        let home = tempfile::tempdir().unwrap();
        let settings = home.path().join(".config/switchboard/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(settings, "{}").unwrap();
        let env = [("HOME".to_owned(), home.path().to_str().unwrap().to_owned())].into();
        let cwd = home.path().to_owned();
        let host = HostContext::for_platform(Platform::Linux, env, cwd).unwrap();
        let asked = ResolveOptions::default();
        let mut options = SourcesOptions::new(ProcessGuard::none());
        options.watching = WatchMode::Polling;
        if are_files_known {
            let desired = resolve_desired(&host, &asked);
            options = options.with_known_files(desired, &host, &asked);
        }
        let mut builder = SnapshotBuilder::new(host, asked, &options, Arc::default());
        let known = std::mem::take(&mut builder.known_files);
        builder.read_once(&known).is_settled
    }

    #[test]
    fn configuration_that_was_resolved_just_now_is_read_only_once_more() {
        assert!(is_settled_at_once(true));
        assert!(!is_settled_at_once(false), "else the files need not be known");
    }
}
