//! One line of the suite as a program: its listing, and its runs.
//!
//! Used by `conformance`, `subject` and `sweep`. It ignores the suite's verdict (`judge`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::case::{Case, Line, Side};
use super::group::Group;
use super::listing;
use crate::command::output;
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;
use crate::peers::Peers;

/// The time a scenario gets; the suite gets a little more to write its results.
pub(super) const SCENARIO_PATIENCE: Duration = Duration::from_mins(1);
const SUITE_PATIENCE: Duration = Duration::from_secs(90);
/// The timeout for all scenarios of a version: they take seconds, unless many time out.
const SWEEP_PATIENCE: Duration = Duration::from_mins(5);
/// The length of the time that the suite appends to a folder's name: `-2026-07-28T12-00-00-000Z`.
const TIME_CHARACTERS: usize = 25;

pub(super) struct Suite {
    pub(super) line: Line,
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    pub(super) fn new(line: Line, peers: &Peers) -> Self {
        let script = peers.package(line.package()).join("dist/index.js");
        Self { line, node: peers.node(), script }
    }

    pub(super) fn cases(&self, side: Side) -> Result<Vec<Case>> {
        let list = output(self.command().args(["list", &format!("--{}", side.in_suite())]))?;
        Ok(listing::parse(self.line, &list, side))
    }

    /// The command that runs `case` and writes its checks to `folder`.
    pub(super) fn scenario(&self, side: Side, case: &Case, folder: &Path) -> Command {
        let mut command = self.command();
        command
            .arg(side.in_suite())
            .args(["--scenario", &case.scenario])
            .arg("--output-dir")
            .arg(folder);
        match (self.line, case.forced) {
            // The stable line has no option for scenarios on no version's list.
            (Line::Stable, true) => {}
            (Line::Alpha, true) => {
                command.args(["--spec-version", &case.version, "--force"]);
            }
            (_, false) => {
                command.args(["--spec-version", &case.version]);
            }
        }
        command
    }

    /// Runs every scenario of `version` against the server at `url`. Each writes its checks below `folder`.
    pub(super) fn sweep(&self, version: &str, url: &str, folder: &Path) -> Result<()> {
        let mut command = self.command();
        command
            .args(["server", "--suite", "all", "--spec-version", version, "--url", url])
            .arg("--output-dir")
            .arg(folder);
        run(command, folder, SWEEP_PATIENCE)
    }

    /// Runs one scenario, which may be on no version's list.
    pub(super) fn single(&self, case: &Case, url: &str, folder: &Path) -> Result<()> {
        let mut command = self.scenario(Side::Sdk, case, folder);
        command.args(["--url", url]);
        run(command, folder, SUITE_PATIENCE)
    }

    /// The checks of `scenario` after a sweep.
    pub(super) fn swept_checks(folder: &Path, scenario: &str) -> Result<PathBuf> {
        let is_of = |name: &str| {
            let end = name.len().checked_sub(TIME_CHARACTERS);
            let untimed = end.and_then(|end| name.get(..end));
            untimed.and_then(|untimed| untimed.strip_prefix("server-")) == Some(scenario)
        };
        let found = beneath(folder)?
            .into_iter()
            .find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_of));
        found.map(|found| found.join("checks.json")).ok_or_else(|| no_checks(folder))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).current_dir(paths::root());
        command
    }
}

/// Runs a scenario and returns the text of its checks. The exit status, which is the suite's verdict, is ignored.
pub(super) fn checks(scenario: Command, folder: &Path) -> Result<String> {
    run(scenario, folder, SUITE_PATIENCE)?;
    let checks = find_checks(folder)?;
    fs::read_to_string(&checks).about("read", &checks)
}

/// Runs the suite to its end. Its output goes to `suite.log`.
fn run(mut suite: Command, folder: &Path, patience: Duration) -> Result<()> {
    let log = folder.join("suite.log");
    let stdout = File::options().create(true).append(true).open(&log).about("write", &log)?;
    let stderr = stdout.try_clone().about("write", &log)?;
    suite.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    wait(&mut suite, patience)
        .map_err(|failure| failure.hint(format!("its log is {}", log.display())))
}

/// Waits for the suite, then kills its remaining processes: its own timeout stops only the shell around a client.
fn wait(command: &mut Command, patience: Duration) -> Result<()> {
    let failed = || Failure::new("cannot run the conformance suite");
    let group = Group::open().map_err(|why| failed().because(why))?;
    let mut child = group.spawn(command).map_err(|why| failed().because(why))?;
    let ended = ended_within(&mut child, patience);
    drop(group);
    // If the suite has ended, it is collected already, and the error adds nothing.
    let _ = child.wait();
    match ended {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(failed().because("it did not end in time")),
        Err(why) => Err(failed().because(why)),
    }
}

/// The exit status of `child`, if it ends in time.
pub(super) fn ended_within(
    child: &mut Child,
    patience: Duration,
) -> std::io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            ended => return Ok(ended),
        }
    }
}

/// Finds the checks. The suite makes a folder named after the scenario and the time; a scenario `auth/x` is a folder
/// `x` in a folder `auth`.
fn find_checks(folder: &Path) -> Result<PathBuf> {
    let mut folders = beneath(folder)?;
    for folder in folders.clone() {
        folders.extend(beneath(&folder)?);
    }
    let mut candidates = folders.into_iter().map(|folder| folder.join("checks.json"));
    candidates.find(|path| path.is_file()).ok_or_else(|| no_checks(folder))
}

/// The folders in a folder.
fn beneath(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).about("list", folder)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.is_dir()).collect())
}

fn no_checks(folder: &Path) -> Failure {
    Failure::new("the suite wrote no checks.json")
        .hint(format!("its log is {}", folder.join("suite.log").display()))
}
