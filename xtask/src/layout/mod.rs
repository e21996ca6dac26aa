//! `crates/cli/layout.ld`: what runs once clients come, as the linker is to lay it side by side in the program.
//!
//! Beside it stands what runs at the start, to which fewer pages belong then.
//!
//! A profiler sees which functions run when; the linker says what it made the program of. Names are written without
//! what changes from build to build, as far as they tell things apart without it. A line that matches nothing does no
//! harm.

mod map;
mod script;
mod trace;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::bench::{LOADS, load as make_load};
use crate::command::{cargo, run as run_command, succeeds};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

/// How the names of what the profiler writes end.
const TRACE: &str = "calls";
/// The program without any.
const START: &[&str] = &["start"];

pub(crate) fn run(args: Args) -> Result<()> {
    args.end()?;
    if !succeeds(Command::new("valgrind").arg("--version")) {
        return Err(Failure::new("valgrind is not there").hint("install Debian's `valgrind`"));
    }
    let folder = paths::target().join("layout");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).about("make", &folder)?;
    let map = folder.join("map");
    let mut build = cargo(&["build", "--release", "-p", "switchboard-cli"]);
    run_command(build.env("SWITCHBOARD_LINK_MAP", &map))?;

    let program = traced(&folder)?;
    let trace = |load: &[&str]| trace(&folder, &program, load);
    let start: HashMap<_, _> = trace(START)?.into_iter().flatten().collect();
    let mut later = BTreeSet::new();
    for load in LOADS {
        let more = |(name, calls): &(String, u64)| *calls > start.get(name).copied().unwrap_or(0);
        later.extend(trace(load)?.into_iter().flatten().filter(more).map(|(name, _)| name));
    }
    let start = start.into_keys().filter(|name| !later.contains(name)).collect();
    let sections = map::sections(&fs::read_to_string(&map).about("read", &map)?);
    let (script, size) = script::write(&sections, &[("served", later), ("started", start)]);
    let place = paths::root().join("crates/cli/layout.ld");
    fs::write(&place, &script).about("write", &place)?;
    println!(
        "{} lines for {} KiB of code in {}",
        script.lines().count(),
        size / 1024,
        place.display()
    );
    Ok(())
}

/// How often each function is called under a load, in each process of the program.
fn trace(folder: &Path, program: &Path, load: &[&str]) -> Result<Vec<HashMap<String, u64>>> {
    make_load(program, load)?;
    let mut processes = Vec::new();
    for entry in fs::read_dir(folder).about("read", folder)? {
        let place = entry.about("read", folder)?.path();
        if place.extension().is_some_and(|kind| kind == TRACE) {
            processes.push(trace::calls(&fs::read_to_string(&place).about("read", &place)?));
            fs::remove_file(&place).about("remove", &place)?;
        }
    }
    Ok(processes)
}

/// A program that is ours, under the eyes of the profiler.
fn traced(folder: &Path) -> Result<PathBuf> {
    let (place, ours) = (folder.join("switchboard"), paths::target().join("release/switchboard"));
    let text = format!(
        "#!/bin/sh\nexec valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file='{}/%p.{TRACE}' '{}' \"$@\"\n",
        folder.display(),
        ours.display()
    );
    fs::write(&place, text).about("write", &place)?;
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).about("change", &place)?;
    Ok(place)
}
