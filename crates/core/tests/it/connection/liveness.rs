//! Tests of liveness checks on connected servers.

use std::sync::Arc;

use switchboard_testkit::scripted::{Part, Said, Scripted};

use super::bench::{Bench, pass, seconds, sign_in, tenths};

/// A connected server whose lists are read, and which then answers these methods like this.
async fn bench(answers: &[(&str, Said)]) -> Bench {
    let bench = Bench::new([Part::Serves]);
    bench.until_known().await;
    for (method, said) in answers {
        bench.server.answer(method, said.clone());
    }
    bench.heard.take();
    bench
}

fn hung() -> [(&'static str, Said); 2] {
    [("ping", Said::Nothing), ("tools/list", Said::Nothing)]
}

fn asked(server: &Arc<Scripted>) -> usize {
    server.asked("ping")
}

#[tokio::test(start_paused = true)]
async fn a_server_that_nothing_waits_for_is_not_asked() {
    let bench = bench(&hung()).await;
    pass(seconds(3600)).await;
    assert_eq!((asked(&bench.server), bench.heard.take()), (0, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_while_a_call_waits_is_silent_until_it_answers() {
    let bench = bench(&hung()).await;
    let call = bench.connection.admit("s".into(), "local".into()).unwrap();
    pass(seconds(60)).await;
    // Quiet for more than 10 seconds, asked, and given 5 more.
    assert_eq!(bench.heard.take(), ["20.0 silent"]);
    let live = bench.connection.state().live().cloned().unwrap();
    assert_eq!(tenths(live.silent_since().unwrap() - bench.began), 15.0);
    assert_eq!(asked(&bench.server), 1, "one question at a time");
    // It goes on, and answers the next question.
    bench.server.answer("ping", Said::Result("{}".into()));
    drop(call);
    pass(seconds(60)).await;
    assert_eq!(bench.heard.take().len(), 1);
    assert_eq!((live.silent_since(), bench.attempts().len()), (None, 1));
}

/// What counts is that the server answers, not what.
#[tokio::test(start_paused = true)]
async fn any_answer_will_do() {
    let check = async |answers: &[(&str, Said)]| {
        let bench = bench(answers).await;
        let _call = bench.connection.admit("s".into(), "local".into()).unwrap();
        pass(seconds(300)).await;
        assert!(asked(&bench.server) >= 10, "{answers:?}");
        assert_eq!(bench.heard.take(), Vec::<String>::new(), "{answers:?}");
        bench.connection.check().await;
        assert_eq!(bench.connection.state().live().unwrap().silent_since(), None, "{answers:?}");
    };
    check(&[("ping", Said::Result("{}".into()))]).await;
    check(&[("ping", Said::Error(-32601))]).await;
    // Some servers never answer `ping`.
    check(&[("ping", Said::Nothing)]).await;
    check(&[("ping", Said::Nothing), ("tools/list", Said::Error(-32603))]).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_meanwhile_is_an_answer() {
    let bench = bench(&hung()).await;
    let _call = bench.connection.admit("s".into(), "local".into()).unwrap();
    let live = bench.connection.state().live().cloned().unwrap();
    for _ in 0..100 {
        pass(seconds(4)).await;
        bench.connection.record_success(&live, seconds(1));
    }
    assert_eq!((asked(&bench.server), bench.heard.take()), (0, Vec::new()));
}

/// Its lists are waited for as well: it hung before the first was there.
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_after_the_handshake_is_silent() {
    let server = Scripted::new([Part::Serves]);
    for (method, said) in hung() {
        server.answer(method, said);
    }
    let bench = Bench::with(server, super::bench::shared(super::bench::timing()));
    pass(seconds(20)).await;
    assert_eq!(bench.heard.take(), ["0.0 pending", "0.0 connected", "15.0 silent"]);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_looks_waits_until_it_is_known() {
    let check = async |part: Part, answers: &[(&str, Said)], took: f64, silent: bool| {
        let bench = Bench::new([part, Part::Serves]);
        pass(seconds(5)).await;
        for (method, said) in answers {
            bench.server.answer(method, said.clone());
        }
        let began = tokio::time::Instant::now();
        bench.connection.check().await;
        assert_eq!(tenths(began.elapsed()), took, "{answers:?}");
        let state = bench.connection.state();
        let is_silent = state.live().is_some_and(|live| live.silent_since().is_some());
        assert_eq!(is_silent, silent, "{answers:?}");
    };
    check(Part::Serves, &[], 0.0, false).await;
    check(Part::Serves, &hung(), 5.0, true).await;
    check(Part::Serves, &[("ping", Said::Nothing)], 2.5, false).await;
    // There is nothing to ask.
    check(Part::Fails(sign_in()), &[], 0.0, false).await;
    // One that is down is tried.
    let bench = Bench::new([Part::Refuses(-32603), Part::Serves]);
    pass(seconds(5)).await;
    bench.connection.check().await;
    bench.until("connected").await;
    assert_eq!(bench.attempts(), [0.0, 5.0]);
}

/// The check says how long the answer took, and starts nothing where the server is down.
#[tokio::test(start_paused = true)]
async fn the_time_of_an_answer_is_known_after_the_check() {
    let check = async |answers: &[(&str, Said)], expected: Option<f64>| {
        let bench = bench(answers).await;
        let live = bench.connection.state().live().cloned().unwrap();
        assert_eq!(live.answer_took(), None, "nothing was asked");
        bench.connection.check_answer().await;
        assert_eq!(live.answer_took().map(tenths), expected, "{answers:?}");
    };
    check(&[("ping", Said::Result("{}".into()))], Some(0.0)).await;
    check(&[("ping", Said::Error(-32601))], Some(0.0)).await;
    // `tools/list` is asked after half the time.
    check(&[("ping", Said::Nothing)], Some(2.5)).await;
    check(&hung(), None).await;
    let bench = Bench::new([Part::Refuses(-32603), Part::Serves]);
    pass(seconds(5)).await;
    bench.connection.check_answer().await;
    pass(seconds(1)).await;
    assert_eq!(bench.attempts(), [0.0]);
}
