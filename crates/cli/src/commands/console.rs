//! `switchboard console`: opens the web console in a browser, and starts a hub if none runs.
//!
//! Used by `commands::run`. The link lets one browser in, once; the hub makes it (`hub::admin`).

use switchboard_hub::attach::{self, AttachOptions};

use crate::args::Console;
use crate::ask;
use crate::command_engine::{find_running, hub_failure};
use crate::printer::{BOLD, Printer};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

pub(crate) async fn run(
    console: &Console,
    caller: &Caller,
    options: &AttachOptions,
    printer: &Printer,
) -> Result<(), Failure> {
    attach::ensure_running(options)
        .await
        .map_err(|error| Failure::new("cannot start the hub", error))?;
    let hub = find_running(caller, printer).await.ok_or_else(|| {
        Failure::plain(FailureKind::Failed, "cannot reach the hub")
            .with_hint("`switchboard stop`, then try again")
    })?;
    let url =
        hub.console_url().await.map_err(|error| hub_failure("cannot open the console", error))?;
    let is_opened = !console.no_browser && !printer.is_json() && ask::open(&url);
    if printer.is_json() {
        return printer.json(&serde_json::json!({ "url": url }));
    }
    printer.line(format_args!("Console: {BOLD}{url}{BOLD:#}"));
    printer.done(match (is_opened, console.no_browser) {
        (true, _) => "Opened in your browser. The link works once, for 15 minutes.",
        (false, true) => {
            "Open the link in a browser on this machine. It works once, for 15 minutes."
        }
        (false, false) => {
            "No browser could be started; open the link yourself. It works once, for 15 minutes."
        }
    });
    Ok(())
}
