//! Tests of a server's questions, equal in both eras, in the call or in the inbox.

use switchboard_wire::{
    Era, Error,
    client::{
        CallAttribution, CallRequest, Exchange, ExchangeEvent, InboxEvent, InputRequest,
        InputResponse,
    },
    json::Raw,
};

use super::{Bench, connect, member, options, over_all_five, raw};

over_all_five!(
    a_question_is_answered,
    several_questions_of_every_kind,
    several_rounds,
    a_state_without_questions,
    a_call_is_put_away_and_resumed,
    a_question_nobody_answers_ends_the_call,
    questions_may_come_out_of_the_inbox,
    a_question_nobody_takes_is_answered_cancel,
);

async fn asked(exchange: &mut Exchange) -> Vec<InputRequest> {
    match exchange.next().await.unwrap() {
        ExchangeEvent::NeedsInput(questions) => questions,
        other => panic!("{other:?}"),
    }
}

async fn done(exchange: &mut Exchange) -> Raw {
    match exchange.next().await.unwrap() {
        ExchangeEvent::Done(result) => result,
        other => panic!("{other:?}"),
    }
}

async fn a_question_is_answered(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("ask", &raw("{}")));
    let questions = asked(&mut exchange).await;
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].method, "elicitation/create");
    assert_eq!(member(&questions[0].params, "odd"), "1.0");
    exchange.answer(vec![questions[0].answer(raw(r#"{"action":"accept","n":1e400}"#))]);
    let result = done(&mut exchange).await;
    assert_eq!(member(&result, "said"), r#"{"who":{"action":"accept","n":1e400}}"#);
    assert_eq!(member(&result, "state"), r#""s 1""#);
}

/// Legacy servers ask one by one, and the session answers `roots/list`; modern ones ask at once.
async fn several_questions_of_every_kind(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("ask_all", &raw("{}")));
    let mut methods = Vec::new();
    let result = loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::NeedsInput(questions) => {
                methods.extend(questions.iter().map(|question| question.method.clone()));
                let answers = questions.iter().map(|question| match question.method.as_str() {
                    "elicitation/create" => question.answer(raw(r#"{"action":"decline"}"#)),
                    "sampling/createMessage" => question.answer(raw(r#"{"role":"assistant"}"#)),
                    _ => question.answer(raw(r#"{"roots":[{"uri":"file:///work"}]}"#)),
                });
                exchange.answer(answers.collect());
            }
            ExchangeEvent::Done(result) => break result,
            other => panic!("{other:?}"),
        }
    };
    methods.sort();
    let expected: &[_] = match bench.era() {
        Era::Legacy => &["elicitation/create", "sampling/createMessage"],
        Era::Modern => &["elicitation/create", "roots/list", "sampling/createMessage"],
    };
    assert_eq!(methods, expected);
    assert_eq!(
        member(&result, "said"),
        r#"{"what":{"role":"assistant"},"where":{"roots":[{"uri":"file:///work"}]},"who":{"action":"decline"}}"#
    );
}

async fn several_rounds(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("ask_twice", &raw("{}")));
    for round in ["1", "2"] {
        let questions = asked(&mut exchange).await;
        exchange.answer(vec![questions[0].answer(raw(round))]);
    }
    assert_eq!(member(&done(&mut exchange).await, "said"), r#"{"second":2}"#);
}

async fn a_state_without_questions(bench: Bench) {
    let result = bench.tool("again", "{}").await;
    assert_eq!(member(&result, "state"), r#""again""#);
}

async fn a_call_is_put_away_and_resumed(bench: Bench) {
    let call = CallRequest::call_tool("ask", &raw("{}"));
    let mut exchange = bench.client.call(call.clone());
    let questions = asked(&mut exchange).await;
    let resume = exchange.suspend().unwrap();
    assert_eq!(member(&bench.tool("echo", "5").await, "echo"), "5");
    let answer = InputResponse { key: questions[0].key.clone(), outcome: Ok(raw("1")) };
    let result = bench.client.resume(&call, resume, vec![answer]).result().await.unwrap();
    assert_eq!(member(&result, "said"), r#"{"who":1}"#);
}

async fn a_question_nobody_answers_ends_the_call(bench: Bench) {
    for _ in 0..300 {
        let error = bench
            .client
            .call(CallRequest::call_tool("ask", &raw("{}")))
            .result()
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::InputNeeded { asked, .. } if asked == "elicitation/create"),
            "{error:?}"
        );
    }
}

async fn inbox_bench(bench: Bench) -> Option<Bench> {
    let mut options = options(bench.greeting);
    options.attribution = CallAttribution::Inbox;
    let bench = connect(bench.transport, options).await.unwrap();
    // On a call's own stream, and in the modern era, the wire tells which call a question belongs
    // to.
    let tied = bench.era() == Era::Modern || bench.transport == super::Transport::Http;
    (!tied).then_some(bench)
}

async fn questions_may_come_out_of_the_inbox(bench: Bench) {
    let Some(mut bench) = inbox_bench(bench).await else {
        return;
    };
    let client = bench.client.clone();
    let answering = async {
        let InboxEvent::Question(question) = bench.inbox.next().await.unwrap() else { panic!() };
        assert_eq!(question.method(), "elicitation/create");
        question.answer(Ok(raw("7"))).await.unwrap();
    };
    let calling = client.call(CallRequest::call_tool("ask", &raw("{}"))).result();
    let (result, ()) = tokio::join!(calling, answering);
    assert_eq!(member(&result.unwrap(), "said"), r#"{"who":7}"#);
}

async fn a_question_nobody_takes_is_answered_cancel(bench: Bench) {
    let Some(mut bench) = inbox_bench(bench).await else {
        return;
    };
    let client = bench.client.clone();
    let dropping = async { drop(bench.inbox.next().await.unwrap()) };
    let calling = client.call(CallRequest::call_tool("ask", &raw("{}"))).result();
    let (result, ()) = tokio::join!(calling, dropping);
    assert_eq!(member(&result.unwrap(), "said"), r#"{"who":{"action":"cancel"}}"#);
}
