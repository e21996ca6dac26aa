//! Running the suite, one process for each case: two at a time, and alone where timing matters.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::expected::Expected;
use super::judge::{Demand, Evidence};
use super::{Case, Line, listing};
use crate::command::{output, succeeds};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;
use crate::peers::Peers;

/// These judge the client by the clock, so nothing else runs beside them.
const ALONE: [&str; 1] = ["sse-retry"];
const AT_ONCE: usize = 2;

/// The client's time; the suite gets a little more to write its results.
const CLIENT_PATIENCE: Duration = Duration::from_mins(1);
const SUITE_PATIENCE: Duration = Duration::from_secs(90);

/// One line of the suite, with the client it is to test.
pub(super) struct Suite<'a> {
    line: Line,
    node: PathBuf,
    script: PathBuf,
    driver: &'a Path,
}

/// A case, run.
pub(super) struct Ran {
    line: Line,
    case: Case,
    demand: Demand,
    outcome: Result<Evidence>,
}

impl<'a> Suite<'a> {
    pub(super) fn new(line: Line, peers: &Peers, driver: &'a Path) -> Self {
        let script = peers.package(line.package()).join("dist/index.js");
        Self { line, node: peers.node(), script, driver }
    }

    pub(super) fn cases(&self) -> Result<Vec<Case>> {
        Ok(listing::parse(self.line, &output(self.command().args(["list", "--client"]))?))
    }

    pub(super) fn run(&self, cases: Vec<Case>, expected: &Expected) -> Result<Vec<Ran>> {
        let folder = paths::target().join("conformance").join(self.line.name());
        if folder.exists() {
            fs::remove_dir_all(&folder).about("empty", &folder)?;
        }
        let (alone, together): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|case| ALONE.contains(&case.scenario.as_str()));
        let mut all = self.run_queue(together, AT_ONCE, &folder, expected);
        all.extend(self.run_queue(alone, 1, &folder, expected));
        all.sort_by_key(Ran::name);
        Ok(all)
    }

    fn run_queue(
        &self,
        cases: Vec<Case>,
        at_once: usize,
        folder: &Path,
        expected: &Expected,
    ) -> Vec<Ran> {
        let queue = Mutex::new(VecDeque::from(cases));
        let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
        let work = || std::iter::from_fn(next).map(|case| self.run_case(case, folder, expected));
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..at_once).map(|_| scope.spawn(|| work().collect::<Vec<_>>())).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }

    fn run_case(&self, case: Case, folder: &Path, expected: &Expected) -> Ran {
        let folder = folder.join(format!("{}-{}", case.scenario, case.version));
        let outcome = self.observe(&case, &folder);
        let demand = expected.demand(self.line, &case);
        let ran = Ran { line: self.line, case, demand, outcome };
        println!("{} {}", ran.name(), ran.result());
        ran
    }

    fn observe(&self, case: &Case, folder: &Path) -> Result<Evidence> {
        fs::create_dir_all(folder).about("make", folder)?;
        self.execute(case, folder)?;
        let checks = find_checks(folder)?;
        let text = fs::read_to_string(&checks).about("read", &checks)?;
        let status = folder.join(format!("{}-{}.status", case.scenario, case.version));
        let status = fs::read_to_string(status).ok().and_then(|text| text.trim().parse().ok());
        Evidence::from_checks(&text, status)
    }

    /// Runs the suite to its end. Its own verdict, the exit status, is not looked at.
    fn execute(&self, case: &Case, folder: &Path) -> Result<()> {
        let log = folder.join("suite.log");
        let stdout = File::create(&log).about("write", &log)?;
        let stderr = stdout.try_clone().about("write", &log)?;
        let mut command = self.command();
        command
            .args(["client", "--command", "tests/conformance/driver.sh"])
            .args(["--scenario", &case.scenario])
            .arg(format!("--timeout={}", CLIENT_PATIENCE.as_millis()))
            .arg("--output-dir")
            .arg(folder)
            .env("CONFORMANCE_DRIVER", self.driver)
            .env("CONFORMANCE_STATUS_DIR", folder)
            // The stable line does not tell the client which version it is asked for.
            .env("MCP_CONFORMANCE_PROTOCOL_VERSION", &case.version)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        match (self.line, case.forced) {
            // It has no other way to be asked for what is on no version's list.
            (Line::Stable, true) => {}
            (Line::Alpha, true) => {
                command.args(["--spec-version", &case.version, "--force"]);
            }
            (_, false) => {
                command.args(["--spec-version", &case.version]);
            }
        }
        wait(command.process_group(0))
            .map_err(|failure| failure.hint(format!("its log is {}", log.display())))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).current_dir(paths::root());
        command
    }
}

/// Waits for the suite, then ends whatever it left behind: its time-out stops only the shell
/// around a client.
fn wait(command: &mut Command) -> Result<()> {
    let failed = || Failure::new("cannot run the conformance suite");
    let mut child = command.spawn().map_err(|why| failed().because(why))?;
    let deadline = Instant::now() + SUITE_PATIENCE;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(_)) => break Ok(()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => break Err(failed().because("it did not end in time")),
            Err(why) => break Err(failed().because(why)),
        }
    };
    end_group(&mut child);
    ended
}

fn end_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    succeeds(Command::new("kill").args(["-KILL", "--", &group]));
    // Already collected where it ended by itself; that error says nothing new.
    let _ = child.wait();
}

/// The suite makes a folder of its own, named after the scenario and the time; a scenario `auth/x` is a folder `x` in
/// a folder `auth`.
fn find_checks(folder: &Path) -> Result<PathBuf> {
    let beneath = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).about("list", folder)?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths.filter(|path| path.is_dir()).collect())
    };
    let mut folders = beneath(folder)?;
    for folder in folders.clone() {
        folders.extend(beneath(&folder)?);
    }
    let mut candidates = folders.into_iter().map(|folder| folder.join("checks.json"));
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        Failure::new("the suite wrote no checks.json")
            .hint(format!("its log is {}", folder.join("suite.log").display()))
    })
}

impl Ran {
    pub(super) fn name(&self) -> String {
        format!("{} {} {}", self.line.name(), self.case.scenario, self.case.version)
    }

    pub(super) fn passed(&self) -> bool {
        self.problems().is_empty()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|evidence| evidence.is_clean(self.demand))
    }

    pub(super) fn count(&self) -> (Line, &Case, u64) {
        (self.line, &self.case, self.successes())
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let problems = match &self.outcome {
            Ok(evidence) => evidence.problems(self.demand),
            Err(failure) => vec![failure.to_string()],
        };
        problems.into_iter().map(|problem| format!("{}: {problem}", self.name())).collect()
    }

    pub(super) fn row(&self) -> Vec<String> {
        let wanted = self.demand.successes.map_or_else(|| "?".to_owned(), |n| n.to_string());
        vec![
            self.line.name().to_owned(),
            self.case.scenario.clone(),
            self.case.version.clone(),
            format!("{}/{wanted}", self.successes()),
            self.result().to_owned(),
        ]
    }

    fn successes(&self) -> u64 {
        self.outcome.as_ref().map_or(0, |evidence| evidence.successes)
    }

    fn result(&self) -> &'static str {
        match (self.passed(), self.is_clean()) {
            (true, _) => "ok",
            (false, true) => "another count",
            (false, false) => "FAILED",
        }
    }
}
