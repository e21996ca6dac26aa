//! What is measured. Contenders take turns, and a figure is the median of its turns, so that a busy moment is one
//! for all of them.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::Effort;
use crate::client::{Ask, Client, Era};
use crate::contender::{Contender, Results, Running, Setup};
use crate::process::MemoryUse;
use crate::stand_in::{Behind, Upstream};

/// The numbers of connections that calls are made on.
pub(crate) const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// The numbers of threads of ours that are compared.
const THREADS: [usize; 3] = [1, 2, 4];
/// Connections on which small calls are made, where numbers of threads are compared.
const SOME: usize = 16;
/// Connections on which large results are asked for.
const FEW: usize = 4;
/// Tools of a long list.
const MANY_TOOLS: usize = 1_000;
/// Sessions that are open at once.
const SESSIONS: usize = 1_000;

/// How long after its first call a contender is at rest: what it does only at its start is done.
const AT_REST: Duration = Duration::from_secs(2);

/// What one turn came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    pub(crate) per_second: f64,
    /// Time on the processor for each answer.
    pub(crate) cpu: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// Who is measured, between whom.
#[derive(Debug, Clone)]
pub(crate) struct Between {
    pub(crate) contender: Contender,
    pub(crate) client: Era,
    pub(crate) server: Era,
}

/// What was seen of one contender's calls, for each number of connections.
pub(crate) struct Calls {
    pub(crate) between: Between,
    pub(crate) turns: Vec<Turn>,
}

/// What was seen of one contender otherwise.
pub(crate) struct Rest {
    pub(crate) contender: Contender,
    /// Bytes a second of large results.
    pub(crate) large: f64,
    /// Long lists.
    pub(crate) list: Turn,
    pub(crate) idle: MemoryUse,
    /// Unknown of those that start a process for each session.
    pub(crate) crowded: Option<MemoryUse>,
    pub(crate) cold: Duration,
}

/// Calls of 64 bytes on each number of connections.
pub(crate) async fn calls(
    all: &[Between],
    behind: impl Fn(Era) -> Behind,
    connections: &[usize],
    effort: Effort,
) -> Vec<Calls> {
    let most = connections.iter().copied().max().unwrap_or(1);
    let mut started = Vec::new();
    for Between { contender, client, server } in all {
        let upstream = Upstream { tools: 0, speaks: *server };
        let running = contender.start(Setup { behind: behind(*server), upstream });
        let clients = running.clients(*client, most).await;
        started.push((running, clients));
    }
    let mut seen: Vec<Vec<Vec<Turn>>> = vec![vec![Vec::new(); connections.len()]; all.len()];
    for _ in 0..effort.turns {
        for (at, number) in connections.iter().enumerate() {
            for ((running, clients), seen) in started.iter_mut().zip(&mut seen) {
                seen[at].push(turn(running, &mut clients[..*number], Ask::Echo, effort.turn).await);
            }
        }
    }
    let rows = all.iter().cloned().zip(seen);
    rows.map(|(between, seen)| {
        let turns = seen.iter().map(|turns| median(turns)).collect();
        Calls { between, turns }
    })
    .collect()
}

/// Ours alone, under load, for a profiler.
pub(crate) async fn profile(
    behind: Behind,
    ask: Ask,
    (client, server): (Era, Era),
    connections: usize,
    time: Duration,
) {
    let results = if ask == Ask::Large { Results::Whole } else { Results::Limited };
    let tools = if ask == Ask::List { MANY_TOOLS } else { 0 };
    let upstream = Upstream { tools, speaks: server };
    let running = Contender::Ours(results).start(Setup { behind, upstream });
    let mut clients = running.clients(client, connections).await;
    println!("process {}", running.process.pid());
    let turn = turn(&running, &mut clients, ask, time).await;
    println!("{turn:?}");
}

/// Everything else, one contender after the other within each round.
pub(crate) async fn rest(contenders: &[Contender], effort: Effort) -> Vec<Rest> {
    let large = large(contenders, effort).await;
    let lists = lists(contenders, effort).await;
    let mut rows = Vec::new();
    for ((contender, large), list) in contenders.iter().zip(large).zip(lists) {
        let (idle, crowded) = memory(contender).await;
        let cold = cold(contender, effort.starts).await;
        rows.push(Rest { contender: contender.clone(), large, list, idle, crowded, cold });
    }
    rows
}

/// What was seen of ours with a number of threads.
pub(crate) struct WithThreads {
    pub(crate) name: String,
    pub(crate) calls: Turn,
    /// Results of 1 MiB.
    pub(crate) large: Turn,
    /// Lists of 1,000 tools.
    pub(crate) lists: Turn,
    /// The memory at rest after one call, and with many sessions.
    pub(crate) memory: (MemoryUse, Option<MemoryUse>),
}

/// Ours with one, two and four threads, which take turns for each kind of work.
pub(crate) async fn threads(effort: Effort) -> Vec<WithThreads> {
    let with = |results| THREADS.map(|threads| Contender::Threads(results, threads));
    let (limited, whole) = (with(Results::Limited), with(Results::Whole));
    let calls = rounds(&limited, 0, SOME, Ask::Echo, effort).await;
    let large = rounds(&whole, 0, FEW, Ask::Large, effort).await;
    let lists = rounds(&limited, MANY_TOOLS, FEW, Ask::List, effort).await;
    let mut rows = Vec::new();
    for (((contender, calls), large), lists) in limited.iter().zip(calls).zip(large).zip(lists) {
        let (name, memory) = (contender.name(), memory(contender).await);
        rows.push(WithThreads { name, calls, large, lists, memory });
    }
    rows
}

async fn large(contenders: &[Contender], effort: Effort) -> Vec<f64> {
    let whole = |contender: &Contender| match contender {
        Contender::Ours(_) => Contender::Ours(Results::Whole),
        other => other.clone(),
    };
    let contenders: Vec<_> = contenders.iter().map(whole).collect();
    let turns = rounds(&contenders, 0, FEW, Ask::Large, effort).await;
    turns.iter().map(|turn| turn.per_second * f64::from(1 << 20)).collect()
}

async fn lists(contenders: &[Contender], effort: Effort) -> Vec<Turn> {
    rounds(contenders, MANY_TOOLS, 1, Ask::List, effort).await
}

async fn rounds(
    contenders: &[Contender],
    tools: usize,
    connections: usize,
    ask: Ask,
    effort: Effort,
) -> Vec<Turn> {
    let mut all = Vec::new();
    for contender in contenders {
        let upstream = Upstream { tools, speaks: Era::Legacy };
        let running = contender.start(Setup { behind: Behind::Stdio, upstream });
        let clients = running.clients(Era::Legacy, connections).await;
        all.push((running, clients, Vec::new()));
    }
    for _ in 0..effort.turns {
        for (running, clients, seen) in &mut all {
            seen.push(turn(running, clients, ask, effort.turn).await);
        }
    }
    all.iter().map(|(_, _, seen)| median(seen)).collect()
}

async fn turn(running: &Running, clients: &mut [Client], ask: Ask, time: Duration) -> Turn {
    let (cpu, began) = (running.process.cpu(), Instant::now());
    let until = began + time;
    let asking = clients.iter_mut().map(|client| client.repeat(ask, until));
    let mut seen: Vec<Duration> = join_all(asking).await.into_iter().flatten().collect();
    let took = began.elapsed();
    let cpu = running.process.cpu().saturating_sub(cpu);
    seen.sort_unstable();
    let Ok(calls @ 1..) = u32::try_from(seen.len()) else { return Turn::default() };
    Turn {
        per_second: f64::from(calls) / took.as_secs_f64(),
        cpu: cpu / calls,
        p50: seen[seen.len() / 2],
        p99: seen[seen.len() * 99 / 100],
    }
}

/// Each figure's own median.
fn median(turns: &[Turn]) -> Turn {
    let of = |figure: fn(&Turn) -> Duration| {
        let mut all: Vec<_> = turns.iter().map(figure).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let mut rates: Vec<_> = turns.iter().map(|turn| turn.per_second).collect();
    rates.sort_by(f64::total_cmp);
    Turn {
        per_second: rates[rates.len() / 2],
        cpu: of(|turn| turn.cpu),
        p50: of(|turn| turn.p50),
        p99: of(|turn| turn.p99),
    }
}

/// The memory at rest after one call, and with many sessions that have each made one.
async fn memory(contender: &Contender) -> (MemoryUse, Option<MemoryUse>) {
    let running = contender.start(Setup::USUAL);
    let first = running.ready(Era::Legacy).await;
    tokio::time::sleep(AT_REST).await;
    let idle = running.process.memory();
    if matches!(contender, Contender::Published(_)) {
        return (idle, None);
    }
    let mut clients = vec![first];
    while clients.len() < SESSIONS {
        let mut client = Client::open(&running.place, Era::Legacy).await.unwrap();
        client.ask(Ask::Echo).await.unwrap();
        clients.push(client);
    }
    (idle, Some(running.process.memory()))
}

/// From nothing to the first call that is answered.
async fn cold(contender: &Contender, starts: usize) -> Duration {
    let mut seen = Vec::new();
    for _ in 0..starts {
        let began = Instant::now();
        let running = contender.start(Setup::USUAL);
        running.ready(Era::Legacy).await;
        seen.push(began.elapsed());
    }
    seen.sort_unstable();
    seen[seen.len() / 2]
}
