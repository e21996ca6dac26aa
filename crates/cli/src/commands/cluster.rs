//! `switchboard cluster status`: the replicas of a cluster, with what should be put right.
//!
//! Used by `commands::run`. It joins nothing; `clustering` does.

use switchboard_cluster::{ClusterStatus, ReplicaState, ReplicaStatus, read_status};
use switchboard_wire::sanitize;

use crate::args::{ClusterAccess, ClusterCommand};
use crate::clustering::failure;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::Failure;
use crate::show;

pub(super) async fn run(command: &ClusterCommand, printer: &Printer) -> Result<(), Failure> {
    match command {
        ClusterCommand::Status(access) => status(access, printer).await,
    }
}

async fn status(access: &ClusterAccess, printer: &Printer) -> Result<(), Failure> {
    let read = read_status(&access.to_options()).await;
    let status = read.map_err(|error| failure("cannot read the state of the cluster", error))?;
    if printer.is_json() {
        return printer.json(&status);
    }
    show(&status, printer);
    let notices = status.warnings.iter().map(Notice::warning);
    let notices: Vec<_> = notices.chain(status.notes.iter().map(Notice::note)).collect();
    printer.notices(&notices);
    Ok(())
}

fn show(status: &ClusterStatus, printer: &Printer) {
    let ClusterStatus { cluster, nats, nats_version, copies, replicas, .. } = status;
    let kept = match copies {
        0 => "nothing is kept yet".to_owned(),
        copies => format!("kept on {}", show::count(*copies, "node")),
    };
    printer.line(format_args!(
        "{BOLD}Cluster {cluster}{BOLD:#}: {}, NATS {} at {}, {kept}",
        show::count(replicas.len(), "replica"),
        sanitize::sanitize_line(nats_version),
        sanitize::sanitize_line(nats),
    ));
    if replicas.is_empty() {
        return;
    }
    printer.line("");
    let head =
        ["REPLICA", "STATE", "MACHINE", "LISTENS AT", "VERSION", "RUNNING", "LAG", "CONFIGURATION"];
    let rows = replicas.iter().map(row);
    let lines = show::columns(std::iter::once(head.map(str::to_owned)).chain(rows));
    for (number, line) in lines.iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{line}{DIM:#}")),
            _ => printer.line(line),
        }
    }
}

fn row(replica: &ReplicaStatus) -> [String; 8] {
    let state = match replica.state {
        ReplicaState::Alive => "alive",
        ReplicaState::Silent => "silent",
    };
    [
        replica.id.to_string(),
        state.to_owned(),
        show::word(&replica.facts.host),
        show::word(&replica.facts.listen),
        show::word(&replica.facts.version),
        duration(replica.running_ms),
        format!("{} ms", replica.lag_ms),
        replica.config.as_deref().map_or_else(|| "-".to_owned(), show::word),
    ]
}

/// A time in its largest unit.
fn duration(millis: u64) -> String {
    match millis / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_unit() {
        for (millis, text) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_600_000, "1 h"),
            (200_000_000, "2 d"),
        ] {
            assert_eq!(duration(millis), text);
        }
    }
}
