//! The project's chores, as `cargo xtask <verb>`.
//!
//! Used by developers and by the checks before a merge. It knows commands and files, but no code of
//! the product, and compiles fast: every run of the tests starts by building it.
#![allow(
    clippy::disallowed_methods,
    reason = "a chore starts other programs and reads the variables of CI"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "telling a person what happens is its job"
)]

mod args;
mod bench;
mod command;
mod conformance;
mod dist;
mod everything;
mod failed_tests;
mod failure;
mod fuzz;
mod mac_check;
mod paths;
mod peers;
mod soak;
mod step;
mod table;
mod tidy;

use std::process::ExitCode;

use args::Args;
use failure::{Failure, Result};

const USAGE: &str = "\
usage: cargo xtask <verb>

  test                    everything: format, lints, docs, peers, tests, conformance, fuzz, licences
  tidy                    rules of the repository: dependencies of crates, names, headers, sizes, documents
  peers                   install the MCP servers and SDKs the tests talk to, and print where they are
  conformance             the official suite: our client, the gateway before a server of either era, plugins alone,
                          servers on the SDKs, directly and through the gateway, and several gateways as one
      --side S            `client`, `server`, `plugin`, `sdk` or `cluster` (default: all)
      --line L            `stable` or `alpha` (default: both)
      --scenario NAME     this scenario only
      --driver PATH       another client than ours
      --record            write the observed counts of checks under tests/conformance
  fuzz                    each fuzz target, on its seeds
      --seconds N         for this long each (default: 20)
  soak                    a thousand sessions before one hub; replicas that are killed in turn
      --seconds N         each for this long (default: 60)
  bench wire [ARGS]       what a message costs to forward; ARGS go to the benchmark
  bench engine [ARGS]     what the engine adds to a call and to the start of servers
  bench gateway [ARGS]    the whole program beside a bare floor and other gateways
  bench plugin            what a plugin's call costs over standard streams and HTTP, beside a bare floor
      --dist              either of both with the program that is shipped
  dist                    packages of the program: .tar.gz, .deb, container, Homebrew formula, SBOM (target/dist/packages)
      --profile           build it twice, the second time with what was counted while it ran (half an hour)
      --from PATH         of this program, and build none
      --out DIR           into this folder
      --url URL           where the files will be, for the Homebrew formula";

fn main() -> ExitCode {
    match dispatch(Args::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut args: Args) -> Result<()> {
    match args.word().as_deref() {
        Some("test") => args.end().and_then(|()| everything::run()),
        Some("tidy") => args.end().and_then(|()| tidy::check()),
        Some("peers") => args.end().and_then(|()| peers::print()),
        Some("conformance") => conformance::Options::parse(args).and_then(|o| conformance::run(&o)),
        Some("fuzz") => fuzz::Options::parse(args).and_then(fuzz::run),
        Some("bench") => bench::run(args),
        Some("soak") => soak::run(args),
        Some("dist") => dist::run(args),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(Failure::new(format!("`{other}` is not a verb")).hint(USAGE)),
        None => Err(Failure::new("no verb was given").hint(USAGE)),
    }
}
