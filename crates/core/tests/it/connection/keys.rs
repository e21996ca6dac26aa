//! Tests of connection keys: when two entries share one connection.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use switchboard_config::{
    Entry, InheritEnv, RemoteTransport, ServerSharing, StdioTransport, ToolFilter, Transport,
};
use switchboard_core::connection::{ConnectionSharing, ConnectionSpec, ConnectionTarget};
use switchboard_testkit::scripted::Scripted;
use switchboard_wire::Era;

/// A change to one part of a spec.
type Change = fn(&mut ConnectionSpec);

/// What a change makes of a connection.
#[derive(Debug, PartialEq)]
enum Becomes {
    TheSame,
    Another,
}

fn stdio(spec: &mut ConnectionSpec) -> &mut StdioTransport {
    match entry(spec) {
        Entry { transport: Transport::Stdio(stdio), .. } => stdio,
        _ => panic!("not a process"),
    }
}

fn entry(spec: &mut ConnectionSpec) -> &mut Entry {
    match &mut spec.reach {
        ConnectionTarget::Entry(entry) => entry,
        ConnectionTarget::InProcess(_) => panic!("no entry"),
    }
}

/// A spec of a process, with two folders in which its command can be found.
fn process(folder: &Path) -> ConnectionSpec {
    for name in ["one", "two"] {
        let bin = folder.join(name);
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("server"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join("server"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("vars"), "SECRET=1\n").unwrap();
    let stdio = StdioTransport {
        command: "server".into(),
        args: vec!["--flag".into()],
        env: [("A".to_owned(), "1".to_owned())].into(),
        ..StdioTransport::default()
    };
    let mut spec = super::bench::spec("server", &Scripted::new([]));
    spec.reach = ConnectionTarget::Entry(Box::new(Entry::new(Transport::Stdio(stdio))));
    spec.working_dir = folder.into();
    let path = folder.join("one");
    spec.environment =
        [("PATH".into(), path.into()), ("HOME".into(), "/h".into()), ("KEY".into(), "k".into())]
            .into();
    spec.root = Some(folder.to_owned());
    spec.credential_id = "me".into();
    spec
}

fn remote(_: &Path) -> ConnectionSpec {
    let remote = RemoteTransport {
        url: "https://example.test/mcp".into(),
        headers: [("x-team".to_owned(), "a".to_owned())].into(),
        ..RemoteTransport::default()
    };
    let mut spec = super::bench::spec("server", &Scripted::new([]));
    spec.reach = ConnectionTarget::Entry(Box::new(Entry::new(Transport::Http(remote))));
    spec
}

fn with_environment(
    spec: &mut ConnectionSpec,
    change: impl FnOnce(&mut Vec<(std::ffi::OsString, std::ffi::OsString)>),
) {
    let mut environment = spec.environment.to_vec();
    change(&mut environment);
    spec.environment = environment.into();
}

#[track_caller]
fn check(of: fn(&Path) -> ConnectionSpec, changes: &[(&str, Change)], expected: &Becomes) {
    for (what, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let plain = of(folder.path());
        let mut other = of(folder.path());
        change(&mut other);
        let same = plain.key() == other.key();
        let found = if same { Becomes::TheSame } else { Becomes::Another };
        assert_eq!(found, *expected, "{what}");
    }
}

#[test]
fn what_the_server_could_notice_makes_another_connection() {
    let changes: &[(&str, Change)] = &[
        ("command", |spec| stdio(spec).command = "other".into()),
        ("argument", |spec| stdio(spec).args.push("x".into())),
        ("arguments joined", |spec| stdio(spec).args = vec!["--fl".into(), "ag".into()]),
        ("variable of the entry", |spec| {
            stdio(spec).env.insert("A".into(), "2".into());
        }),
        ("inherited variable", |spec| {
            stdio(spec).inherit_env = InheritEnv::Names(vec!["KEY".into()]);
        }),
        ("file of variables", |spec| stdio(spec).env_file = Some("vars".into())),
        ("usual variable of the caller", |spec| {
            with_environment(spec, |env| env[1].1 = "/other".into());
        }),
        ("the caller's PATH", |spec| {
            let path = spec.working_dir.join("two");
            with_environment(spec, |env| env[0].1 = path.into());
        }),
        ("terminal that the entry names", |spec| {
            stdio(spec).inherit_env = InheritEnv::Names(vec!["TERM".into()]);
            with_environment(spec, |env| env.push(("TERM".into(), "another".into())));
        }),
        ("registry of the caller", |spec| {
            let registry = ("npm_config_registry".into(), "https://npm.invalid/".into());
            with_environment(spec, |env| env.push(registry));
        }),
        ("PATH of the entry", |spec| {
            let path = format!("/nowhere:{}", spec.working_dir.join("one").display());
            stdio(spec).env.insert("PATH".into(), path);
        }),
        ("folder", |spec| spec.working_dir = spec.working_dir.join("one")),
        ("folder of the entry", |spec| stdio(spec).cwd = Some("two".into())),
        ("no root", |spec| spec.root = None),
        ("root", |spec| spec.root = Some("/elsewhere".into())),
        ("sampling", |spec| spec.class.sampling = true),
        ("forms", |spec| spec.class.form = false),
        ("era", |spec| spec.era = Some(Era::Legacy)),
        ("principal", |spec| spec.principal = Some("ann@1".into())),
        ("session", |spec| spec.variant = ConnectionSharing::Session("s".into())),
        ("credential", |spec| spec.credential_id = "you".into()),
    ];
    check(process, changes, &Becomes::Another);
    let changes: &[(&str, Change)] = &[
        ("url", |spec| {
            let remote = RemoteTransport {
                url: "https://example.test/other".into(),
                ..RemoteTransport::default()
            };
            entry(spec).transport = Transport::Http(remote);
        }),
        ("transport", |spec| {
            let Transport::Http(remote) = entry(spec).transport.clone() else { panic!() };
            entry(spec).transport = Transport::Sse(remote);
        }),
        ("secret in a header", |spec| {
            let Transport::Http(remote) = &mut entry(spec).transport else { panic!() };
            remote.headers.insert("x-team".into(), "b".into());
        }),
        ("proxy", |spec| {
            with_environment(spec, |env| env.push(("https_proxy".into(), "proxy:1".into())));
        }),
        ("hosts without a proxy", |spec| {
            with_environment(spec, |env| env.push(("NO_PROXY".into(), "example.test".into())));
        }),
        ("credential", |spec| spec.credential_id = "you".into()),
    ];
    check(remote, changes, &Becomes::Another);
}

#[test]
fn what_it_could_not_notice_does_not() {
    let changes: &[(&str, Change)] = &[
        ("nothing", |_| {}),
        ("name", |spec| spec.server = "other".into()),
        ("tools shown", |spec| {
            entry(spec).tools = ToolFilter { allow: None, deny: vec!["x".into()] };
        }),
        ("timeout", |spec| entry(spec).timeout = Some(5000)),
        ("always loaded", |spec| entry(spec).always_load = true),
        ("shared", |spec| entry(spec).share = ServerSharing::Always),
        ("order of the caller's variables", |spec| with_environment(spec, |env| env.reverse())),
        ("a variable that is overruled", |spec| {
            with_environment(spec, |env| env.insert(0, ("HOME".into(), "/old".into())));
        }),
        ("terminal, display and session of the caller", |spec| {
            with_environment(spec, |env| {
                let login = ["TERM", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID"];
                env.extend(login.map(|name| (name.into(), "another".into())));
            });
        }),
        ("what npm sets for a client that it starts", |spec| {
            with_environment(spec, |env| {
                let own = ["npm_config_prefix", "npm_config_cache", "npm_config_local_prefix"];
                env.extend(own.map(|name| (name.into(), "another".into())));
            });
        }),
        ("a PATH that leads to the same program", |spec| {
            let path = format!("/nowhere:{}", spec.working_dir.join("one").display());
            with_environment(spec, |env| env[0].1 = path.into());
        }),
        ("a variable the server does not get", |spec| {
            with_environment(spec, |env| env[2].1 = "another key".into());
        }),
    ];
    check(process, changes, &Becomes::TheSame);
    // A remote server sees neither the caller's environment nor its folders.
    let changes: &[(&str, Change)] = &[
        ("environment", |spec| {
            with_environment(spec, |env| env.push(("PATH".into(), "/x".into())));
        }),
        ("folder", |spec| spec.working_dir = "/x".into()),
    ];
    check(remote, changes, &Becomes::TheSame);
}

/// A command that moves is another command, and so is one that appears.
#[test]
fn a_key_goes_with_the_file_and_the_variables_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = process(folder.path());
    stdio(&mut spec).env_file = Some("vars".into());
    let before = spec.key();
    fs::write(folder.path().join("vars"), "SECRET=2\n").unwrap();
    assert_ne!(before, spec.key());
    fs::write(folder.path().join("vars"), "SECRET=1\n").unwrap();
    assert_eq!(before, spec.key());
    fs::remove_file(folder.path().join("one/server")).unwrap();
    assert_ne!(before, spec.key());
}
