//! The extensions in the report of `switchboard doctor`: what servers and clients declare beyond the protocol, on what
//! they agree, and what does not pass.
//!
//! Used by `commands::doctor`. It does not negotiate (`core::engine` does).

use switchboard_core::connection::LostCapability;
use switchboard_core::engine::{ClientExtensions, ExtensionReport, ServerExtensions};
use switchboard_wire::sanitize::sanitize_line;

use crate::printer::{BOLD, DIM, Printer};

/// Prints the report, if there is anything in it.
pub(super) fn print(report: &ExtensionReport, printer: &Printer) {
    if report.servers.is_empty() && report.clients.is_empty() {
        return;
    }
    printer.line(format_args!("\n{BOLD}extensions{BOLD:#}"));
    let servers = report.servers.iter().flat_map(server_lines);
    for line in servers.chain(report.clients.iter().flat_map(client_lines)) {
        printer.line(format_args!("  {line}"));
    }
}

fn server_lines(server: &ServerExtensions) -> Vec<String> {
    let ServerExtensions { server, declared, lost } = server;
    let mut lines = vec![format!("server `{server}` declares {}", list(declared))];
    lines.extend(lost.iter().map(lost_line));
    lines
}

fn client_lines(client: &ClientExtensions) -> Vec<String> {
    let ClientExtensions { client, transport, declared, negotiated, lost } = client;
    let name = sanitize_line(client);
    let name = if name.is_empty() { "a client without a name" } else { &*name };
    let mut lines = vec![format!("client {name} ({transport}) declares {}", list(declared))];
    let agreed = negotiated.iter();
    lines.extend(
        agreed
            .map(|(server, both)| format!("  {DIM}agreed with `{server}`: {}{DIM:#}", list(both))),
    );
    lines.extend(lost.iter().map(lost_line));
    lines
}

fn lost_line(lost: &LostCapability) -> String {
    format!("  {DIM}lost: {}: {}{DIM:#}", sanitize_line(&lost.name), lost.reason)
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing that passes".to_owned() } else { names.join(", ") }
}
