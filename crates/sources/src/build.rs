//! From files to the next snapshot, or to the knowledge that none is due.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::{
    Asked, ConnectorSource, Desired, Dynamic, Located, Surroundings, resolve,
};
use switchboard_core::ide;
use tokio::sync::{Notify, oneshot};

use super::connectors::{Catalogue, Outcome, Wanted, wanted_source};
use super::files::{Look, Watch};
use super::hold::{Force, Reading, narrowed, waiting};
use super::options::Options;
use super::problem::Problem;
use super::snapshot::Snapshot;

/// How often everything is read anew in one go while it keeps changing.
const ROUNDS: usize = 8;

/// Reads, watches and compares. Everything here may block.
pub(super) struct Builder {
    surroundings: Surroundings,
    asked: Asked,
    /// What makes a folder the project's root.
    marks: BTreeSet<PathBuf>,
    watch: Watch,
    catalogue: Catalogue,
    /// The last state in which no file was broken that had been sound.
    good: Option<Reading>,
    handed: Option<Handed>,
    emptied: Duration,
    emptied_since: Option<Instant>,
}

/// What was handed over last.
struct Handed {
    reading: Reading,
    problems: Vec<Problem>,
    generation: u64,
}

/// What came of a pass.
pub(super) struct Built {
    /// What is to be handed over, if anything.
    pub(super) snapshot: Option<Snapshot>,
    /// The catalogue to fetch.
    pub(super) wanted: Option<Wanted>,
    /// Whether the system tells of changes.
    pub(super) is_told: bool,
    /// Whether another pass is due soon, even if nothing more happens.
    pub(super) is_unfinished: bool,
}

// === impl Builder ===

impl Builder {
    pub(super) fn new(
        surroundings: Surroundings,
        asked: Asked,
        options: &Options,
        wake: Arc<Notify>,
    ) -> Self {
        let folders = surroundings.cwd.ancestors();
        let marks =
            folders.flat_map(|folder| [".git", ".switchboard"].map(|mark| folder.join(mark)));
        Self {
            marks: marks.collect(),
            surroundings,
            asked,
            watch: Watch::new(options.watching, wake),
            catalogue: Catalogue::default(),
            good: None,
            handed: None,
            emptied: options.timing.emptied,
            emptied_since: None,
        }
    }

    /// Reads everything, with the catalogue as it was fetched last.
    pub(super) fn pass(&mut self, outcome: &Outcome) -> Built {
        self.catalogue.update(outcome);
        let reading = self.read();
        let is_being_written = self.is_being_written(&reading.look);
        let is_unfinished = is_being_written || !reading.is_settled;
        let snapshot = if is_being_written { None } else { self.hand_over(reading) };
        Built { snapshot, wanted: self.wanted(), is_told: self.watch.is_told(), is_unfinished }
    }

    /// Ends the watching; what comes back ends with its last thread.
    pub(super) fn close(&mut self) -> Option<oneshot::Receiver<()>> {
        self.watch.close()
    }

    /// Reads until nothing changed meanwhile: what was seen before is what was read, and what comes after is told.
    fn read(&mut self) -> Reading {
        let mut paths = self.watched(None);
        let mut round = 1;
        loop {
            let before = Look::at(&paths, &self.marks);
            let mut desired = resolve(&self.surroundings, &self.asked());
            let editor_problems = ide::add_editor(&mut desired, &self.surroundings, &self.asked);
            paths = self.watched(Some(&desired));
            let leads_same_way = self.watch.follow(&paths, &self.marks);
            let look = Look::at(&paths, &self.marks);
            let mut reading = Reading {
                is_settled: before == look && leads_same_way,
                desired,
                look,
                catalogue: self.catalogue.text().cloned(),
                editor_problems,
            };
            reading.is_settled &= self.follow_catalogue(&reading);
            if reading.is_settled || round == ROUNDS {
                return reading;
            }
            round += 1;
        }
    }

    /// Everything that matters: what was looked at now, and before a file was broken that may have named others.
    fn watched(&self, now: Option<&Desired>) -> BTreeSet<PathBuf> {
        let good = self.good.as_ref().map(|reading| &reading.desired);
        let all = now.into_iter().chain(good);
        all.flat_map(|desired| desired.watched.iter().cloned()).collect()
    }

    fn asked(&self) -> Asked {
        let mut asked = self.asked.clone();
        asked.connectors.extend(self.catalogue.fetched());
        asked
    }

    /// Whether the catalogue is still the one to use; if not, the copy of the right one takes its place.
    fn follow_catalogue(&mut self, reading: &Reading) -> bool {
        let (desired, _) = self.in_force(reading);
        let source = self.source(&desired).cloned();
        self.catalogue.follow(source, &self.surroundings.state_dir)
    }

    /// Where the catalogue is, unless it could not count.
    fn source<'a>(&self, desired: &'a Desired) -> Option<&'a Located<ConnectorSource>> {
        wanted_source(desired, &self.asked)
    }

    fn wanted(&self) -> Option<Wanted> {
        let (desired, _) = self.in_force(&self.handed.as_ref()?.reading);
        let source = &self.source(&desired)?.value;
        Some(Wanted::new(source, &self.surroundings, &desired.settings.env))
    }

    fn in_force<'a>(&'a self, reading: &'a Reading) -> (Cow<'a, Desired>, Vec<Problem>) {
        let Some(good) = &self.good else {
            return (Cow::Borrowed(&reading.desired), Vec::new());
        };
        match reading.force(good) {
            Force::Present => (Cow::Borrowed(&reading.desired), Vec::new()),
            Force::Held(files) => {
                let problems = files.into_iter().map(|file| Problem::Held { file });
                (Cow::Borrowed(&good.desired), problems.collect())
            }
            Force::Changed(files) if self.are_servers_only(&files) => {
                let desired = waiting(&reading.desired, &good.desired, &files);
                let problems = files.into_iter().map(|file| Problem::Waiting { file });
                (Cow::Owned(desired), problems.collect())
            }
            Force::Changed(files) => {
                let desired = narrowed(&reading.desired, &good.desired, &files);
                let problems = files.into_iter().map(|file| Problem::Narrowed { file });
                (Cow::Owned(desired), problems.collect())
            }
        }
    }

    /// Whether these files can hold nothing but servers, so that no rule is lost with them.
    fn are_servers_only(&self, files: &BTreeSet<PathBuf>) -> bool {
        let is_given = |file: &PathBuf| self.asked.dynamic.contains(&Dynamic::File(file.clone()));
        let mut files = files.iter();
        files.all(|file| file.ends_with(".mcp.json") && !is_given(file))
    }

    /// Whether a file was emptied that was not before, and not long ago. What the administrator or a person's decision
    /// becomes counts at once.
    fn is_being_written(&mut self, look: &Look) -> bool {
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

    fn hand_over(&mut self, reading: Reading) -> Option<Snapshot> {
        let (desired, held) = self.in_force(&reading);
        let is_good = held.is_empty();
        let problems = self.problems(&reading, held);
        let generation = self.handed.as_ref().map_or(0, |handed| handed.generation) + 1;
        let is_new = !self.handed.as_ref().is_some_and(|handed| {
            handed.reading.says_same(&reading) && handed.problems == problems
        });
        let snapshot = is_new.then(|| Snapshot {
            generation,
            desired: desired.into_owned(),
            problems: problems.clone(),
        });
        if is_good {
            self.good = Some(reading.clone());
        }
        if is_new {
            self.handed = Some(Handed { reading, problems, generation });
        }
        snapshot
    }

    fn problems(&self, now: &Reading, held: Vec<Problem>) -> Vec<Problem> {
        let configuration = now.desired.problems.iter().cloned().map(Problem::Configuration);
        let editor = now.editor_problems.iter().cloned().map(Problem::Editor);
        let polling = self.watch.problem().map(|error| Problem::Polling { error });
        configuration
            .chain(held)
            .chain(editor)
            .chain(self.catalogue.problem())
            .chain(polling)
            .collect()
    }
}
