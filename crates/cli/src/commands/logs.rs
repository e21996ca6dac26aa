//! `switchboard logs`: standard error of a server from its log file, once or followed.
//!
//! Used by `commands::run`; with `--audit` it calls `audit`. Logs are written by `core::logs`.

use serde_json::json;
use switchboard_core::logs::ServerLogs;
use switchboard_wire::sanitize;

use super::audit;
use crate::args;
use crate::hint;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::wait::EndSignals;

pub(super) async fn run(
    asked: &args::Logs,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let Some(name) = asked.server.as_ref().filter(|_| !asked.audit) else {
        return audit::run(asked, caller, printer).await;
    };
    let (desired, _) = caller.desired();
    let Some(server) = desired.servers_named(name).next() else {
        let failure = Failure::plain(FailureKind::Failed, format!("there is no server `{name}`"));
        return Err(failure.with_hint(hint::no_server()));
    };
    let failed = |error| Failure::new(format!("cannot read the log of `{name}`"), error);
    let folder = caller.surroundings.state_dir.join("logs");
    let logs =
        ServerLogs::open(folder).map_err(|error| Failure::new("cannot open the logs", error))?;
    // Servers with one name in two folders have two logs.
    let place = server.working_dir.to_string_lossy();
    let path = logs.path(name, &place);
    // Followed before the end is read, so that no line falls between the two.
    let follow =
        if asked.follow { Some(logs.follow(name, &place).await.map_err(failed)?) } else { None };
    let lines = logs.tail(name, &place, asked.lines).await.map_err(failed)?;
    if printer.is_json() {
        return printer.json(&json!({ "server": name, "file": path, "lines": lines }));
    }
    print(&lines, printer);
    if lines.is_empty() {
        printer.done(format_args!(
            "`{}` has written nothing yet; its log will be {}",
            sanitize::sanitize_line(name),
            printer.places.path(&path)
        ));
    }
    let Some(mut follow) = follow else { return Ok(()) };
    let mut shown = lines;
    let mut ending = EndSignals::listen();
    loop {
        tokio::select! {
            more = follow.next_lines() => {
                let mut more = more.map_err(failed)?;
                // Lines that were written in between were shown already; they come first, and once.
                more.retain(|line| !shown.contains(line));
                shown.clear();
                print(&more, printer);
            }
            () = ending.wait_for_end() => return Err(Failure::interrupted()),
        }
    }
}

fn print(lines: &[String], printer: &Printer) {
    for line in lines {
        printer.line(sanitize::sanitize_line(line));
    }
}
