//! Tests of commands while a hub runs: output as without one, and no server started twice.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use switchboard_testkit::processes::{Identity, working_in};

use crate::Story;
use crate::admin::place;
use crate::gateway::{Client, hub_of, stop, until};
use crate::tools;

/// A client of the story's project, and the hub it has started.
fn client(story: &Story) -> Client {
    let mut client = Client::spawn(story.command(&["connect"]));
    client.call("kiosk__erase").unwrap();
    client
}

/// A project with a kiosk that speaks one era, so that the commands and a client of the other share a process, and whose
/// questions the queue answers for clients that cannot.
fn kiosk() -> Story {
    let story = tools::kiosk();
    let program = switchboard_testkit::programs::program("kiosk");
    story.quietly(&["remove", "kiosk"]);
    let queue = json!({ "elicitation": "queue" });
    let entry = json!({ "command": program, "era": "modern", "questions": queue });
    story.quietly(&["add-json", "kiosk", &entry.to_string()]);
    story
}

/// The processes of the kiosk.
fn kiosks(story: &Story) -> Vec<Identity> {
    let is_kiosk = |process: &Identity| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid));
        name.is_ok_and(|name| name.trim() == "kiosk")
    };
    working_in(&story.path("")).into_iter().filter(is_kiosk).collect()
}

/// How often the kiosk was started, by whomever: it says so each time.
fn starts(story: &Story) -> usize {
    let log = story.quietly(&["logs", "kiosk", "-n", "10000"]).stdout;
    String::from_utf8(log).unwrap().matches("the kiosk is open").count()
}

#[test]
fn commands_say_the_same_and_start_nothing() {
    let story = kiosk();
    story.quietly(&["add", "gone", "no-such-command"]);
    story.quietly(&["add", "off", "no-such-command"]);
    story.quietly(&["disable", "off"]);
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..10).map(|_| scope.spawn(|| client(&story))).collect();
        starting.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let one = kiosks(&story);
    assert_eq!(one.len(), 1);
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["tools"],
        &["tools", "--json"],
        &["tools", "gone"],
        &["tools", "off"],
        &["tools", "nobody"],
        &["tools", "kiosk/say"],
        &["resources"],
        &["read", "kiosk://page/7"],
        &["read", "kiosk://nothing"],
        &["prompts", "--json"],
        &["prompt", "letter", "to=Ada"],
        &["complete", "letter", "to", "A"],
        &["call", "say", "text=hi"],
        &["call", "say", "txt=hi"],
        &["call", "count", "to=3", "-v"],
        &["call", "fail"],
        &["call", "refuse"],
        &["call", "hang", "--timeout", "1"],
        &["call", "register"],
        &["call", "gone/x"],
        &["doctor"],
    ] {
        let shown = |args: &[&str]| story.home.shown(&story.quietly(args));
        let before = starts(&story);
        let attached = shown(args);
        assert_eq!((starts(&story), kiosks(&story)), (before, one.clone()), "{args:?} starts one");
        // Without a kept catalog the command starts the server, which runs in the hub.
        let catalogs = story.home.path().join(".local/state/switchboard/catalogs");
        std::fs::remove_dir_all(catalogs).ok();
        let alone = shown(&[args, &["--standalone"]].concat());
        assert_eq!(attached, alone, "{args:?}");
    }
    for client in clients {
        client.leave();
    }
    assert!(stop(&story.home).is_some());
    until("a server outlived its hub", || kiosks(&story).is_empty());
}

#[test]
fn what_was_just_added_is_there() {
    let story = kiosk();
    let client = client(&story);
    let program = switchboard_testkit::programs::program("kiosk");
    for number in 0..3 {
        let name = format!("more{number}");
        story.quietly(&["add", &name, program.to_str().unwrap()]);
        let called = story.quietly(&["call", &format!("{name}/say"), "text=hi"]);
        assert!(called.status.success(), "{}", String::from_utf8_lossy(&called.stderr));
    }
    client.leave();
    stop(&story.home);
}

#[test]
fn a_server_is_connected_to_anew_in_the_hub() {
    let story = kiosk();
    let client = client(&story);
    let before = kiosks(&story);
    let again = story.quietly(&["reconnect", "kiosk", "--json"]);
    let said: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(said["state"], "connected", "{said}");
    let after = kiosks(&story);
    assert_eq!(after.len(), 1);
    assert_ne!(before, after, "the process is the same");
    client.leave();
    stop(&story.home);
}

#[test]
fn a_hub_that_dies_under_a_call_is_said_to() {
    let story = kiosk();
    let client = client(&story);
    let hub = hub_of(kiosks(&story)[0]);
    let mut calling = story
        .command(&["call", "kiosk/hang"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the call is not made", || calls(&story) > 0);
    kill(Pid::from_raw(i32::try_from(hub.pid).unwrap()), Signal::SIGKILL).unwrap();
    let mut said = String::new();
    calling.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(calling.wait().unwrap().code(), Some(1));
    assert!(said.contains("the hub ended before the answer came"), "{said}");
    drop(client);
    stop(&story.home);
}

/// Calls in flight, as the hub says itself.
fn calls(story: &Story) -> usize {
    use switchboard_hub::admin::client::{AdminClient as AdminApi, HubLookup};
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match AdminApi::find(&place(&story.home), "0").await.unwrap() {
            HubLookup::Hub(hub) => hub.status().await.unwrap().calls,
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn a_hub_of_another_version_is_left_alone() {
    let story = kiosk();
    let path = place(&story.home).socket_path();
    let listener = UnixListener::bind(&path).unwrap();
    let answering = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut hello = String::new();
        BufReader::new(&stream).read_line(&mut hello).unwrap();
        let answer = r#"{"error":{"kind":"malformed","message":"unknown variant `admin`"}}"#;
        writeln!(&stream, "{answer}").unwrap();
        hello
    });
    let called = story.quietly(&["call", "say", "text=hi"]);
    let said = String::from_utf8_lossy(&called.stderr).into_owned();
    assert!(called.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&called.stdout), "hi\n");
    let hello: Value = serde_json::from_str(&answering.join().unwrap()).unwrap();
    assert_eq!((&hello["want"], &hello["env"]), (&json!("admin"), &json!({})));
}

/// A question that its client cannot be asked waits for whoever watches, and nobody is waited for where nobody does.
#[test]
fn questions_wait_for_whoever_watches() {
    let story = kiosk();
    let mut client = client(&story);
    let refused = client.call("kiosk__register").unwrap().to_string();
    assert!(refused.contains("cancel"), "{refused}");
    let mut watching =
        story.command(&["questions", "--follow", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(watching.stdout.take().unwrap());
    let mut event = || {
        let mut line = String::new();
        events.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    assert_eq!(event(), json!({ "event": "ready", "data": {} }));
    for (flags, expected) in [
        (&["name=Ada", "colour=g"][..], r#"\"name\":\"Ada\""#),
        (&["--decline"], "decline"),
        (&["--cancel"], "cancel"),
    ] {
        let call =
            client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
        let asked = event();
        assert_eq!(asked["event"], "question", "{asked}");
        let id = asked["data"]["id"].as_str().unwrap().to_owned();
        let listed = story.quietly(&["questions", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["questions"][0]["id"], json!(id), "{listed}");
        let answered = story.quietly(&[&["answer", &id], flags].concat());
        assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stderr));
        let result = client.hear(call).unwrap().to_string();
        assert!(result.contains(expected), "{flags:?}: {result}");
        assert_eq!(event(), json!({ "event": "answered", "data": { "id": id } }));
        let again = story.quietly(&[&["answer", &id], flags].concat());
        assert_eq!(again.status.code(), Some(1), "a question was answered twice");
    }
    kill(Pid::from_raw(i32::try_from(watching.id()).unwrap()), Signal::SIGINT).unwrap();
    assert!(watching.wait().unwrap().success());
    client.leave();
    stop(&story.home);
}

/// What a rule asks goes the same way, and a yes counts as long as it says.
#[test]
fn consent_is_asked_of_whoever_watches() {
    let story = kiosk();
    let settings = story.home.path().join(".config/switchboard/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, r#"{"permissions": {"ask": ["mcp__kiosk__say"]}}"#).unwrap();
    let mut client = client(&story);
    let say = json!({ "name": "kiosk__say", "arguments": { "text": "hi" } });
    let refused = client.ask("tools/call", &say).unwrap_err().to_string();
    assert!(refused.contains("needs a person's consent"), "{refused}");
    let mut watching =
        story.command(&["questions", "--follow", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(watching.stdout.take().unwrap());
    let mut event = || {
        let mut line = String::new();
        events.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    event();
    let mut answer = |client: &mut Client, answer: &str, expected: &str| {
        let call = client.send("tools/call", &say);
        let asked = event();
        assert_eq!(asked["data"]["about"]["tool"], "mcp__kiosk__say", "{asked}");
        let id = asked["data"]["id"].as_str().unwrap().to_owned();
        assert!(story.quietly(&["answer", &id, answer]).status.success());
        let ended = client.hear(call).unwrap_or_else(|error| error).to_string();
        assert!(ended.contains(expected), "{answer}: {ended}");
        assert_eq!(event()["event"], "answered");
    };
    answer(&mut client, "--deny", "a person answered");
    answer(&mut client, "--deny-always", "a person answered");
    let denied = client.ask("tools/call", &say).unwrap_err().to_string();
    assert!(denied.contains("answered before: Always deny"), "{denied}");
    let forgotten = story.quietly(&["permissions", "forget", "kiosk/say"]);
    assert!(String::from_utf8_lossy(&forgotten.stderr).contains("(Always deny)"), "{forgotten:?}");
    answer(&mut client, "--allow=session", "hi");
    let again = client.ask("tools/call", &say).unwrap().to_string();
    assert!(again.contains("hi"), "it was asked again in the same session: {again}");
    kill(Pid::from_raw(i32::try_from(watching.id()).unwrap()), Signal::SIGINT).unwrap();
    watching.wait().unwrap();
    client.leave();
    stop(&story.home);
}

#[test]
fn questions_in_words() {
    let mut story = kiosk();
    story.run(&["questions"]).run(&["questions", "--json"]).run(&["questions", "--follow"]);
    story.run(&["answer", "q1", "--decline"]);
    let mut client = client(&story);
    let mut watching = story.command(&["questions", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    // Nobody is asked before somebody watches.
    let mut call =
        client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
    until("nobody watches", || {
        let is_waiting =
            !story.quietly(&["questions", "--json"]).stdout.starts_with(b"{\n  \"questions\": []");
        if !is_waiting {
            call =
                client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
        }
        is_waiting
    });
    let mut line = String::new();
    shown.read_line(&mut line).unwrap();
    let id = line.split_whitespace().next().unwrap().to_owned();
    story.replace(&id, "qN");
    story.run(&["answer", &id]);
    story.run(&["answer", &id, "--allow"]);
    story.run(&["answer", &id, "name=A"]);
    story.run(&["answer", &id, "name=Ada", "colour=g", "--json"]);
    client.hear(call).unwrap();
    kill(Pid::from_raw(i32::try_from(watching.id()).unwrap()), Signal::SIGINT).unwrap();
    watching.wait().unwrap();
    client.leave();
    stop(&story.home);
    insta::assert_snapshot!("questions", story.transcript());
}

/// `serve` in the story's project, and the address that it printed.
fn serve(story: &Story) -> (Child, String) {
    let mut serving = story
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(serving.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ready = said.find(|line| line.starts_with('{')).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let address = ready["address"].as_str().unwrap().to_owned();
    (serving, address)
}

/// The first line of the answer to `initialize`; nothing where nobody listens.
pub(crate) fn greeted(address: &str) -> Option<String> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } })
    .to_string();
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line)
}

fn interrupt(serving: &mut Child) {
    kill(Pid::from_raw(i32::try_from(serving.id()).unwrap()), Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
}

#[test]
fn serving_beside_a_hub_shares_its_servers() {
    let story = kiosk();
    let client = client(&story);
    let one = kiosks(&story);
    let (mut serving, address) = serve(&story);
    assert!(greeted(&address).unwrap().contains("200"));
    assert_eq!(kiosks(&story), one, "a server was started twice");
    interrupt(&mut serving);
    until("the faces stay", || greeted(&address).is_none());
    assert_eq!(kiosks(&story), one, "the hub's server went with them");
    client.leave();
    stop(&story.home);
}

/// Its address stays, with the next hub behind it or as the next hub itself; and clients of the hub go on too.
#[test]
fn serving_outlives_the_hub_that_it_began_beside() {
    let kill_hub = |story: &Story| {
        let hub = hub_of(kiosks(story)[0]);
        kill(Pid::from_raw(i32::try_from(hub.pid).unwrap()), Signal::SIGKILL).unwrap();
        until("the hub is still there", || !hub.is_alive());
    };
    // `stop` returns while the hub still ends, and until then the hub itself answers at the address.
    let stop_hub = |story: &Story| {
        let hub = hub_of(kiosks(story)[0]);
        assert!(stop(&story.home).is_some());
        until("the hub is still there", || !hub.is_alive());
    };
    for end in [&kill_hub as &dyn Fn(&Story), &stop_hub] {
        let story = kiosk();
        let mut client = client(&story);
        let (mut serving, address) = serve(&story);
        assert!(greeted(&address).unwrap().contains("200"));
        end(&story);
        let is_served = || greeted(&address).is_some_and(|line| line.contains("200"));
        until("nobody serves at the address", is_served);
        assert!(serving.try_wait().unwrap().is_none(), "`serve` has ended");
        until("the client is lost", || client.call("kiosk__erase").is_ok());
        assert!(is_served(), "it is served no longer");
        client.leave();
        interrupt(&mut serving);
        until("the faces stay", || greeted(&address).is_none());
        stop(&story.home);
    }
}

/// `serve` comes first: it is the hub of everybody who comes after it.
#[test]
fn who_serves_is_the_hub() {
    let story = kiosk();
    let mut serving = story
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(serving.stdout.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line| line.starts_with('{')).unwrap();
    let mut client = client(&story);
    let one = kiosks(&story);
    assert_eq!(one.len(), 1);
    assert_eq!(hub_of(one[0]).pid, serving.id());
    story.quietly(&["call", "say", "text=hi"]);
    assert_eq!(kiosks(&story), one, "a command has started another");
    assert_eq!(stop(&story.home), Some(serving.id()));
    assert!(serving.wait().unwrap().success(), "who stops the hub stops it");
    assert_eq!(kiosks(&story), []);
    // Whoever is still there has another hub started.
    until("no other hub is started", || client.call("kiosk__erase").is_ok());
    client.leave();
    stop(&story.home);
}

/// A server that does not come up before a file is there, as if its machine were down.
fn late(story: &Story) -> std::path::PathBuf {
    let (ready, program) = (story.path("ready"), switchboard_testkit::programs::program("kiosk"));
    let script = format!("test -e {} && exec {}", ready.display(), program.display());
    story.quietly(&["add", "late", "--", "sh", "-c", &script]);
    ready
}

fn said(story: &Story, args: &[&str]) -> (bool, String) {
    let output = story.quietly(args);
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Whether a client is shown any tool of a server.
fn shows(client: &mut Client, server: &str) -> bool {
    let tools = client.ask("tools/list", &json!({})).unwrap();
    let tools = tools["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["name"].as_str().unwrap().starts_with(&format!("{server}__")))
}

/// The hub tried it before it was there; the person who looks next finds it connected.
#[test]
fn a_server_that_was_down_is_tried_when_a_person_looks() {
    let story = kiosk();
    let ready = late(&story);
    let client = client(&story);
    let (_, list) = said(&story, &["list"]);
    assert!(list.contains("✘ late") && list.contains("last tried just now"), "{list}");
    std::fs::write(ready, "").unwrap();
    let (is_well, list) = said(&story, &["list", "--check"]);
    assert!(is_well && list.contains("✔ late"), "{list}");
    client.leave();
    stop(&story.home);
}

/// So does the client that lists next, whatever the pause before the next attempt would be.
#[test]
fn a_server_that_was_down_is_tried_when_a_client_lists() {
    let story = kiosk();
    let settings = r#"{"limits": {"reconnectAttempts": 0}}"#;
    story.write("../.config/switchboard/settings.json", settings);
    let ready = late(&story);
    let mut client = client(&story);
    assert!(!shows(&mut client, "late"));
    std::fs::write(ready, "").unwrap();
    let began = Instant::now();
    until("the server never came back", || shows(&mut client, "late"));
    // By itself it is tried after half a minute.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    client.ask("tools/call", &json!({ "name": "late__erase", "arguments": {} })).unwrap();
    client.leave();
    stop(&story.home);
}

/// A process that is stopped is connected and answers nothing.
#[test]
fn a_server_that_hangs_is_not_said_to_be_well() {
    let story = kiosk();
    let client = client(&story);
    let [kiosk] = kiosks(&story)[..] else { panic!("there is one kiosk") };
    let pid = Pid::from_raw(i32::try_from(kiosk.pid).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    let (is_well, list) = said(&story, &["list", "--check"]);
    assert!(!is_well && list.contains("! kiosk"), "{list}");
    assert!(list.contains("does not answer since 20"), "{list}");
    let (is_well, doctor) = said(&story, &["doctor"]);
    assert!(!is_well && doctor.contains("does not answer since 20"), "{doctor}");
    assert!(!doctor.contains("Nothing is wrong"), "{doctor}");
    kill(pid, Signal::SIGCONT).unwrap();
    until("the kiosk stays silent", || said(&story, &["list", "--check"]).0);
    assert_eq!(kiosks(&story), [kiosk], "it was started anew");
    client.leave();
    stop(&story.home);
}

/// A client that declares sampling, which the commands do not, before a kiosk that learns it once.
fn sampling_client(story: &Story) -> Client {
    let program = switchboard_testkit::programs::program("kiosk");
    story.quietly(&["remove", "kiosk"]);
    let entry = json!({ "command": program, "era": "legacy" });
    story.quietly(&["add-json", "kiosk", &entry.to_string()]);
    let sampling = json!({ "sampling": {} });
    let mut client = Client::able(story.command(&["connect"]), "2025-06-18", &sampling);
    client.call("kiosk__erase").unwrap();
    client
}

/// `doctor` and `list` ask on the connections that exist: the client's, which is not of the commands' kind.
#[test]
fn looking_at_a_server_starts_no_process() {
    let story = tools::kiosk();
    let client = sampling_client(&story);
    let (before, one) = (starts(&story), kiosks(&story));
    assert_eq!(one.len(), 1);
    for args in [&["doctor", "--json"][..], &["list", "--json"], &["doctor"], &["list", "-v"]] {
        let (is_well, said) = said(&story, args);
        assert!(is_well, "{args:?}: {said}");
        assert!(said.contains("answerMillis") || said.contains("answers in "), "{args:?}: {said}");
        assert_eq!((starts(&story), kiosks(&story)), (before, one.clone()), "{args:?}");
    }
    client.leave();
    stop(&story.home);
}

/// What `doctor` prints of a server with two connections, one of them silent, is on the page of JSON output.
#[test]
fn several_connections_are_told_and_documented() {
    let story = tools::kiosk();
    let first = sampling_client(&story);
    let [kiosk] = kiosks(&story)[..] else { panic!("there is one kiosk") };
    let mut second = Client::spawn(story.command(&["connect"]));
    second.call("kiosk__erase").unwrap();
    let pid = Pid::from_raw(i32::try_from(kiosk.pid).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    let doctor: Value =
        serde_json::from_slice(&story.quietly(&["doctor", "--json"]).stdout).unwrap();
    kill(pid, Signal::SIGCONT).unwrap();
    crate::docs::check_json_members(&doctor, "doctor");
    let server = &doctor["servers"][0];
    assert_eq!(server["state"], "silent", "{doctor}");
    assert_eq!((&server["connections"], &server["affectedConnections"]), (&json!(2), &json!(1)));
    assert_eq!(server["pids"].as_array().map(Vec::len), Some(2), "{doctor}");
    first.leave();
    second.leave();
    stop(&story.home);
}
