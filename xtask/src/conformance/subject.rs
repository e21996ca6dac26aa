//! The programs under test, and the run of one case against them.
//!
//! Used by `run`. Cases of SDK servers run in `sweep`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::case::{Behind, Case, Side, Subject};
use super::gateway;
use super::judge::Evidence;
use super::listener::Listener;
use super::replicas::Replicas;
use super::sdk;
use super::suite::{SCENARIO_PATIENCE, Suite, checks};
use super::sweep::Stage;
use crate::command::{cargo, run as run_command};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

/// The programs under test.
pub(super) struct Programs {
    /// The client program that the suite starts.
    pub(super) driver: PathBuf,
    pub(super) gateway: PathBuf,
    /// The server behind the gateway.
    pub(super) server: PathBuf,
    /// The plugin that is served alone.
    pub(super) plugin: PathBuf,
}

impl Programs {
    /// Builds the programs. A driver given by the user is not built.
    pub(super) fn build(driver: Option<PathBuf>, sides: &[Side]) -> Result<Self> {
        // One package at a time: the features of both together would rebuild everything.
        let mut testkit = cargo(&["build", "--locked", "-p", "switchboard-testkit"]);
        testkit.args(["--features", "conformance"]);
        testkit.arg("--bin=conformance-client");
        if sides.iter().any(|side| *side != Side::Client) {
            let package = ["-p", "switchboard-cli", "--bin=switchboard"];
            run_command(cargo(&["build", "--locked"]).args(package))?;
        }
        if sides.iter().any(|side| matches!(side, Side::Server | Side::Cluster)) {
            testkit.arg("--bin=conformance-server");
        }
        if sides.contains(&Side::Plugin) {
            let package = ["-p", "switchboard-plugin-sdk", "--example=conformance"];
            run_command(cargo(&["build", "--locked"]).args(package))?;
        }
        if sides.contains(&Side::Sdk) {
            sdk::build_rust_server()?;
        }
        if sides.iter().any(|side| matches!(side, Side::Client | Side::Server | Side::Cluster)) {
            run_command(&mut testkit)?;
        }
        let program = |name: &str| paths::target().join("debug").join(name);
        Ok(Self {
            driver: driver.unwrap_or_else(|| program("conformance-client")),
            gateway: program("switchboard"),
            server: program("conformance-server"),
            plugin: program("examples/libconformance.so"),
        })
    }
}

/// Runs a case; its files are kept in `folder`.
pub(super) fn observe(stage: &Stage<'_>, case: &Case, folder: &Path) -> Result<Evidence> {
    let Stage { suite, programs, peers } = *stage;
    fs::create_dir_all(folder).about("make", folder)?;
    let entry =
        |behind: Behind| json!({ "command": programs.server, "args": ["--era", behind.name()] });
    match case.subject {
        Subject::Client => client(suite, &programs.driver, case, folder),
        Subject::Gateway(behind) => {
            let gateway = gateway::serve(programs, &entry(behind), folder)?;
            served(suite, Side::Server, gateway, case, folder)
        }
        Subject::Plugins => {
            let plugins = gateway::serve_plugins(programs, folder)?;
            served(suite, Side::Plugin, plugins, case, folder)
        }
        Subject::Replicas(behind) => {
            let replicas = Replicas::start(programs, peers, &entry(behind), folder)?;
            let text = served_checks(suite, Side::Cluster, replicas.url(), case, folder)?;
            Evidence::from_checks(&text, replicas.stop()?)
        }
        Subject::Sdk(..) => Err(Failure::new("a server on an SDK is run in a sweep")),
    }
}

fn client(suite: &Suite, driver: &Path, case: &Case, folder: &Path) -> Result<Evidence> {
    let mut scenario = suite.scenario(Side::Client, case, folder);
    scenario
        .args(["--command", "tests/conformance/driver.sh"])
        .arg(format!("--timeout={}", SCENARIO_PATIENCE.as_millis()))
        .env("CONFORMANCE_DRIVER", driver)
        .env("CONFORMANCE_STATUS_DIR", folder)
        // The stable line does not tell the client its version.
        .env("MCP_CONFORMANCE_PROTOCOL_VERSION", &case.version);
    let text = checks(scenario, folder)?;
    let status = folder.join(format!("{}-{}.status", case.scenario, case.version));
    let status = fs::read_to_string(status).ok().and_then(|text| text.trim().parse().ok());
    Evidence::from_checks(&text, status)
}

/// Runs a case against its own gateway: some scenarios leave calls with open questions, and a legacy server cannot
/// say which of two calls it asks for.
fn served(
    suite: &Suite,
    side: Side,
    gateway: Listener,
    case: &Case,
    folder: &Path,
) -> Result<Evidence> {
    let text = served_checks(suite, side, gateway.url(), case, folder)?;
    Evidence::from_checks(&text, gateway.stop()?)
}

/// Runs a case against the server at `url`. Returns the text of its checks.
fn served_checks(
    suite: &Suite,
    side: Side,
    url: &str,
    case: &Case,
    folder: &Path,
) -> Result<String> {
    let mut scenario = suite.scenario(side, case, folder);
    scenario.args(["--url", url]);
    checks(scenario, folder)
}
