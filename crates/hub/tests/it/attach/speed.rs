//! Measures the latency that `connect` adds to a call. It only prints, because a busy machine must not fail a build.

use std::{process::Stdio, time::Instant};

use switchboard_testkit::programs::program;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use super::peer::Peer;
use crate::socket::{
    Room,
    room::{INITIALIZE, INITIALIZED, tool},
};

const CALLS: usize = 2_000;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[tokio::test]
async fn the_median_of_what_a_call_takes_longer() {
    let room = Room::new();
    let mut attached = Peer::launch(&room, &[]);
    attached.greet().await;
    let mut socket = room.greet().await;

    let mut child = Command::new(program("fixture-server"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    stdin.write_all(format!("{INITIALIZE}\n{INITIALIZED}\n").as_bytes()).await.unwrap();
    stdout.next_line().await.unwrap();

    let call = tool(1, "echo", r#"{"text":"what a call may carry"}"#);
    let (mut bare, mut direct, mut through) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let start = Instant::now();
        stdin.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        stdout.next_line().await.unwrap();
        bare.push(start.elapsed().as_secs_f64() * 1e6);
        let start = Instant::now();
        socket.ask(&call).await;
        direct.push(start.elapsed().as_secs_f64() * 1e6);
        let start = Instant::now();
        attached.ask(&call).await;
        through.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let (bare, direct, through) = (median(bare), median(direct), median(through));
    eprintln!(
        "a call: {bare:.0} µs over pipes, {direct:.0} µs over the socket, {through:.0} µs through `connect` \
         (+{:.0} µs)",
        through - direct
    );
    assert!(through > 0.0);
}
