//! `switchboard skills`: the skills of all servers, with the digest of each `SKILL.md`.
//!
//! Used by `commands::run`. One skill is read by `skill`.

use serde_json::{Value, json};
use switchboard_core::skills::ServerSkills;
use switchboard_wire::client::skills::{Skill, SkillFiles};
use switchboard_wire::sanitize;

use super::listing::{ServerListing, with_listing};
use crate::args::OfServer;
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// How many digits of a digest the table shows.
const SHOWN_DIGEST_CHARACTERS: usize = "sha256:".len() + 12;

pub(super) async fn run(of: &OfServer, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    with_listing(of, caller, printer, async |listing: ServerListing<'_>| {
        let skills = listing.engine.skills(listing.server).await?;
        print(&skills, listing.notices, printer)
    })
    .await
}

fn print(
    listed: &[ServerSkills],
    mut notices: Vec<Notice>,
    printer: &Printer,
) -> Result<(), Failure> {
    notices.extend(listed.iter().flat_map(problems));
    let skills = || {
        let of_server = |listed: &ServerSkills| {
            let server = listed.server.clone();
            listed.read().map(move |skill| (server.clone(), skill)).collect::<Vec<_>>()
        };
        listed.iter().flat_map(of_server)
    };
    if printer.is_json() {
        let skills: Vec<Value> = skills().map(|(server, skill)| to_json(&server, &skill)).collect();
        printer.notices(&notices);
        return printer.json(&json!({ "skills": skills, "problems": notices }));
    }
    let skills: Vec<(String, Skill)> = skills().collect();
    table(&skills, printer);
    if skills.is_empty() {
        printer.done("no skills");
    }
    printer.notices(&notices);
    Ok(())
}

fn to_json(server: &str, skill: &Skill) -> Value {
    json!({
        "name": skill.name(),
        "server": server,
        "uri": skill.uri(),
        "description": skill.description(),
        "digest": manifest_digest(skill),
        "files": file_count(skill),
        "frontmatter": skill.front_matter(),
    })
}

/// The problems of a server's skills.
fn problems(listed: &ServerSkills) -> Vec<Notice> {
    let server = &listed.server;
    let missing = listed.problem.iter().map(|problem| {
        Notice::warning(format!("not all skills of `{server}` are shown: {problem}"))
    });
    let excluded = listed.excluded.iter().map(|excluded| {
        let uri = sanitize::sanitize_line(&excluded.uri);
        Notice::warning(format!(
            "the skill `{uri}` of `{server}` is not shown: {}",
            excluded.reason
        ))
    });
    missing.chain(excluded).collect()
}

/// The digest of the skill's `SKILL.md`; `None` if its server generates it on demand.
fn manifest_digest(skill: &Skill) -> Option<String> {
    let SkillFiles::Listed(files) = skill.files() else { return None };
    let manifest = files.iter().find(|file| file.uri == skill.uri());
    manifest.map(|file| file.digest.to_string())
}

fn file_count(skill: &Skill) -> Option<usize> {
    match skill.files() {
        SkillFiles::Listed(files) => Some(files.len()),
        SkillFiles::Dynamic => None,
    }
}

fn table(skills: &[(String, Skill)], printer: &Printer) {
    let rows: Vec<_> = skills
        .iter()
        .map(|(server, skill)| {
            let digest = manifest_digest(skill).unwrap_or_else(|| "dynamic".to_owned());
            let digest: String = digest.chars().take(SHOWN_DIGEST_CHARACTERS).collect();
            let name = sanitize::sanitize_line(skill.name()).into_owned();
            (name, show::word(server), digest, skill)
        })
        .collect();
    let width = |text: &str| text.chars().count();
    let names = rows.iter().map(|row| width(&row.0)).max().unwrap_or(0).min(40);
    let servers = rows.iter().map(|row| width(&row.1)).max().unwrap_or(0).min(30);
    let digests = rows.iter().map(|row| width(&row.2)).max().unwrap_or(0);
    for (name, server, digest, skill) in &rows {
        let first = skill.description().lines().next().unwrap_or_default();
        let before = names + servers + digests + 6;
        let about = show::fit_to_width(&sanitize::sanitize_line(first), before);
        let about = show::dim(&about);
        let line =
            format!("{BOLD}{name:names$}{BOLD:#}  {server:servers$}  {digest:digests$}  {about}");
        printer.line(line.trim_end());
    }
}
