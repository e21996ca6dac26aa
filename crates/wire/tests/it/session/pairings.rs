//! What works in every version works the same way in all of them.

use switchboard_wire::{
    Era, Error,
    client::{Answer, Call, Event, Greeting, Incoming, List},
    envelope::code,
    server::Change,
};

use super::fixture::{connect, greetings, raw};

#[tokio::test]
async fn a_call_echoes_what_it_does_not_understand() {
    for greeting in greetings() {
        let (client, _inbox, _) = connect(greeting).await.unwrap();
        if let Greeting::Only(version) = greeting {
            assert_eq!(client.server().version, version);
        }
        let odd = r#"{ "z" : 1.0, "a":[1e400,"\u00e9"], "n":18446744073709551617 }"#;
        let result = client
            .call(Call::tool("echo", &raw(odd)))
            .result()
            .await
            .unwrap();
        assert_eq!(
            result.get("echo").unwrap().unwrap().as_str(),
            odd,
            "{greeting:?}"
        );
        assert_eq!(client.server().instructions.as_deref(), Some("be kind"));
        assert_eq!(client.server().name().as_deref(), Some("fixture"));
        client.close().await;
        let closed = client.call(Call::tool("echo", &raw("{}"))).result().await;
        assert!(matches!(closed, Err(Error::Closed)));
    }
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    for greeting in greetings() {
        let (client, mut inbox, _) = connect(greeting).await.unwrap();
        let call = Call::tool("count", &raw("{}"))
            .with_progress()
            .with_log_level("info");
        let mut exchange = client.call(call);
        let mut steps = Vec::new();
        let mut logs = 0;
        loop {
            match exchange.next().await.unwrap() {
                Event::Progress(params) => {
                    steps.push(
                        params
                            .get("progress")
                            .unwrap()
                            .unwrap()
                            .decode::<u64>()
                            .unwrap(),
                    );
                }
                Event::Log(_) => logs += 1,
                Event::Done(_) => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(steps, (0..200).collect::<Vec<_>>(), "{greeting:?}");
        if client.server().era() == Era::Legacy {
            assert!(matches!(inbox.next().await.unwrap(), Incoming::Log(_)));
        } else {
            assert_eq!(logs, 1);
        }
    }
}

#[tokio::test]
async fn questions_look_the_same_in_both_eras() {
    for greeting in greetings() {
        let (client, _inbox, _) = connect(greeting).await.unwrap();
        let mut exchange = client.call(Call::tool("ask", &raw("{}")));
        let Event::NeedsInput(questions) = exchange.next().await.unwrap() else {
            panic!()
        };
        assert_eq!(questions[0].method, "elicitation/create");
        exchange.answer(vec![questions[0].answer(raw(r#"{"action":"accept"}"#))]);
        let Event::Done(result) = exchange.next().await.unwrap() else {
            panic!()
        };
        assert_eq!(
            result.get("said").unwrap().unwrap().as_str(),
            r#"{"action":"accept"}"#
        );
        assert_eq!(result.get("state").unwrap().unwrap().as_str(), "\"s1\"");
    }
}

#[tokio::test]
async fn a_call_can_be_put_away_and_resumed() {
    for greeting in greetings() {
        let (client, _inbox, _) = connect(greeting).await.unwrap();
        let call = Call::tool("ask", &raw("{}"));
        let mut exchange = client.call(call.clone());
        let Event::NeedsInput(questions) = exchange.next().await.unwrap() else {
            panic!()
        };
        let resume = exchange.into_resume().unwrap();
        let other = client
            .call(Call::tool("echo", &raw("5")))
            .result()
            .await
            .unwrap();
        assert_eq!(other.get("echo").unwrap().unwrap().as_str(), "5");
        let answer = Answer {
            key: questions[0].key.clone(),
            outcome: Ok(raw("1")),
        };
        let result = client
            .resume(&call, resume, vec![answer])
            .result()
            .await
            .unwrap();
        assert_eq!(result.get("said").unwrap().unwrap().as_str(), "1");
    }
}

#[tokio::test]
async fn lists_keep_odd_items_and_errors_take_the_eras_shape() {
    for greeting in greetings() {
        let (client, _inbox, _) = connect(greeting).await.unwrap();
        let tools = client.list(List::Tools).await.unwrap();
        assert_eq!(tools.items.len(), 2);
        assert_eq!(tools.items[1].as_str(), r#"{"odd":true}"#);
        let error = client.call(Call::read("x:y")).result().await.unwrap_err();
        let expected = match client.server().era() {
            Era::Legacy => code::RESOURCE_NOT_FOUND,
            Era::Modern => code::INVALID_PARAMS,
        };
        assert_eq!(error.code(), Some(expected));
        let unknown = client.request("x/y", None).await.unwrap_err();
        assert_eq!(unknown.code(), Some(code::METHOD_NOT_FOUND));
    }
}

#[tokio::test]
async fn changes_are_heard() {
    for greeting in greetings() {
        let (client, mut inbox, changes) = connect(greeting).await.unwrap();
        client.subscribe("a:b").await.unwrap();
        let heard = async {
            let mut seen = (false, false);
            while seen != (true, true) {
                match inbox.next().await.unwrap() {
                    Incoming::ListChanged(List::Tools) => seen.0 = true,
                    Incoming::ResourceUpdated { uri, .. } if uri == "a:b" => seen.1 = true,
                    other => panic!("{other:?}"),
                }
            }
        };
        // A modern subscription takes a moment to be granted.
        let announcing = async {
            loop {
                changes.announce(Change::List(List::Tools));
                changes.announce(Change::Resource("a:b".into()));
                changes.announce(Change::Resource("c:d".into()));
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = heard => {}
            () = announcing => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_ends_at_its_deadline() {
    for greeting in greetings() {
        let (client, _inbox, _) = connect(greeting).await.unwrap();
        let after = std::time::Duration::from_secs(7);
        let call = Call::tool("hang", &raw("{}")).with_timeout(after);
        let error = client.call(call).result().await.unwrap_err();
        assert!(matches!(error, Error::Timeout { after: waited, .. } if waited == after));
        client
            .call(Call::tool("echo", &raw("1")))
            .result()
            .await
            .unwrap();
    }
}
