//! What standing between clients and servers costs: ours beside a bare floor, beside a gateway made of rmcp in an
//! afternoon, and beside what others publish, all in processes of their own before the same upstream.
//!
//! Only ratios within one run mean anything, so contenders take turns and nothing here fails by the clock.
//!
//! ```text
//! cargo xtask bench gateway                  print the tables
//! cargo xtask bench gateway --write          and put them, and a chart, into docs
//! cargo xtask bench gateway --quick          short turns, to see that it runs
//! cargo xtask bench gateway --dist           of the program that is shipped (`cargo xtask dist`)
//! cargo xtask bench gateway --peers          install what others publish, and measure it too
//! cargo xtask bench gateway --threads        ours alone, with one, two and four threads
//! cargo xtask bench gateway --profile [large|list] [http] [modern] [across] [N]
//!                                            ours alone on N connections for 10 s, for a profiler;
//!                                            across: the server is of the other era than the clients
//! cargo xtask bench gateway --profile start  ours alone, started and ended
//! cargo xtask bench gateway --profile connect
//!                                            a client on standard streams, for as many calls as are measured
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark starts programs and reads the variables of the run"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark tells a person what it saw, and stops where its input is wrong"
)]

mod chart;
mod client;
mod connect;
mod contender;
mod measure;
mod process;
mod published;
mod report;
mod stand_in;

use std::time::Duration;

use client::{Ask, Era};
use contender::{Contender, Results, Setup};
use measure::{Between, CONNECTIONS};
use report::{Connect, Report};
use stand_in::{Behind, Upstream};
use switchboard_testkit::awake;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    /// Turns of each contender.
    turns: usize,
    /// How long a turn is.
    turn: Duration,
    /// Starts of each contender.
    starts: usize,
    /// Calls over standard streams.
    talk: usize,
}

const FULL: Effort = Effort { turns: 7, turn: Duration::from_millis(500), starts: 7, talk: 10_000 };
const QUICK: Effort = Effort { turns: 3, turn: Duration::from_millis(200), starts: 3, talk: 1_000 };

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == stand_in::WORD) {
        return stand_in::play(&words[1..]);
    }
    let asked = |flag: &str| words.iter().any(|word| word == flag);
    if asked(awake::WORD) {
        return awake::stay();
    }
    // One thread: the load must not take the contenders' processors.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if asked("--profile") {
        return runtime.block_on(profile(&words));
    }
    let effort = if asked("--quick") { QUICK } else { FULL };
    if asked("--threads") {
        let threads = runtime.block_on(measure::threads(effort));
        return println!("{}", report::threads(&threads));
    }
    let report = runtime.block_on(measure(effort));
    println!("{}", report.tables());
    if asked("--write") {
        report.write(asked("--dist"));
    }
}

async fn measure(effort: Effort) -> Report {
    let mut contenders = vec![
        Contender::Direct,
        Contender::Floor,
        Contender::Plain,
        Contender::Ours(Results::Limited),
    ];
    contenders.extend(Contender::published().await);
    let between = |contender: &Contender, client, server| Between {
        contender: contender.clone(),
        client,
        server,
    };
    let mut all: Vec<_> =
        contenders.iter().map(|who| between(who, Era::Legacy, Era::Legacy)).collect();
    let ours = Contender::Ours(Results::Limited);
    all.push(between(&Contender::Floor, Era::Modern, Era::Modern));
    all.push(between(&ours, Era::Modern, Era::Modern));
    all.push(between(&ours, Era::Modern, Era::Legacy));
    all.push(between(&ours, Era::Legacy, Era::Modern));
    println!("calls, the upstream on standard streams");
    let stdio = measure::calls(&all, |_| Behind::Stdio, &CONNECTIONS, effort).await;
    println!("calls, the upstream over HTTP");
    let [legacy, modern] = [Era::Legacy, Era::Modern].map(upstream);
    let behind = |speaks| match speaks {
        Era::Legacy => Behind::Http(legacy.place.address),
        Era::Modern => Behind::Http(modern.place.address),
    };
    all.retain(|row| row.contender.takes(behind(row.server)));
    let http = measure::calls(&all, behind, &CONNECTIONS, effort).await;
    println!("large results, long lists, memory, cold starts");
    let rest = measure::rest(&contenders, effort).await;
    println!("one, two and four threads");
    let threads = measure::threads(effort).await;
    println!("standard streams\n");
    let asleep = connect::medians(effort);
    let staying = awake::Awake::keep();
    let connect = Connect { asleep, awake: connect::medians(effort) };
    drop(staying);
    Report { stdio, http, rest, threads, connect, effort }
}

/// The upstream over HTTP.
fn upstream(speaks: Era) -> contender::Running {
    let upstream = Upstream { tools: 0, speaks };
    Contender::Direct.start(Setup { upstream, ..Setup::USUAL })
}

async fn profile(words: &[String]) {
    let has = |word: &str| words.iter().any(|given| given == word);
    if has("start") {
        drop(Contender::Ours(Results::Limited).start(Setup::USUAL));
        return;
    }
    if has("connect") {
        connect::medians(QUICK);
        return;
    }
    let ask = match () {
        () if has("large") => Ask::Large,
        () if has("list") => Ask::List,
        () => Ask::Echo,
    };
    let [client, server] = match (has("modern"), has("across")) {
        (false, false) => [Era::Legacy, Era::Legacy],
        (true, false) => [Era::Modern, Era::Modern],
        (false, true) => [Era::Legacy, Era::Modern],
        (true, true) => [Era::Modern, Era::Legacy],
    };
    let connections = words.iter().find_map(|word| word.parse().ok()).unwrap_or(16);
    let upstream = upstream(server);
    let behind = if has("http") { Behind::Http(upstream.place.address) } else { Behind::Stdio };
    measure::profile(behind, ask, (client, server), connections, Duration::from_secs(10)).await;
}
