//! Replicas whose keys change, which are stopped, or which are cut off from NATS: what their clients see.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use switchboard_testkit::fault::{FaultProxy, Plan};
use switchboard_testkit::nats::NatsTrio;

use crate::Home;
use crate::cluster::{Group, HELLO, accept, call, fixture, question, write_keys};
use crate::gateway::until;
use crate::guarding::session;
use crate::upgrade::older_program;

fn set_level(level: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#
    )
}

#[test]
fn keys_are_rolled_while_sessions_live() {
    let group = Group::start(2, &fixture(None), &[]);
    let home = Home::new();
    write_keys(&home, &["ab", "cd", "ef"]);
    let old = group[0].begin();
    // In the documented order; between two steps all replicas have read their files.
    let roll = |number: usize, keys: &[&str]| {
        write_keys(&group[number].home, keys);
        let address = group[number].address.to_string();
        let knows = |status: &Value| {
            let mut replicas = status["replicas"].as_array().unwrap().iter();
            let replica = replicas.find(|one| one["listen"] == address.as_str());
            replica.is_some_and(|one| one["keys"].as_array().unwrap().len() == keys.len())
        };
        until("it tells its keys", || knows(&group.status(&home)));
    };
    let goes_on = |id: &str| {
        for (number, level) in [(0, "error"), (1, "info")] {
            assert_eq!(group[number].post(id, &set_level(level)).0, 200);
            let other = &group[1 - number];
            until("the level counts at the other", || {
                other.call(id, "log", "{}").contains(r#""level":"info""#) == (level == "info")
            });
        }
    };
    goes_on(&old);
    roll(0, &["ab", "cd"]);
    goes_on(&old);
    roll(1, &["ab", "cd"]);
    // With a line more, so that the file is seen to be read.
    roll(0, &["cd", "ab", "ef"]);
    let new = group[0].begin();
    goes_on(&old);
    goes_on(&new);
    roll(1, &["cd", "ab", "ef"]);
    goes_on(&old);
    goes_on(&new);
    for number in [0, 1] {
        roll(number, &["cd"]);
    }
    goes_on(&new);
}

#[test]
fn calls_under_way_go_on_while_nats_is_away_and_token_clients_until_the_replica_is_stale() {
    let home = Home::new();
    let created = home.command(&["token", "create", "--name", "x", "--json"]).output().unwrap();
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let bearer = format!("Bearer {}", created["token"].as_str().unwrap());
    let flags = ["--auth", "token", "--cluster-stale-after", "10"];
    let mut group = Group::start(0, &fixture(Some("legacy")), &flags);
    let url = group.nats().url();
    let replica = group.start_one_at(home, &url);
    let token = ("authorization", bearer.as_str());
    let (status, answer) = replica.send("POST /mcp", &[token], HELLO);
    assert_eq!(status, 200, "{answer}");
    let id = session(&answer);
    let known = [token, ("mcp-session-id", id.as_str())];
    let mut asking = replica.open("POST /mcp", &known, &call("ask", "{}"));
    let asked = question(&asking.until("elicitation/create"));
    group.nats().kill();
    assert_eq!(replica.send("POST /mcp", &known, &accept(&asked)).0, 202);
    asking.until(r#""said":{"who":{"action":"accept""#);
    until("the replica is stale", || replica.send("GET /readyz", &[], "").0 == 503);
    let (status, answer) = replica.send("POST /mcp", &known, &call("echo", "{}"));
    assert!(status == 503 && answer.contains("NATS has not answered"), "{answer}");
    group.nats().restart();
    until("the token counts again", || {
        replica.send("POST /mcp", &known, &call("echo", "{}")).0 == 200
    });
}

#[test]
fn a_stopped_replica_finishes_its_calls_and_its_sessions_go_on() {
    let mut group = Group::start(2, &fixture(Some("legacy")), &[]);
    let id = group[0].begin();
    let known = ("mcp-session-id", id.as_str());
    let mut asking = group[0].open("POST /mcp", &[known], &call("ask", "{}"));
    let asked = question(&asking.until("elicitation/create"));
    group[0].signal(Signal::SIGTERM);
    until("it is not ready", || group[0].send("GET /readyz", &[], "").0 == 503);
    assert_eq!(group[1].post(&id, &accept(&asked)).0, 202, "relayed while it ends");
    let rest = asking.rest();
    assert!(rest.contains(r#""said":{"who":{"action":"accept""#), "{rest}");
    assert!(group.replicas[0].wait());
    assert!(group[1].call(&id, "echo", r#"{"a":1}"#).contains(r#""echo":{"a":1}"#));
}

#[test]
fn a_replica_that_is_cut_off_serves_what_it_knows_and_comes_back() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut group = Group::start(1, &fixture(Some("legacy")), &["--cluster-stale-after", "10"]);
    let nats = SocketAddr::from((Ipv4Addr::LOCALHOST, group.nats().port()));
    let proxy = runtime.block_on(FaultProxy::start(nats, Plan::default()));
    let place = proxy.addr();
    let apart = group.start_one_at(Home::new(), &format!("nats://{place}"));
    let id = apart.begin();
    let mut asking = apart.open("POST /mcp", &[("mcp-session-id", &id)], &call("ask", "{}"));
    let asked = question(&asking.until("elicitation/create"));
    assert_eq!(group[0].post(&id, &call("echo", "{}")).0, 200, "the session is known to both");
    runtime.block_on(async { drop(proxy) });
    // The side with NATS finds the other one gone; the other one goes on with what it has.
    let begun = Instant::now();
    until("the answer cannot be delivered", || {
        let (status, told) = group[0].post(&id, &accept(&asked));
        status == 400 && told.contains("execution is unknown")
    });
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(apart.post(&id, &accept(&asked)).0, 202);
    asking.until(r#""said":{"who":{"action":"accept""#);
    assert_eq!(apart.send("POST /mcp", &[], HELLO).0, 503);
    until("it is not ready", || apart.send("GET /readyz", &[], "").0 == 503);
    assert_eq!(group[0].send("GET /readyz", &[], "").0, 200);
    let _proxy = runtime.block_on(FaultProxy::start_at(place, nats, Plan::default()));
    until("it is ready again", || apart.send("GET /readyz", &[], "").0 == 200);
    let new = apart.begin();
    assert_eq!(group[0].post(&new, &call("echo", "{}")).0, 200);
}

#[test]
fn replicas_over_three_nodes_of_nats_survive_the_loss_of_one() {
    let mut nats = NatsTrio::start();
    let home = Home::new();
    // The nodes choose a leader first.
    let mut group = Group::at(&nats.url(), 0, &fixture(None), &[]);
    until("NATS has a leader", || nats.has_leader());
    for _ in 0..2 {
        let new = group.start_one();
        group.replicas.push(new);
    }
    let id = group[0].begin();
    assert_eq!(group[1].post(&id, &call("echo", "{}")).0, 200);
    assert_eq!(group.status(&home)["copies"], 3);
    nats.node(0).kill();
    // Another node takes over within seconds.
    until("a session begins", || group[0].send("POST /mcp", &[], HELLO).0 == 200);
    until("a level is set", || group[0].post(&id, &set_level("error")).0 == 200);
    until("it counts at the other", || {
        !group[1].call(&id, "log", "{}").contains(r#""level":"info""#)
    });
}

#[test]
fn a_token_of_one_replica_counts_at_all_until_it_is_revoked_at_one() {
    let token = |home: &Home, args: &[&str]| -> Value {
        let output = home.command(&[&["token", "--json"], args].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let bearer = |created: &Value| format!("Bearer {}", created["token"].as_str().unwrap());
    let mut group = Group::start(0, &fixture(None), &["--auth", "token"]);
    let url = group.nats().url();
    let home = Home::new();
    let early = bearer(&token(&home, &["create", "--name", "early"]));
    let one = group.start_one_at(home, &url);
    // No token was ever made on the other machine.
    let other = group.start_one_at(Home::new(), &url);
    let hello = |replica: &crate::cluster::Replica, bearer: &str| {
        replica.send("POST /mcp", &[("authorization", bearer)], HELLO)
    };
    let (status, answer) = hello(&other, &early);
    assert_eq!(status, 200, "at once: {answer}");
    let id = session(&answer);
    let late = bearer(&token(&other.home, &["create", "--name", "late"]));
    until("it counts at the one", || hello(&one, &late).0 == 200);
    let known = [("authorization", early.as_str()), ("mcp-session-id", id.as_str())];
    let mut heard = other.open("GET /mcp", &known, "");
    heard.until("\r\n\r\n");
    token(&one.home, &["revoke", "early"]);
    assert_eq!(hello(&one, &early).0, 401, "at once where it was revoked");
    until("it is refused at the other", || hello(&other, &early).0 == 401);
    heard.rest();
    assert_eq!(hello(&other, &late).0, 200);
    let listed = token(&other.home, &["list"]);
    let names: Vec<_> =
        listed["tokens"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["late"]);
    let new = group.start_one_at(Home::new(), &url);
    assert_eq!(
        (hello(&new, &late).0, hello(&new, &early).0),
        (200, 401),
        "of a replica that joins"
    );
}

#[test]
fn two_builds_of_different_versions_are_one_cluster() {
    let mut group = Group::start(1, &fixture(Some("legacy")), &[]);
    let older = group.start_build(&older_program());
    group.replicas.push(older);
    let home = Home::new();
    let status = group.status(&home);
    assert!(status["warnings"].to_string().contains("run different versions: 0.0.1, "), "{status}");
    for (one, other) in [(0, 1), (1, 0)] {
        let (one, other) = (&group[one], &group[other]);
        let id = one.begin();
        assert_eq!(one.post(&id, &set_level("error")).0, 200);
        assert!(!other.call(&id, "log", "{}").contains(r#""level":"info""#), "a record is read");
        let mut asking = one.open("POST /mcp", &[("mcp-session-id", &id)], &call("ask", "{}"));
        let asked = question(&asking.until("elicitation/create"));
        assert_eq!(other.post(&id, &accept(&asked)).0, 202, "an answer is relayed");
        asking.until(r#""said":{"who":{"action":"accept""#);
        assert_eq!(other.send("DELETE /mcp", &[("mcp-session-id", &id)], "").0, 200);
        until("it has ended at both", || one.post(&id, &call("echo", "{}")).0 == 404);
    }
}
