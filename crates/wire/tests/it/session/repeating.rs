//! Tests of repeated modern calls: with answers, with a state alone, or not at all.

use switchboard_wire::{
    Error,
    client::{CallRequest, ExchangeEvent, ResultTypes},
};

use super::{asked, bounded, done, member, modern, raw};

#[test]
fn several_rounds_of_several_questions() {
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let mut exchange = client.call(CallRequest::call_tool("x", &raw(r#"{"a":1.0}"#)));
        let playing = async {
            let first = peer.expect("tools/call").await;
            peer.answer(
                &first,
                r#"{"resultType":"input_required","requestState":"s\u0031","inputRequests":{
            "a":{"method":"elicitation/create","params":{"message":"a"}},
            "b":{"method":"sampling/createMessage"}}}"#,
            )
            .await;
            let second = peer.expect("tools/call").await;
            assert_ne!(first.id(), second.id());
            let params = second.params().unwrap();
            assert_eq!(member(&params, "requestState"), r#""s\u0031""#);
            assert_eq!(member(&params, "inputResponses"), r#"{"a":1.0}"#, "a refusal has no words");
            assert_eq!(member(&params, "arguments"), r#"{"a":1.0}"#);
            peer.answer(&second, r#"{"resultType":"input_required","requestState":"s2"}"#).await;
            let third = peer.expect("tools/call").await;
            let params = third.params().unwrap();
            assert_eq!(member(&params, "requestState"), r#""s2""#);
            assert_eq!(member(&params, "inputResponses"), "(missing)");
            peer.answer(&third, r#"{"content":[]}"#).await;
        };
        let calling = async {
            let questions = asked(&mut exchange).await;
            assert_eq!(questions.len(), 2);
            exchange.answer(vec![questions[0].answer(raw("1.0")), questions[1].refuse("no")]);
            assert!(asked(&mut exchange).await.is_empty());
            exchange.answer(Vec::new());
            done(&mut exchange).await
        };
        let ((), result) = tokio::join!(playing, calling);
        assert_eq!(result.as_str(), r#"{"content":[]}"#);
    });
}

#[test]
fn results_of_no_known_type_are_refused() {
    bounded(async {
        for result in [
            r#"{"resultType":"partial"}"#,
            r#"{"resultType":7}"#,
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required","inputRequests":{"a":{"params":{}}}}"#,
            r#"{"resultType":"complete","resultType":"task"}"#,
            r#"{"resultType":"task"}"#,
        ] {
            let (client, _inbox, mut peer) = modern("{}").await;
            let playing = async {
                let call = peer.expect("tools/call").await;
                peer.answer(&call, result).await;
            };
            let calling = client.call(CallRequest::call_tool("x", &raw("{}"))).result();
            let ((), outcome) = tokio::join!(playing, calling);
            assert!(matches!(outcome, Err(Error::InvalidResult { .. })), "{result}: {outcome:?}");
        }
    });
}

#[test]
fn a_result_type_of_an_extension_passes_to_a_caller_that_accepts_it() {
    bounded(async {
        for (result, passes) in [
            (r#"{"resultType":"partial", "n":1.50}"#, true),
            (r#"{"resultType":7}"#, false),
            (r#"{"resultType":"input_required"}"#, false),
            (r#"{"resultType":"partial","resultType":"complete"}"#, false),
        ] {
            let (client, _inbox, mut peer) = modern("{}").await;
            let playing = async {
                let call = peer.expect("tools/call").await;
                peer.answer(&call, result).await;
            };
            let call = CallRequest::call_tool("x", &raw("{}"));
            let call = call.with_result_types(ResultTypes::OfExtensions);
            let ((), outcome) = tokio::join!(playing, client.call(call).result());
            let passed = outcome.as_ref().is_ok_and(|passed| passed.as_str() == result);
            assert_eq!(passed, passes, "{result}: {outcome:?}");
        }
    });
}

/// Only calls, prompts and reads may ask.
#[test]
fn what_may_not_ask_does_not() {
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let playing = async {
            let call = peer.expect("completion/complete").await;
            peer.answer(&call, r#"{"resultType":"input_required","requestState":"s"}"#).await;
        };
        let mut exchange = client.call(CallRequest::new("completion/complete", None));
        let ((), outcome) = tokio::join!(playing, exchange.next());
        assert!(matches!(outcome, Err(Error::InvalidResult { .. })), "{outcome:?}");
    });
}

/// A suspended call can be repeated with its state, even on another connection.
#[test]
fn a_state_outlives_its_connection() {
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let call = CallRequest::call_tool("x", &raw("{}"));
        let mut exchange = client.call(call.clone());
        let playing = async {
            let request = peer.expect("tools/call").await;
            peer.answer(&request, r#"{"resultType":"input_required","requestState":"kept"}"#).await;
        };
        let ((), event) = tokio::join!(playing, exchange.next());
        assert!(matches!(event, Ok(ExchangeEvent::NeedsInput(_))));
        let resume = exchange.suspend().unwrap();
        client.close().await;
        let (client, _inbox, mut peer) = modern("{}").await;
        let playing = async {
            let request = peer.expect("tools/call").await;
            assert_eq!(member(&request.params().unwrap(), "requestState"), r#""kept""#);
            peer.answer(&request, "{}").await;
        };
        let ((), result) = tokio::join!(playing, client.resume(&call, resume, Vec::new()).result());
        result.unwrap();
    });
}
