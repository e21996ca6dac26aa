//! Tests of a legacy server's questions: withdrawn, unanswered, too many.

use switchboard_wire::client::{CallRequest, ExchangeEvent, InboxEvent};

use super::{Peer, asked, bounded, done, legacy, member, raw};

fn question(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"?"}}}}"#
    )
}

fn withdrawn(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

async fn cancelled(peer: &mut Peer, id: &str) {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"cancel"}}}}"#);
    assert_eq!(peer.text().await.unwrap(), answer);
}

#[test]
fn a_question_is_taken_back() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
        let playing = async {
            let call = peer.expect("tools/call").await;
            // The second question waits behind the first, and is withdrawn before the caller is
            // asked.
            for id in ["\"q\\u0031\"", "8", "9"] {
                peer.say(question(id)).await;
            }
            peer.say(withdrawn("8")).await;
            peer.say(withdrawn("\"q1\"")).await;
            assert_eq!(peer.text().await.unwrap(), r#"{"jsonrpc":"2.0","id":9,"result":1}"#);
            peer.answer(&call, "{}").await;
        };
        let calling = async {
            assert_eq!(asked(&mut exchange).await[0].key, r#""q\u0031""#);
            let event = exchange.next().await.unwrap();
            assert!(matches!(event, ExchangeEvent::Withdrawn { .. }), "{event:?}");
            let questions = asked(&mut exchange).await;
            assert_eq!(questions[0].key, "9");
            exchange.answer(vec![questions[0].answer(raw("1"))]);
            done(&mut exchange).await;
        };
        tokio::join!(playing, calling);
    });
}

/// A call with an open question does not keep other calls from being asked.
#[test]
fn a_question_is_for_the_only_call_that_waits_for_no_answer() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let mut first = client.call(CallRequest::call_tool("x", &raw("{}")));
        let playing = async {
            peer.expect("tools/call").await;
            peer.say(question("1")).await;
        };
        let ((), abandoned) = tokio::join!(playing, asked(&mut first));
        assert_eq!(abandoned[0].key, "1");
        let mut second = client.call(CallRequest::call_tool("y", &raw("{}")));
        let playing = async {
            let call = peer.expect("tools/call").await;
            peer.say(question("2")).await;
            call
        };
        let (call, questions) = tokio::join!(playing, asked(&mut second));
        assert_eq!(questions[0].key, "2");
        second.answer(vec![questions[0].answer(raw("1"))]);
        let playing = async {
            assert_eq!(peer.text().await.unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":1}"#);
            peer.answer(&call, "{}").await;
        };
        tokio::join!(playing, done(&mut second));
    });
}

#[test]
fn a_question_of_the_inbox_is_taken_back() {
    bounded(async {
        let (_client, mut inbox, peer) = legacy("{}").await;
        peer.say(question("7")).await;
        let InboxEvent::Question(question) = inbox.next().await.unwrap() else { panic!() };
        peer.say(withdrawn("7")).await;
        let heard = inbox.next().await.unwrap();
        assert!(
            matches!(&heard, InboxEvent::Withdrawn { key } if key == question.key()),
            "{heard:?}"
        );
    });
}

/// A dropped call answers its questions with *cancel*, a thousand times over.
#[test]
fn questions_of_a_call_that_is_given_up_are_answered_cancel() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        for round in 0..1000 {
            let id = round.to_string();
            let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
            let playing = async {
                let call = peer.expect("tools/call").await;
                peer.say(question(&id)).await;
                call
            };
            let (call, _) = tokio::join!(playing, asked(&mut exchange));
            drop(exchange);
            cancelled(&mut peer, &id).await;
            let told = peer.hear("notifications/cancelled").await;
            assert_eq!(member(&told, "requestId"), call.id().to_string());
        }
    });
}

/// The server answers the call before its question is answered: the question is dropped.
#[test]
fn an_answer_overtakes_its_question() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        for _ in 0..300 {
            let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
            let playing = async {
                let call = peer.expect("tools/call").await;
                peer.say(question("1")).await;
                call
            };
            let (call, _) = tokio::join!(playing, asked(&mut exchange));
            peer.answer(&call, "{}").await;
            done(&mut exchange).await;
            drop(exchange);
            cancelled(&mut peer, "1").await;
        }
    });
}

#[test]
fn questions_nobody_takes_are_answered_cancel() {
    bounded(async {
        let (_client, inbox, mut peer) = legacy("{}").await;
        // More questions than an inbox holds: the rest is refused at once.
        for id in 0..300 {
            peer.say(question(&id.to_string())).await;
        }
        let mut refused = 0;
        while refused < 44 {
            let answer = peer.text().await.unwrap();
            assert!(answer.contains("cancel") || answer.contains("error"), "{answer}");
            refused += 1;
        }
        drop(inbox);
    });
}

#[test]
fn a_dropped_question_is_answered_by_its_kind() {
    bounded(async {
        let (_client, mut inbox, mut peer) = legacy("{}").await;
        peer.say(question("1")).await;
        drop(inbox.next().await.unwrap());
        cancelled(&mut peer, "1").await;
        peer.say(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#).await;
        drop(inbox.next().await.unwrap());
        assert!(peer.text().await.unwrap().contains(r#""id":2,"error":{"code":-32603"#));
        peer.say(r#"{"jsonrpc":"2.0","id":3,"method":"odd/ask","params":{}}"#).await;
        drop(inbox.next().await.unwrap());
        let answer = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found: odd/ask"}}"#;
        assert_eq!(peer.text().await.unwrap(), answer);
    });
}
