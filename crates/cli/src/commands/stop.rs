//! `switchboard stop`: stops the hub, and with it all servers that the hub holds.
//!
//! Used by `commands::run`.

use switchboard_hub::attach;

use super::connect::hub_paths;
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;
use crate::version::VERSION;

pub(crate) async fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let stopped = attach::request_stop(&hub_paths(caller)?, VERSION)
        .await
        .map_err(|error| Failure::new("cannot reach the hub", error))?;
    if printer.is_json() {
        let pid = stopped.as_ref().map(|welcome| welcome.hub);
        return printer.json(&serde_json::json!({ "stopped": stopped.is_some(), "pid": pid }));
    }
    match stopped {
        Some(welcome) => printer.done(format_args!("The hub (process {}) is ending.", welcome.hub)),
        None => printer.done("No hub is running."),
    }
    Ok(())
}
