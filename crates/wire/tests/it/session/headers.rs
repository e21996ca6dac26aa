//! Tests of headers that mirror a tool's arguments, and of disagreement between server and client.

use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_wire::client::{CallRequest, ListKind, VersionNegotiation};
use switchboard_wire::json::Raw;

use super::{
    options, over_http, raw,
    web::{self, Asked, methods, web},
};
use crate::http::soon;

fn routed(header: &str) -> String {
    format!(
        r#"[{{"name":"routed","inputSchema":{{"properties":{{"region":{{"type":"string","x-mcp-header":"{header}"}}}}}}}}]"#
    )
}

#[tokio::test]
async fn a_tool_not_yet_seen_is_listed_before_it_is_called() {
    let server = web(|asked| match &*asked.method {
        "tools/call" => {
            assert_eq!(asked.http.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
            asked.result("{}")
        }
        _ => web::modern(asked, &routed("Region")),
    })
    .await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    for _ in 0..2 {
        let call = CallRequest::call_tool("routed", &raw(r#"{"region":"Zürich"}"#));
        soon(client.call(call).result()).await.unwrap();
    }
    assert_eq!(methods(&server), ["server/discover", "tools/list", "tools/call", "tools/call"]);
}

/// The tool has changed since it was listed: it is listed and called again, once.
#[tokio::test]
async fn headers_that_disagree_are_learnt_again_once() {
    for (understands, expected) in [(true, 2), (false, 2)] {
        let lists = AtomicUsize::new(0);
        let server = web(move |asked| match &*asked.method {
            "tools/list" => {
                let header = if lists.fetch_add(1, Ordering::SeqCst) == 0 { "Old" } else { "New" };
                web::modern(asked, &routed(header))
            }
            "tools/call" if understands && asked.http.header("mcp-param-new") == Some("x") => {
                asked.result("{}")
            }
            "tools/call" => asked.error(400, -32020),
            _ => web::modern(asked, "[]"),
        })
        .await;
        let (client, _inbox) =
            soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
        let result =
            soon(client.call(CallRequest::call_tool("routed", &raw(r#"{"region":"x"}"#))).result())
                .await;
        assert_eq!(result.is_ok(), understands, "{result:?}");
        let asked = methods(&server);
        for method in ["tools/list", "tools/call"] {
            assert_eq!(asked.iter().filter(|known| *known == method).count(), expected, "{method}");
        }
    }
}

#[tokio::test]
async fn a_tool_whose_headers_break_the_rules_is_left_out_alone() {
    let tools = r#"[{"name":"good","inputSchema":{}},{"name":"bad","inputSchema":{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}}]"#;
    let server = web(move |asked| web::modern(asked, tools)).await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    let listing = soon(client.list(ListKind::Tools)).await.unwrap();
    assert_eq!(listing.items.len(), 1);
    assert_eq!(listing.excluded[0].name, "bad");
}

/// Trace context of a call is in the headers too, for whatever stands between; `_meta` stays as it is.
#[tokio::test]
async fn trace_context_becomes_headers_in_both_eras() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let traced = format!(r#""traceparent":"{PARENT}","tracestate":"a=1","baggage":"k=v""#);
    let forged = r#""traceparent":"00-1\r\nevil: 1","baggage":"k=v\r\nevil: 1""#;
    for is_modern in [true, false] {
        let server = web(move |asked| match &*asked.method {
            "tools/call" => {
                let header = |name| asked.http.header(name).unwrap_or_default().to_owned();
                let seen = ["traceparent", "tracestate", "baggage", "evil"].map(header).join(" ");
                let meta = asked.params.get("_meta").unwrap().unwrap().to_string();
                let seen = [("headers", Raw::string(&seen)), ("meta", Raw::string(&meta))];
                asked.result(Raw::object(seen).as_str())
            }
            _ if is_modern => web::modern(asked, r#"[{"name":"t","inputSchema":{}}]"#),
            _ => web::legacy(asked, r#"{"tools":{}}"#),
        })
        .await;
        let (client, _inbox) =
            soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
        for (meta, expected) in
            [(&*traced, format!("{PARENT} a=1 k=v ")), (forged, "   ".to_owned())]
        {
            let params = raw(&format!(r#"{{"name":"t","_meta":{{{meta}}}}}"#));
            let call = CallRequest::new("tools/call", Some(params));
            let seen = soon(client.call(call).result()).await.unwrap();
            let text = |key| seen.get(key).unwrap().unwrap().to_text().unwrap();
            assert_eq!(text("headers"), expected, "modern: {is_modern}");
            assert!(text("meta").contains(meta), "{}", text("meta"));
        }
        let params = raw(&format!(r#"{{"_meta":{{{traced}}}}}"#));
        soon(client.notify("notifications/things/moved", Some(&params))).await.unwrap();
        let mut asked = server.requests().into_iter().map(Asked::new);
        let note = asked.find(|asked| asked.method == "notifications/things/moved");
        let http = note.unwrap().http;
        let found = ["traceparent", "tracestate", "baggage"].map(|name| http.header(name));
        assert_eq!(found, [Some(PARENT), Some("a=1"), Some("k=v")], "modern: {is_modern}");
    }
}
