//! Integration tests of the `switchboard` program: command lines in; output, files and exit codes out.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test that fails should say where, and a rendering need not be fast"
)]

mod add;
mod admin;
mod advice;
mod approval_pages;
mod approve;
mod asking;
mod attached;
mod call;
mod change;
mod cluster;
mod cluster_failures;
mod cluster_kills;
mod company_certificate;
mod completions;
mod concurrent;
mod console;
mod console_apps;
mod docs;
mod doctor;
mod edit;
mod editors;
mod gateway;
mod global;
mod guarding;
mod helped;
mod hints;
mod hostile;
mod import;
mod install;
mod issuer_sign_in;
mod kept_catalogs;
mod links;
mod list;
mod load;
mod looked_after;
mod low_limits;
mod managed;
mod moved_secrets;
mod npm_clients;
mod openid;
mod overview;
mod own_sign_ins;
mod packages;
mod peers;
mod people_console;
mod permissions;
mod plugin_project;
mod plugin_serve;
mod plugins;
mod policy_gate;
mod principals;
mod probe;
mod protected;
mod reference;
mod resources;
mod secrets;
mod self_uninstall;
mod served_apps;
mod setup;
mod setup_interrupted;
mod sign_in_links;
mod signed_out;
mod signing_in;
mod skills;
mod start_folder;
mod stored_secrets;
mod story;
mod teams;
mod terminal;
mod tools;
mod two_people;
mod ui;
mod unwritable;
mod upgrade;
mod variables;
mod xaa;

pub(crate) use story::{Home, Story};

/// Times and ports differ; everything else does not.
pub(crate) fn steady(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = replace_number(line, "connected in ", " ms");
        let line = replace_number(&line, "answered in ", " ms");
        let line = replace_number(&line, "\"connectMillis\": ", "");
        let line = replace_number(&line, "\"lastTriedAt\": ", "");
        let line = replace_number(&line, "\"millis\": ", ",");
        let line = replace_number(&line, "answers in ", " ms");
        let line = replace_number(&line, "\"answerMillis\": ", "");
        let line = replace_number(&line, "\"listsReadAt\": ", "");
        let line = replace_moment(&line, "tools known from ");
        let line = replace_number(&line, "process ", " ");
        let line = replace_number(&line, "\"pid\": ", "");
        let line = replace_number(&line, "redirect URI has port ", "");
        let line = replace_name(&line, "/switchboard-", 6);
        let line = replace_name(&line, "/results/", 32);
        let line = replace_name(&line, "/logs/kiosk-", 8);
        let line = replace_name(&line, "/logs/dies-", 8);
        let line = replace_name(&line, "/logs/named-", 8);
        let line = replace_name(&line, "/logs/plain-", 8);
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `…before 12after…` becomes `…before Nafter…`.
fn replace_number(line: &str, before: &str, after: &str) -> String {
    let Some(start) = line.find(before).map(|at| at + before.len()) else {
        return line.into();
    };
    let digits = line[start..].chars().take_while(char::is_ascii_digit).count();
    if digits == 0 || !line[start + digits..].starts_with(after) {
        return line.into();
    }
    format!("{}N{}", &line[..start], &line[start + digits..])
}

/// `…before 2026-11-18 07:47Z (2 min ago)…` becomes `…before 2026-01-31 12:00Z (just now)…`.
fn replace_moment(line: &str, before: &str) -> String {
    let Some((start, rest)) = line.split_once(before) else { return line.into() };
    let Some((_, rest)) = rest.split_once(')') else { return line.into() };
    format!("{start}{before}2026-01-31 12:00Z (just now){rest}")
}

/// `…before1a2b3c.…` becomes `…beforeX.…`.
fn replace_name(line: &str, before: &str, length: usize) -> String {
    let Some(start) = line.find(before).map(|at| at + before.len()) else {
        return line.into();
    };
    let name: String = line[start..].chars().take_while(char::is_ascii_alphanumeric).collect();
    if name.len() != length || !line[start + length..].starts_with('.') {
        return line.into();
    }
    format!("{}X{}", &line[..start], &line[start + length..])
}
