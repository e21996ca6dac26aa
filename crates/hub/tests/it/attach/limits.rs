//! Test of messages over the size limit, in both directions.

use switchboard_hub::attach::{self, AttachOptions, HubLaunchOptions};
use switchboard_wire::link::lines;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

use crate::socket::{
    Room,
    room::{INITIALIZE, options, tool},
};
use switchboard_testkit::deadline::soon;

const LIMIT: usize = 1_000;

#[tokio::test]
async fn a_message_past_the_limit_fails_alone() {
    let room = Room::new();
    let _hub = room.listen(options()).await;
    let start = HubLaunchOptions {
        program: "/nonexistent/hub".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        log: room.file("hub.log"),
    };
    let wanted =
        AttachOptions { message_limit: LIMIT, ..AttachOptions::new(room.place(), start, "0.1.0") };
    let (near, far) = duplex(1 << 16);
    let (source, sink) = split(far);
    let (writer, reader, writing) = lines::line_link(source, sink, LIMIT);
    let attached =
        tokio::spawn(
            async move { tokio::join!(attach::attach(wanted, (writer, reader)), writing).0 },
        );
    let (source, mut sink) = split(near);
    let mut lines = BufReader::new(source).lines();
    let mut check = async |request: &str, expected: &str| {
        soon(sink.write_all(format!("{request}\n").as_bytes())).await.unwrap();
        let answer = soon(lines.next_line()).await.unwrap().unwrap();
        assert!(answer.contains(expected), "{answer}");
    };
    check(INITIALIZE, "protocolVersion").await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 * LIMIT));
    check(&tool(1, "echo", &large), r#""id":1,"error""#).await;
    check(&tool(2, "big", r#"{"bytes":5000}"#), r#""id":2,"error""#).await;
    check("not JSON at all", "-32700").await;
    check(&tool(3, "echo", "{}"), r#""id":3,"result""#).await;
    drop((sink, lines));
    soon(attached).await.unwrap().unwrap();
}
