//! Tests of a setup that meets files in another state than planned: changed since, unwritable, large, linked to nothing.

use std::fs;
use std::path::Path;

use switchboard_config::install::LaunchCommand;
use switchboard_config::setup::{SetupObstacle, SetupOptions, SetupPlan, carry_out, plan_setup};
use switchboard_config::{Error, Platform};

use crate::case::World;

const CURSOR: &str = "home/.cursor/mcp.json";
const GEMINI: &str = "home/.gemini/settings.json";
const OURS: &str = "config/settings.json";

/// A world with two clients, which have a server each.
fn two_clients() -> World {
    let world = World::new();
    world.write(CURSOR, r#"{"mcpServers": {"one": {"command": "one"}}}"#);
    world.write(GEMINI, r#"{"mcpServers": {"two": {"command": "two"}}}"#);
    world
}

fn options() -> SetupOptions {
    let program = "/opt/bin/switchboard".into();
    SetupOptions {
        clients: Vec::new(),
        name: "switchboard".to_owned(),
        launch: LaunchCommand { program, args: vec!["connect".to_owned()] },
        platform: Platform::Linux,
    }
}

fn plan(world: &World) -> SetupPlan {
    plan_setup(&world.workspace(), &world.surroundings, &options())
}

fn text(world: &World, file: &str) -> Option<String> {
    fs::read_to_string(world.path(file)).ok()
}

/// Carries out a plan; what changed meanwhile is named, and no file is written.
#[track_caller]
fn check_refused(change: impl FnOnce(&World)) -> Error {
    let world = two_clients();
    let plan = plan(&world);
    change(&world);
    let before = [CURSOR, GEMINI, OURS].map(|file| text(&world, file));
    let error = carry_out(&plan, &world.workspace(), &world.surroundings, &options(), None)
        .expect_err("nobody agreed to this");
    assert_eq!([CURSOR, GEMINI, OURS].map(|file| text(&world, file)), before);
    error
}

#[test]
fn a_plan_that_is_not_what_a_person_saw_is_not_carried_out() {
    let check = |file: &str, now: &str| {
        let error = check_refused(|world| world.write(file, now));
        let Error::PlanOutdated { path } = &error else { panic!("{file} {now}: {error}") };
        assert!(path.ends_with(file), "{}", path.display());
    };
    check(CURSOR, r#"{"mcpServers": {"one": {"command": "other"}}}"#);
    check(CURSOR, r#"{"mcpServers": {}}"#);
    check(GEMINI, r#"{"mcpServers": {"two": {"command": "two"}, "three": {"command": "three"}}}"#);
    check(GEMINI, r#"{"mcpServers": "#);
}

#[test]
fn a_file_that_changed_elsewhere_is_set_up_as_planned() {
    let world = two_clients();
    let plan = plan(&world);
    world.write(
        CURSOR,
        "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\"one\": {\"command\": \"one\"}}\n}\n",
    );
    let done = carry_out(&plan, &world.workspace(), &world.surroundings, &options(), None).unwrap();
    assert_eq!((done.imported, done.changed.len()), (vec!["one".to_owned(), "two".to_owned()], 2));
    let cursor = text(&world, CURSOR).unwrap();
    assert!(cursor.contains("dark") && cursor.contains("connect"), "{cursor}");
    assert!(!cursor.contains("\"one\""), "{cursor}");
}

#[test]
fn no_client_changes_where_our_settings_cannot() {
    let error = check_refused(|world| world.write(OURS, "{\"mcpServers\": "));
    assert!(matches!(error, Error::Edit { .. }), "{error}");
}

/// The person has renamed the program, so that its entry is known by its path only.
#[test]
fn a_program_under_another_name_finds_its_own_entry_again() {
    let world = two_clients();
    let mut options = options();
    options.launch.program = "/opt/bin/sb".into();
    let plan = || plan_setup(&world.workspace(), &world.surroundings, &options);
    carry_out(&plan(), &world.workspace(), &world.surroundings, &options, None).unwrap();
    let cursor = text(&world, CURSOR).unwrap();
    assert!(cursor.contains("/opt/bin/sb"), "{cursor}");
    let again = plan();
    assert!(again.is_empty(), "{again:?}");
}

/// A client's servers that were inherited until now move like all others, and stay no second time.
#[test]
fn servers_that_were_inherited_move_over() {
    let world = two_clients();
    world.write(OURS, r#"{"inherit": ["cursor"]}"#);
    world.write("home/.claude.json", r#"{"mcpServers": {"first": {"command": "one"}}}"#);
    let done = carry_out(&plan(&world), &world.workspace(), &world.surroundings, &options(), None);
    assert_eq!(done.unwrap().imported, ["first", "two"]);
    assert!(!text(&world, CURSOR).unwrap().contains("\"one\""));
    let desired = world.workspace().desired();
    let names: Vec<_> = desired.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(names, ["first", "two"]);
    assert!(plan(&world).is_empty());
}

/// Claude Code keeps its history in the file of its servers.
#[test]
fn a_client_may_have_a_large_file() {
    let world = two_clients();
    let history = "x".repeat(5 << 20);
    let large = format!(
        "{{\"history\": \"{history}\", \"mcpServers\": {{\"large\": {{\"command\": \"x\"}}}}}}"
    );
    world.write("home/.claude.json", &large);
    let plan = plan(&world);
    let names: Vec<_> = plan.import.add.iter().map(|planned| &*planned.name).collect();
    assert_eq!(names, ["large", "one", "two"]);
    assert!(plan.clients.iter().all(|client| client.obstacle.is_none()));
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let check = |make: &dyn Fn(&Path), reason: &str| {
        let world = two_clients();
        fs::remove_file(world.path(CURSOR)).unwrap();
        make(&world.path(CURSOR));
        let plan = plan(&world);
        let obstacle = plan.clients.iter().find_map(|client| client.obstacle.as_ref()).unwrap();
        let SetupObstacle::Unreadable(problem) = obstacle else { panic!("{obstacle:?}") };
        assert!(problem.message.ends_with(reason), "{}", problem.message);
        assert_eq!(plan.import.add.len(), 1, "the other client is set up");
    };
    let link = |path: &Path| std::os::unix::fs::symlink("/no/such/file", path).unwrap();
    check(&link, "it is a link to a file that does not exist");
    check(&|path| fs::write(path, b"{\"a\": \"caf\xe9\"}").unwrap(), "it is not UTF-8 text");
    let too_large = |path: &Path| fs::File::create(path).unwrap().set_len(65 << 20).unwrap();
    check(&too_large, "it is larger than 64 MiB");
    check(&|path| make_pipe(path), "it is not a regular file");
}

/// A pipe that nobody writes to: opening it would wait forever.
fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}
