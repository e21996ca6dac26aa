//! Tests of `switchboard plugin` (new, check, list, serve) and of the built-in plugins.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::{Home, Story};

/// Runs a compiler.
fn compile(program: &str, folder: &Path, args: &[&str]) {
    let done = Command::new(program).args(args).current_dir(folder).output();
    let done = done.unwrap_or_else(|error| panic!("`{program}` is needed: {error}"));
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn what_is_there_without_any() {
    let mut story = Story::new();
    story
        .run(&["plugin", "list"])
        .run(&["plugin", "list", "-p", "nowhere"])
        .run(&["plugin", "check", "nothing.so"])
        .run(&["plugin", "new", "Not A Name"]);
    insta::assert_snapshot!("plugin_none", story.transcript());
}

#[test]
fn a_new_project_builds_passes_its_test_and_is_sound() {
    let mut story = Story::new();
    for (lang, compiler, ending) in [("c", "gcc", "c"), ("cpp", "g++", "cpp")] {
        story.run(&["plugin", "new", &format!("my-{lang}"), "--lang", lang]);
        let folder = story.path(&format!("my-{lang}"));
        let (plugin, test) = (format!("plugin.{ending}"), format!("test.{ending}"));
        let strict = ["-Wall", "-Wextra", "-Werror", "-Iinclude"];
        let shared = ["-shared", "-fPIC", &plugin, "-o", "plugin.so"];
        compile(compiler, &folder, &[&strict[..], &shared[..]].concat());
        compile(compiler, &folder, &[&strict[..], &[&plugin, &test, "-o", "test"]].concat());
        compile("./test", &folder, &[]);
        story.run(&["plugin", "check", &format!("my-{lang}/plugin.so")]);
    }
    story.run(&["--json", "plugin", "check", "my-c/plugin.so"]);
    story.run(&["plugin", "list", "-p", "."]);
    story.write("text.so", "no object");
    story.run(&["plugin", "check", "text.so"]);
    story.run(&["plugin", "new", "my-c"]);
    insta::assert_snapshot!("plugin_new", story.transcript());
}

/// The way that `plugin new` tells people to go. `cargo xtask test` sees to it that `cmake` is there.
#[test]
fn a_new_project_builds_with_cmake() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return;
    }
    let story = Story::new();
    for lang in ["c", "cpp"] {
        let name = format!("with-{lang}");
        story.quietly(&["plugin", "new", &name, "--lang", lang]);
        let folder = story.path(&name);
        compile("cmake", &folder, &["-B", "build"]);
        compile("cmake", &folder, &["--build", "build"]);
        compile("ctest", &folder, &["--test-dir", "build", "--no-tests=error"]);
        let made = format!("{name}/build/{name}.so");
        let checked = story.quietly(&["--json", "plugin", "check", &made]);
        let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
        assert_eq!(checked["tools"][0]["name"], "hello", "{lang}");
        assert_eq!(checked["problems"], json!([]), "{lang}");
    }
}

/// `plugin serve` on standard input and output.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&[&["plugin", "serve"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.input.as_mut().unwrap(), "{text}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, request: &str) -> Value {
        self.say(request);
        self.hear()
    }
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// What servers of this kind are known to die of: each is answered, and the next request too.
const DEADLY: [(&str, &str); 12] = [
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#,
        r#""result":{}"#,
    ),
    (r#"{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{}}"#, "-32602"),
    (
        r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"bacio:///quote"}}"#,
        r#""result":{}"#,
    ),
    (r#"{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}"#, "resourceTemplates"),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"sleep","arguments":{"milliseconds":"x"}}}"#,
        r#""isError":true"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"sleep"}}"#,
        r#""isError":true"#,
    ),
    (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing"}}"#, "-32602"),
    (
        r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"sleep","arguments":{"milliseconds":-1}}}"#,
        r#""isError":true"#,
    ),
    (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call"}"#, "-32602"),
    (
        r#"{"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"code-review","arguments":{"language":7}}}"#,
        "-32602",
    ),
    (
        r#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":"bacio:///other"}}"#,
        "bacio:///other",
    ),
    (r#"{"jsonrpc":"2.0","id":12,"method":"nothing/such"}"#, "-32601"),
];

/// A notification that nobody knows.
const STRANGE: &str = r#"{"jsonrpc":"2.0","method":"notifications/nothing/such","params":{"x":1}}"#;
/// A token of progress that is a number.
const PROGRESS: &str = r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"sleep","arguments":{"milliseconds":5},"_meta":{"progressToken":42}}}"#;
const BATCH: &str = r#"[{"jsonrpc":"2.0","id":14,"method":"ping"},{"jsonrpc":"2.0","id":15,"method":"tools/list"}]"#;

#[test]
fn what_others_die_of_is_answered_on_standard_input() {
    let home = Home::new();
    let mut served = Served::start(&home, &["-n", "mine"]);
    assert_eq!(served.ask(GREETING)["result"]["serverInfo"]["name"], "mine");
    served.say(STRANGE);
    for (request, expected) in DEADLY {
        let answer = served.ask(request).to_string();
        assert!(answer.contains(expected), "{request}: {answer}");
    }
    assert_eq!(served.ask(PROGRESS)["params"]["progressToken"], 42);
    assert_eq!(served.hear()["result"]["content"][0]["text"], "slept 5 ms");
    assert_eq!(served.ask(BATCH).as_array().map(Vec::len), Some(2));
    assert_eq!(served.ask("no json")["error"]["code"], -32700);
    // The end of input is the end, and a clean one.
    drop(served.input.take());
    assert!(served.child.wait().unwrap().success());
}

#[test]
fn an_interrupt_ends_it() {
    let home = Home::new();
    let mut served = Served::start(&home, &[]);
    served.ask(GREETING);
    let pid = nix::unistd::Pid::from_raw(served.child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(served.child.wait().unwrap().success());
}

/// One POST on a connection of its own; the body of the answer.
fn post(address: &str, session: &str, body: &str, headers: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n{session}{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

#[test]
fn what_others_die_of_is_answered_over_http() {
    let home = Home::new();
    let mut served = Served::start(&home, &["-t", "--port", "0", "--json"]);
    let address = served.hear()["address"].as_str().unwrap().to_owned();
    let (head, _) = post(&address, "", GREETING, "");
    let session = head.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id"));
    let session = format!("{}\r\n", session.unwrap_or_else(|| panic!("{head}")));
    for (request, expected) in DEADLY {
        let (head, body) = post(&address, &session, request, "");
        assert!(body.contains(expected), "{request}: {head} {body}");
    }
    let (head, _) = post(&address, &session, STRANGE, "");
    assert!(head.starts_with("HTTP/1.1 202"), "{head}");
    let (_, body) = post(&address, &session, PROGRESS, "");
    assert!(body.contains(r#""progressToken":42"#) && body.contains("slept 5 ms"), "{body}");
    let (_, body) = post(&address, &session, BATCH, "");
    assert!(body.contains(r#""id":14"#) && body.contains(r#""id":15"#), "{body}");
    let (head, body) = post(&address, &session, "no json", "");
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("-32700"), "{head} {body}");
    // Somebody who goes away in the middle of a request takes nothing along.
    drop(TcpStream::connect(&address).map(|mut stream| stream.write_all(b"POST /mcp HT")).unwrap());
    let (head, _) = post(&address, &session, DEADLY[0].0, "Origin: https://evil.example\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    // Another client has a session of its own.
    let (head, _) = post(&address, "", GREETING, "");
    assert!(!head.contains(session.trim()), "{head}");
    let pid = nix::unistd::Pid::from_raw(served.child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(served.child.wait().unwrap().success());
}

/// The stream of the oldest transport.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /sse HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n")
            .unwrap();
        Self(BufReader::new(stream))
    }

    /// What the next event carries. Events are short enough to come in one piece.
    fn next(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return data.trim_end().to_owned();
            }
        }
    }
}

#[test]
fn what_others_die_of_is_answered_over_events() {
    let home = Home::new();
    let mut served = Served::start(&home, &["-s", "--port", "0", "--json"]);
    let ready = served.hear();
    assert!(ready["url"].as_str().unwrap().ends_with("/sse"), "{ready}");
    let address = ready["address"].as_str().unwrap().to_owned();
    let mut events = Events::open(&address);
    let endpoint = events.next();
    let say = |body: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        write!(stream, "POST {endpoint} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    };
    say(GREETING);
    assert!(events.next().contains("serverInfo"));
    for (request, expected) in DEADLY {
        say(request);
        let answer = events.next();
        assert!(answer.contains(expected), "{request}: {answer}");
    }
    say(STRANGE);
    say(PROGRESS);
    let told = events.next();
    assert!(told.contains(r#""progressToken":42"#), "{told}");
    assert!(events.next().contains("slept 5 ms"));
    say(BATCH);
    let answers = events.next();
    assert!(answers.contains(r#""id":14"#) && answers.contains(r#""id":15"#), "{answers}");
    // The end of one client's stream is not the end for the others.
    drop(events);
    assert!(Events::open(&address).next().contains("/messages"));
    let pid = nix::unistd::Pid::from_raw(served.child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(served.child.wait().unwrap().success());
}

/// The weather, from a service at hand; and without one.
#[test]
fn the_weather_comes_from_where_it_is_told_to() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        reader.read_line(&mut head).unwrap();
        let body = r#"{"hourly_units":{"temperature_2m":"°C"},"hourly":{"time":["2026-11-15T07:00","2026-11-15T14:00"],"temperature_2m":[3.5,11.0]}}"#;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        head
    });
    let home = Home::new();
    let call = |base: &str| {
        let args = ["call", "get_weather", "city=Perugia", "latitude=43.11", "longitude=12.39"];
        let mut command = home.command(&args);
        let output = command.env("SWITCHBOARD_WEATHER_URL", base).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let told = call(&format!("http://{address}"));
    assert!(told.contains("between 3.5 and 11.0 °C, warmest around 14:00"), "{told}");
    let asked = serving.join().unwrap();
    assert!(asked.contains("latitude=43.11&longitude=12.39&hourly=temperature_2m"), "{asked}");
    let offline = call("http://127.0.0.1:1");
    assert!(
        offline.contains("the weather service at http://127.0.0.1:1 cannot be asked"),
        "{offline}"
    );
    assert!(offline.contains("get_weather` reports an error"), "{offline}");
}

/// Settings say how plugins are run: in the hub, and where they are served alone.
#[test]
fn settings_say_how_plugins_are_run() {
    let home = Home::new();
    let config = home.path().join(".config/switchboard");
    let native = config.join("native");
    std::fs::create_dir_all(&native).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin");
    let (plugin, header) =
        (sources.join("tests/sources/v1.cpp"), sources.join("../plugin-sdk/include"));
    let made = native.join("libslow.so");
    let words = ["-shared", "-fPIC", "-pthread", "-I", header.to_str().unwrap()];
    let files = [plugin.to_str().unwrap(), "-o", made.to_str().unwrap()];
    compile("g++", home.path(), &[&words[..], &files[..]].concat());
    let settings = r#"{"permissions": {"allow": ["mcp__plugins"]},
        "plugins": {"openFiles": 99, "each": {"slow": {"deadlineMs": 250, "memoryBytes": 123456789}}}}"#;
    std::fs::write(config.join("settings.json"), settings).unwrap();

    let called = |how: &str| {
        let output = home.command(&["call", "plugins/act", how]).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        called("how=limits").contains("123456789 99 no new privileges"),
        "{}",
        called("how=limits")
    );
    assert!(called("how=hang").contains("did not answer within 250 ms"), "{}", called("how=hang"));

    let mut served = Served::start(&home, &[]);
    served.ask(GREETING);
    let call = |how: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "act", "arguments": { "how": how } } })
        .to_string()
    };
    let limits = served.ask(&call("limits"));
    assert_eq!(limits["result"]["content"][0]["text"], "123456789 99 no new privileges");
    let hung = served.ask(&call("hang"))["error"]["message"].clone();
    assert_eq!(hung, "plugin `v1`: it did not answer within 250 ms");
    drop(served.input.take());
    assert!(served.child.wait().unwrap().success());
}

/// A user's own plugins are a server like any other.
#[test]
fn plugins_of_the_user_are_in_every_client() {
    let mut story = Story::new();
    story.quietly(&["plugin", "new", "own", "--lang", "c"]);
    let native = story.home.path().join(".config/switchboard/native");
    std::fs::create_dir_all(&native).unwrap();
    let made = native.join("own.so");
    compile(
        "gcc",
        &story.path("own"),
        &["-shared", "-fPIC", "-Iinclude", "plugin.c", "-o", made.to_str().unwrap()],
    );
    story.run(&["tools"]).run(&["call", "plugins/hello"]);
    insta::assert_snapshot!("plugin_own", story.transcript());
}
