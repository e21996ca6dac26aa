//! Tests of ids that a server spells in another way, and of lists with unreadable items.

use switchboard_wire::client::{CallRequest, ExchangeEvent, ListKind, VersionNegotiation};

use super::{
    bounded, legacy, options, over_http, raw,
    web::{self, web},
};
use crate::http::soon;

/// Spellings of an id with an equal value.
const SPELLINGS: [fn(&str) -> String; 3] =
    [|id| format!("\"{id}\""), |id| format!("{id}.0"), |id| format!("{id}.000")];

#[test]
fn an_answer_under_another_spelling_of_its_id_is_an_answer() {
    for spelling in SPELLINGS {
        bounded(check_spelling(spelling));
    }
}

async fn check_spelling(spelling: fn(&str) -> String) {
    let (client, _inbox, mut peer) = legacy("{}").await;
    let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")).with_progress());
    let playing = async {
        let call = peer.expect("tools/call").await;
        let id = call.id();
        // None of these is the id of the call.
        let others = [
            format!("\"0{id}\""),
            format!("\" {id}\""),
            format!("\"{id}.0\""),
            format!("{id}.5"),
            "\"\"".into(),
            "\"x\"".into(),
        ];
        for other in others {
            peer.say(format!(r#"{{"jsonrpc":"2.0","id":{other},"result":{{"is":"no"}}}}"#)).await;
        }
        let id = spelling(&id.to_string());
        peer.say(format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#)).await;
        peer.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"is":"it"}}}}"#)).await;
    };
    let following = async {
        assert!(matches!(exchange.next().await.unwrap(), ExchangeEvent::Progress(_)));
        exchange.next().await.unwrap()
    };
    let (event, ()) = tokio::join!(following, playing);
    let ExchangeEvent::Done(result) = event else { panic!("{event:?}") };
    assert_eq!(result.as_str(), r#"{"is":"it"}"#);
}

#[tokio::test]
async fn so_it_is_over_http() {
    for spelling in SPELLINGS {
        let server = web(move |asked| match &*asked.method {
            "tools/call" => {
                let mut asked = asked.clone();
                asked.id = spelling(&asked.id);
                asked.result(r#"{"is":"it"}"#)
            }
            _ => web::legacy(asked, "{}"),
        })
        .await;
        let (client, _inbox) =
            soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
        let result =
            soon(client.call(CallRequest::call_tool("x", &raw("{}"))).result()).await.unwrap();
        assert_eq!(result.as_str(), r#"{"is":"it"}"#);
    }
}

/// One tool that is nested too deeply costs no other, on any page.
#[test]
fn an_item_that_is_too_deep_is_left_out_alone() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy(r#"{"tools":{}}"#).await;
        let deep = format!("{}1{}", r#"{"a":"#.repeat(600), "}".repeat(600));
        let playing = async {
            let first = peer.expect("tools/list").await;
            let tools = format!(
                r#"[{{"name":"a"}},{{"name":"deep","inputSchema":{deep}}},{{"name":"b"}}]"#
            );
            peer.answer(&first, &format!(r#"{{"tools":{tools},"nextCursor":"n"}}"#)).await;
            let second = peer.expect("tools/list").await;
            peer.answer(&second, r#"{"tools":[{"name":"c"}]}"#).await;
        };
        let (listing, ()) = tokio::join!(client.list(ListKind::Tools), playing);
        let listing = listing.unwrap();
        let names: Vec<_> = listing.items.iter().map(|item| item.as_str().to_owned()).collect();
        assert_eq!(names, [r#"{"name":"a"}"#, r#"{"name":"b"}"#, r#"{"name":"c"}"#]);
        let excluded: Vec<_> = listing.excluded.iter().map(|item| &*item.name).collect();
        assert_eq!(excluded, ["deep"]);
    });
}
