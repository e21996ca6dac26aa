//! Tests of the commands' changes to files and to user state.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;
use switchboard_config::import::{ClientApp, ClientFileOwner, PlannedImport};
use switchboard_config::{Error, OnExistingEntry, Scope, SecretVisibility, ServerSwitch};

use crate::case::{World, render};

fn shown(world: &World) -> String {
    world.tidy(&render(&world.desired()))
}

fn text(world: &World, place: &str) -> String {
    fs::read_to_string(world.path(place)).unwrap()
}

#[test]
fn add_writes_and_approves_what_it_wrote() {
    let world = World::new();
    world.write("project/.mcp.json", "{\"mcpServers\": {\"theirs\": {\"command\": \"evil\"}}}");
    let entry = json!({ "command": "npx", "args": ["-y", "x"] });
    for scope in [Scope::Local, Scope::Project, Scope::User] {
        let path = world
            .workspace()
            .add(scope, &format!("my-{scope}"), &entry, OnExistingEntry::Keep)
            .unwrap();
        assert!(path.exists());
    }
    assert_eq!(
        shown(&world),
        "my-local ready (local project/.switchboard/settings.local.json:3:5): npx -y x\n\
         theirs awaiting-approval (project project/.mcp.json:1:17)\n\
         my-project ready (project project/.mcp.json:1:48): npx -y x\n\
         my-user ready (user config/settings.json:3:5): npx -y x\n\
         pending server theirs"
    );
    assert_eq!(text(&world, "project/.switchboard/.gitignore"), "settings.local.json\n");
}

#[test]
fn add_refuses_what_it_should() {
    let world = World::new();
    let workspace = world.workspace();
    let add = |name: &str, entry| workspace.add(Scope::Local, name, &entry, OnExistingEntry::Keep);
    assert!(matches!(add("a b", json!({ "command": "x" })), Err(Error::Name(_))));
    let Err(Error::Entry { problems, .. }) = add("a", json!({ "timeout": 5 })) else { panic!() };
    assert_eq!(problems[0].message, "server `a` has neither `command` nor `url`");
    add("a", json!({ "command": "x" })).unwrap();
    let error = add("a", json!({ "command": "y" })).unwrap_err();
    assert_eq!(
        world.tidy(&error.to_string()),
        "there is a server `a` in the local scope already, at project/.switchboard/settings.local.json:3:5"
    );
    workspace.add(Scope::Local, "a", &json!({ "command": "y" }), OnExistingEntry::Replace).unwrap();
    assert!(
        shown(&world).contains("a ready (local project/.switchboard/settings.local.json:3:5): y")
    );
    assert!(matches!(
        workspace.add(Scope::Plugin, "a", &json!({ "command": "x" }), OnExistingEntry::Keep),
        Err(Error::ReadOnly { .. })
    ));
    world.write(
        "managed/managed-settings.json",
        "{\"deniedMcpServers\": [{\"serverName\": \"b\"}]}",
    );
    assert!(matches!(add("b", json!({ "command": "x" })), Err(Error::Blocked { .. })));
    world.write("managed/managed-mcp.json", "{");
    assert!(matches!(add("c", json!({ "command": "x" })), Err(Error::Managed { .. })));
}

#[test]
fn add_takes_entries_whose_variables_have_no_values_yet() {
    let world = World::new();
    let entry = json!({ "type": "http", "url": "https://${HOST}/mcp" });
    world.workspace().add(Scope::User, "a", &entry, OnExistingEntry::Keep).unwrap();
    assert!(shown(&world).starts_with("a invalid (user"));
}

#[test]
fn remove_needs_one_that_can_be_meant() {
    let world = World::new();
    let workspace = world.workspace();
    let entry = json!({ "command": "x" });
    workspace.add(Scope::Local, "a", &entry, OnExistingEntry::Keep).unwrap();
    workspace.add(Scope::User, "a", &entry, OnExistingEntry::Keep).unwrap();
    let error = workspace.remove("a", None).unwrap_err().to_string();
    assert_eq!(error, "there is a server `a` in several scopes: local, user");
    assert_eq!(workspace.remove("a", Some(Scope::Local)).unwrap().0, Scope::Local);
    assert_eq!(workspace.remove("a", None).unwrap().0, Scope::User);
    assert!(matches!(workspace.remove("a", None), Err(Error::NoServer { .. })));
    world.write("config/plugins/p/.mcp.json", "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}");
    let error = workspace.remove("plugin:p:x", None).unwrap_err().to_string();
    assert_eq!(error, "the plugin scope cannot be changed here");
}

#[test]
fn a_server_of_an_ancestor_is_removed_where_it_stands() {
    let mut world = World::new();
    world.write("home/.mcp.json", "{\"mcpServers\": {\"far\": {\"command\": \"x\"}}}");
    world.write("project/.git/HEAD", "");
    world.surroundings.cwd = world.path("project");
    let (scope, path) = world.workspace().remove("far", None).unwrap();
    assert_eq!((scope, path), (Scope::Project, world.path("home/.mcp.json")));
    assert_eq!(text(&world, "home/.mcp.json"), "{\"mcpServers\": {}}");
}

#[test]
fn switching() {
    let world = World::new();
    let workspace = world.workspace();
    workspace.add(Scope::User, "a", &json!({ "command": "x" }), OnExistingEntry::Keep).unwrap();
    workspace.switch(Scope::Local, "a", ServerSwitch::Off).unwrap();
    assert!(shown(&world).contains("a disabled"));
    workspace.switch(Scope::Local, "a", ServerSwitch::Off).unwrap();
    workspace.switch(Scope::Local, "a", ServerSwitch::On).unwrap();
    assert!(shown(&world).contains("a ready"));
    assert!(
        !text(&world, "project/.switchboard/settings.local.json")
            .contains("enabledMcpServers\": [\n")
    );
    workspace.switch(Scope::User, "a", ServerSwitch::Off).unwrap();
    workspace.switch(Scope::Local, "a", ServerSwitch::On).unwrap();
    assert_eq!(shown(&world), "a ready (user config/settings.json:3:5): x");
    assert!(matches!(
        workspace.switch(Scope::User, "z", ServerSwitch::On),
        Err(Error::NoServer { .. })
    ));
}

/// A server is added, disabled, removed and added again.
#[test]
fn a_removed_server_takes_its_switches_along() {
    use Scope::{Local, User};
    let check = |added: Scope, switched: &[Scope], again: &str| {
        let world = World::new();
        let workspace = world.workspace();
        let add = || workspace.add(added, "a", &json!({ "command": "x" }), OnExistingEntry::Keep);
        add().unwrap();
        for scope in switched {
            workspace.switch(*scope, "a", ServerSwitch::Off).unwrap();
        }
        assert!(shown(&world).contains("a disabled"));
        workspace.remove("a", None).unwrap();
        add().unwrap();
        let shown = shown(&world);
        assert!(shown.contains(again), "{added:?} {switched:?}: {shown}");
    };
    check(Local, &[Local], "a ready");
    check(User, &[User], "a ready");
    check(User, &[Local], "a ready");
    check(User, &[Local, User], "a ready");
    // Other projects may have a server with this name, which must stay disabled.
    check(Local, &[User], "a disabled");
}

#[test]
fn a_switch_stays_while_another_server_has_the_name() {
    let world = World::new();
    let workspace = world.workspace();
    workspace.add(Scope::User, "a", &json!({ "command": "x" }), OnExistingEntry::Keep).unwrap();
    workspace.add(Scope::Local, "a", &json!({ "command": "y" }), OnExistingEntry::Keep).unwrap();
    workspace.switch(Scope::Local, "a", ServerSwitch::Off).unwrap();
    workspace.remove("a", Some(Scope::Local)).unwrap();
    assert!(shown(&world).contains("a disabled"), "{}", shown(&world));
}

#[test]
fn approving_rejecting_and_forgetting() {
    let world = World::new();
    world.write(
        "project/.mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"y\"}}}",
    );
    let items: Vec<_> = world.desired().pending.into_iter().map(|pending| pending.item).collect();
    let workspace = world.workspace();
    workspace.approve(&items[..1]).unwrap();
    workspace.reject(&items[1..]).unwrap();
    let states = |world: &World| {
        world.desired().servers.iter().map(|server| server.state.name()).collect::<Vec<_>>()
    };
    assert_eq!(states(&world), ["ready", "rejected"]);
    workspace.reject(&items[..1]).unwrap();
    assert_eq!(states(&world), ["rejected", "rejected"]);
    assert_eq!(workspace.forget_approvals().unwrap(), 2);
    assert_eq!(states(&world), ["awaiting-approval", "awaiting-approval"]);
}

#[test]
fn an_entry_is_edited_where_it_stands() {
    let world = World::new();
    world.write(
        "project/.mcp.json",
        "{\n  // ours\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" } // why\n  }\n}\n",
    );
    let workspace = world.workspace();
    let (scope, path) = workspace.find("a", None).unwrap();
    let edited = json!({ "command": "y" });
    workspace.replace(scope, &path, "a", &edited).unwrap();
    assert_eq!(
        text(&world, "project/.mcp.json"),
        "{\n  // ours\n  \"mcpServers\": {\n    \"a\": { \"command\": \"y\" } // why\n  }\n}\n",
    );
    assert_eq!(shown(&world), "a ready (project project/.mcp.json:4:5): y");
    let error = workspace.replace(scope, &path, "a", &json!({ "command": 5 }));
    assert!(matches!(error, Err(Error::Entry { .. })));
}

#[test]
fn an_import_is_planned_then_added() {
    let world = World::new();
    world.write(
        "home/.codex/config.toml",
        "[mcp_servers.docs]\ncommand = \"docs\"\n[mcp_servers.mine]\ncommand = \"x\"\n",
    );
    world.write("project/.codex/config.toml", "[mcp_servers.evil]\ncommand = \"evil\"\n");
    let workspace = world.workspace();
    workspace.add(Scope::User, "here", &json!({ "command": "x" }), OnExistingEntry::Keep).unwrap();
    let plan = || {
        let read = workspace.read_client_files(&[ClientApp::Codex], ClientFileOwner::User);
        workspace.plan_import(read, None)
    };
    assert_eq!(plan().skip.len(), 1);
    for PlannedImport { name, scope, candidate } in &plan().add {
        workspace.add(*scope, name, &candidate.entry, OnExistingEntry::Keep).unwrap();
    }
    let names: Vec<_> = world.desired().servers.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["here", "docs"]);
    assert_eq!(plan().add, []);
}

#[test]
fn reset_is_about_one_project() {
    let mut world = World::new();
    world.write("project/.mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    world.write("home/project-two/.mcp.json", "{\"mcpServers\": {\"b\": {\"command\": \"x\"}}}");
    world.approve(|_| true);
    world.surroundings.cwd = world.path("home/project-two");
    world.approve(|_| true);
    assert_eq!(world.workspace().forget_approvals().unwrap(), 1);
    world.surroundings.cwd = world.path("project");
    assert_eq!(world.desired().ready_servers().count(), 1);
}

#[test]
fn shown_is_the_template_and_masked() {
    let world = World::new();
    world.write("config/settings.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"K\": \"s3cret\", \"T\": \"${HOME}\"}}}}");
    let desired = world.desired();
    let server = desired.servers_named("a").next().unwrap();
    assert_eq!(
        server.template_json(SecretVisibility::Masked),
        json!({ "command": "x", "env": { "K": "********", "T": "${HOME}" } })
    );
    assert_eq!(
        server.template_json(SecretVisibility::Revealed),
        json!({ "command": "x", "env": { "K": "s3cret", "T": "${HOME}" } })
    );
    assert!(!format!("{desired:?}").contains("s3cret"), "debugging output is no place for secrets");
}

#[test]
fn every_file_looked_at_can_be_watched() {
    let world = World::new();
    world.write("config/plugins/p/.mcp.json", "{}");
    let watched: Vec<_> = world
        .desired()
        .watched
        .iter()
        .map(|path| world.tidy(&path.display().to_string()))
        .collect();
    let wanted = [
        "config/settings.json",
        "project/.mcp.json",
        "home/.mcp.json",
        "/.mcp.json",
        "project/.switchboard/settings.json",
        "project/.switchboard/settings.local.json",
        "project/.switchboard/agents",
        "config/agents",
        "config/plugins",
        "config/plugins/p/.mcp.json",
        "managed/managed-settings.json",
        "managed/managed-settings.d",
        "managed/managed-mcp.json",
        "state/approvals.json",
    ];
    for place in wanted {
        assert!(watched.iter().any(|seen| seen == place), "{place} is not among {watched:?}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(world: &World, place: &str) -> u32 {
        fs::metadata(world.path(place)).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn state_is_private() {
        let world = World::new();
        fs::set_permissions(world.path("state"), fs::Permissions::from_mode(0o755)).unwrap();
        world.write("state/approvals.json", "{}");
        world
            .workspace()
            .add(Scope::Local, "a", &json!({ "command": "x" }), OnExistingEntry::Keep)
            .unwrap();
        assert_eq!((mode(&world, "state"), mode(&world, "state/approvals.json")), (0o700, 0o600));
    }

    #[test]
    fn mode_and_links_are_kept() {
        let world = World::new();
        world.write("home/dotfiles/settings.json", "{}");
        fs::set_permissions(
            world.path("home/dotfiles/settings.json"),
            fs::Permissions::from_mode(0o640),
        )
        .unwrap();
        symlink("../home/dotfiles/settings.json", world.path("config/settings.json")).unwrap();
        world
            .workspace()
            .add(Scope::User, "a", &json!({ "command": "x" }), OnExistingEntry::Keep)
            .unwrap();
        assert!(fs::symlink_metadata(world.path("config/settings.json")).unwrap().is_symlink());
        assert!(text(&world, "home/dotfiles/settings.json").contains("\"a\""));
        assert_eq!(mode(&world, "home/dotfiles/settings.json"), 0o640);
    }

    #[test]
    fn a_link_to_nowhere_is_followed() {
        let world = World::new();
        symlink(world.path("home/later.json"), world.path("config/settings.json")).unwrap();
        world
            .workspace()
            .add(Scope::User, "a", &json!({ "command": "x" }), OnExistingEntry::Keep)
            .unwrap();
        assert!(text(&world, "home/later.json").contains("\"a\""));
    }

    #[test]
    fn a_project_cannot_lead_us_out_of_it() {
        let world = World::new();
        world.write("home/.bashrc", "alias x=y\n");
        world.write("config/settings.json", "{}");
        fs::create_dir_all(world.path("project/.switchboard")).unwrap();
        let entry = json!({ "command": "x" });
        let add = |scope| world.workspace().add(scope, "a", &entry, OnExistingEntry::Keep);
        symlink("../../.bashrc", world.path("project/.switchboard/.gitignore")).unwrap();
        assert!(matches!(add(Scope::Local), Err(Error::LinkNotFollowed { .. })));
        fs::remove_file(world.path("project/.switchboard/.gitignore")).unwrap();
        symlink(
            "../../../config/settings.json",
            world.path("project/.switchboard/settings.local.json"),
        )
        .unwrap();
        assert!(matches!(add(Scope::Local), Err(Error::LinkNotFollowed { .. })));
        symlink("../.bashrc", world.path("project/.mcp.json")).unwrap();
        assert!(matches!(add(Scope::Project), Err(Error::LeadsOut { .. })));
        fs::remove_dir_all(world.path("project/.switchboard")).unwrap();
        symlink("../../config", world.path("project/.switchboard")).unwrap();
        assert!(matches!(add(Scope::Local), Err(Error::LinkNotFollowed { .. })));
        assert_eq!(
            (&*text(&world, "home/.bashrc"), &*text(&world, "config/settings.json")),
            ("alias x=y\n", "{}")
        );
    }

    #[test]
    fn new_user_settings_are_private() {
        let world = World::new();
        world
            .workspace()
            .add(Scope::User, "a", &json!({ "command": "x" }), OnExistingEntry::Keep)
            .unwrap();
        assert_eq!(mode(&world, "config/settings.json"), 0o600);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let world = World::new();
        world.write("config/settings.json", "{\"mcpServers\": {");
        let error = world.workspace().add(
            Scope::User,
            "a",
            &json!({ "command": "x" }),
            OnExistingEntry::Keep,
        );
        assert!(matches!(error, Err(Error::Edit { .. })));
        assert_eq!(text(&world, "config/settings.json"), "{\"mcpServers\": {");
        assert_eq!(
            fs::read_dir(world.path("config")).unwrap().count(),
            1,
            "no temporary file stays behind"
        );
    }

    #[test]
    fn pipes_and_devices_are_not_read() {
        let world = World::new();
        let made = Command::new("mkfifo").arg(world.path("project/.mcp.json")).status();
        assert!(made.unwrap().success());
        symlink("/dev/zero", world.path("config/settings.json")).unwrap();
        let shown = shown(&world);
        assert_eq!(shown.matches("it is not a regular file").count(), 2, "{shown}");
    }
}

/// Two hundred processes at once add a server to each of two files; none is lost.
#[test]
fn concurrent_adds_lose_nothing() {
    let world = World::new();
    world.write("project/.mcp.json", "{\n  // shared\n  \"mcpServers\": {}\n}\n");
    let children: Vec<_> = (0..200)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "workspace::add_one", "--ignored"])
                .env("ADD_NUMBER", number.to_string())
                .env("ADD_HOME", world.path(""))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let desired = world.desired();
    assert_eq!(desired.problems, []);
    assert_eq!(desired.ready_servers().count(), 200, "every one is there and approved");
    assert!(text(&world, "project/.mcp.json").starts_with("{\n  // shared\n"));
}

/// A process that cannot finish is killed with a temporary file; the next process removes that file, and no
/// other.
#[test]
fn what_a_killed_process_left_is_removed() {
    let world = World::new();
    let text = "{\n  \"mcpServers\": {}\n}\n";
    world.write("project/.mcp.json", text);
    world.write("project/.switchboard-of-another.tmp", "");
    let add = |limit: &str| {
        let script = format!("ulimit -f {limit}; exec \"$0\" --exact workspace::add_one --ignored");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        command.env("ADD_NUMBER", "1").env("ADD_HOME", world.path(""));
        command.stdout(Stdio::null()).status().unwrap()
    };
    let staged = || {
        let entries = fs::read_dir(world.path("project")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "tmp")).count()
    };
    for _ in 0..2 {
        assert!(!add("0").success(), "it was to be killed");
        assert_eq!(staged(), 2, "one of another, and one that the killed process left");
        assert_eq!(fs::read_to_string(world.path("project/.mcp.json")).unwrap(), text);
    }
    assert!(add("unlimited").success());
    assert_eq!(staged(), 1, "only what is another's");
    assert_eq!(world.desired().ready_servers().count(), 1);
}

/// One of the two hundred processes.
#[test]
#[ignore = "run by the tests above, as processes of their own"]
fn add_one() {
    let (Ok(number), Ok(home)) = (std::env::var("ADD_NUMBER"), std::env::var("ADD_HOME")) else {
        return;
    };
    let world = World::at(home.as_ref());
    let entry = json!({ "command": "x", "args": [number] });
    world
        .workspace()
        .add(Scope::Project, &format!("s{number}"), &entry, OnExistingEntry::Keep)
        .unwrap();
}

/// A session may be stricter than the administrator's mode, not laxer; a user's own mode does not bind a session.
#[test]
fn a_session_only_restricts_the_mode_of_an_administrator() {
    use switchboard_config::PermissionMode;
    let world = World::new();
    let mode = |session| world.desired().rules.effective_mode(session, PermissionMode::Client);
    let settings = |word: &str| json!({ "permissions": { "defaultMode": word } }).to_string();
    assert_eq!(mode(None), PermissionMode::Client);
    world.write("config/settings.json", &settings("dontAsk"));
    assert_eq!(mode(None), PermissionMode::DontAsk);
    assert_eq!(mode(Some(PermissionMode::BypassPermissions)), PermissionMode::BypassPermissions);
    world.write("managed/managed-settings.json", &settings("dontAsk"));
    for asked in [
        PermissionMode::BypassPermissions,
        PermissionMode::Client,
        PermissionMode::Plan,
        PermissionMode::Auto,
    ] {
        assert_eq!(mode(Some(asked)), PermissionMode::DontAsk, "{asked:?}");
    }
    world.write("managed/managed-settings.json", &settings("default"));
    assert_eq!(mode(None), PermissionMode::Default);
    assert_eq!(mode(Some(PermissionMode::Auto)), PermissionMode::Default);
    assert_eq!(mode(Some(PermissionMode::DontAsk)), PermissionMode::DontAsk);
}
