//! A program that a client launches: attaches its standard streams to the hub of a folder.
//!
//! `attach-for-tests FOLDER HUB [ARGUMENTS OF THE HUB]…`. Used by the attach tests of `hub`.

#![allow(clippy::disallowed_methods, reason = "a program for tests")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

use std::{path::PathBuf, process::ExitCode};

use switchboard_hub::attach::{AttachOptions, HubLaunchOptions, attach_stdio};
use switchboard_hub::socket::{HubFolders, HubPaths};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let folder = PathBuf::from(args.next().unwrap());
    let place = HubPaths::find(&HubFolders {
        config: folder.join("config"),
        state: folder.join("state"),
        runtime: None,
        short: "/tmp".into(),
    });
    let program = args.next().unwrap().into();
    let mut hub_args = vec![folder.clone().into_os_string()];
    hub_args.extend(args);
    let start = HubLaunchOptions {
        program,
        args: hub_args,
        env: Vec::new(),
        cwd: "/".into(),
        log: folder.join("hub.log"),
    };
    let mut options = AttachOptions::new(place.unwrap(), start, "0.1.0");
    options.env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    match attach_stdio(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
