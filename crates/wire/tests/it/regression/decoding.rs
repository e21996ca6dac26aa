//! Tests that unknown members and values are not lost.

use switchboard_wire::client::{CallRequest, ListKind};

use crate::session::{asked, bounded, done, legacy, member, modern, raw};

#[test]
fn one_tool_without_a_schema_does_not_cost_the_list() {
    bounded(async {
        for broken in [
            r#"{"name":"bare"}"#,
            r#"{"name":"odd","inputSchema":7}"#,
            r#"{"inputSchema":{}}"#,
            r#"{"name":5}"#,
            "null",
            "[]",
        ] {
            let (client, _inbox, mut peer) = legacy(r#"{"tools":{}}"#).await;
            let playing = async {
                let list = peer.expect("tools/list").await;
                let tools = format!(
                    r#"{{"tools":[{{"name":"a","inputSchema":{{}}}},{broken},{{"name":"b"}}]}}"#
                );
                peer.answer(&list, &tools).await;
            };
            let ((), listing) = tokio::join!(playing, client.list(ListKind::Tools));
            let items: Vec<_> = listing.unwrap().items.iter().map(ToString::to_string).collect();
            assert_eq!(items, [r#"{"name":"a","inputSchema":{}}"#, broken, r#"{"name":"b"}"#]);
        }
    });
}

#[test]
fn unknown_fields_and_results_of_extensions_survive() {
    const RESULTS: [&str; 4] = [
        r#"{"content":[{"type":"hologram","data":1.0}],"x-own":{"z":1,"a":2},"_meta":{"k":1e400}}"#,
        r#"{ "entirely" : ["something", 18446744073709551617], "else" : null }"#,
        r#"{"content":[{"type":"text"}],"isError":"perhaps"}"#,
        "{}",
    ];
    bounded(async {
        for result in RESULTS {
            let (client, _inbox, mut peer) = legacy("{}").await;
            let playing = async {
                let call = peer.request().await;
                let params = call.params().unwrap();
                assert_eq!(member(&params, "x-own"), "[ 1.0 ]");
                peer.answer(&call, result).await;
            };
            let call = CallRequest::new(
                "x-vendor/anything",
                Some(raw(r#"{"b":1,"x-own":[ 1.0 ],"a":2}"#)),
            );
            let ((), got) = tokio::join!(playing, client.call(call).result());
            assert_eq!(got.unwrap().as_str(), result);
        }
    });
}

/// The modern protocol has no `elicitationId`; 2025-11-25 has.
#[test]
fn a_url_elicitation_needs_no_id() {
    const ASKED: &str = r#"{"mode":"url","url":"https://example.org/x","message":"go"}"#;
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
        let playing = async {
            let call = peer.expect("tools/call").await;
            let question = format!(r#"{{"u":{{"method":"elicitation/create","params":{ASKED}}}}}"#);
            peer.answer(
                &call,
                &format!(r#"{{"resultType":"input_required","inputRequests":{question}}}"#),
            )
            .await;
            let again = peer.expect("tools/call").await;
            peer.answer(&again, "{}").await;
        };
        let calling = async {
            let questions = asked(&mut exchange).await;
            assert_eq!(questions[0].params.as_str(), ASKED);
            exchange.answer(vec![questions[0].answer(raw(r#"{"action":"accept"}"#))]);
            done(&mut exchange).await;
        };
        tokio::join!(playing, calling);

        let (client, _inbox, mut peer) = legacy("{}").await;
        let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
        let playing = async {
            let call = peer.expect("tools/call").await;
            peer.say(format!(
                r#"{{"jsonrpc":"2.0","id":"u","method":"elicitation/create","params":{ASKED}}}"#
            ))
            .await;
            assert!(peer.text().await.unwrap().contains(r#""id":"u","result""#));
            peer.answer(&call, "{}").await;
        };
        let calling = async {
            let questions = asked(&mut exchange).await;
            assert_eq!(questions[0].params.as_str(), ASKED);
            exchange.answer(vec![questions[0].answer(raw(r#"{"action":"accept"}"#))]);
            done(&mut exchange).await;
        };
        tokio::join!(playing, calling);
    });
}

#[test]
fn answers_may_come_in_batches() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let playing = async {
            let mut ids = Vec::new();
            for _ in 0..3 {
                ids.push(peer.expect("tools/call").await.id().to_string());
            }
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}}"#,
                ids[0]
            );
            let answers: Vec<_> = ids
                .iter()
                .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{id}}}}}"#))
                .collect();
            peer.say(format!("[{progress},{},7]", answers.join(","))).await;
        };
        let call = || client.call(CallRequest::call_tool("x", &raw("{}")).with_progress()).result();
        let ((), a, b, c) = tokio::join!(playing, call(), call(), call());
        let numbers: std::collections::BTreeSet<_> =
            [a, b, c].into_iter().map(|result| member(&result.unwrap(), "n")).collect();
        assert_eq!(numbers.len(), 3);
    });
}

#[test]
fn ids_come_back_as_they_were_sent() {
    bounded(async {
        let (_client, _inbox, mut peer) = legacy("{}").await;
        for id in [
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551617",
            "-1",
            "1e400",
            "1.0",
            r#""1""#,
            r#""\u00e9\/""#,
            r#""""#,
        ] {
            peer.say(format!(r#"{{"id":{id},"method":"ping","jsonrpc":"2.0"}}"#)).await;
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(peer.text().await.unwrap(), expected);
        }
    });
}
