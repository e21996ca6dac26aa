//! Tests of legacy sessions: opened, used, ended, expired.

use std::time::Duration;

use switchboard_gateway::face::{FaceLimits, FaceOptions, FaceTimeouts};

use super::{
    Served,
    guarding::by_token,
    raw::{WebSocket, begin, begin_session, call, get, post, read_until, send},
};

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn a_session_that_was_ended_is_gone() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    assert_eq!(served.metric(r#"sessions{transport="http"}"#).await, 1);
    assert_eq!(send(served.address, "DELETE", "/mcp", &known, "").await.status, 200);
    for (method, body) in [("POST", LIST), ("GET", ""), ("DELETE", "")] {
        let headers = [known[0], ("content-type", "application/json")];
        let reply = send(served.address, method, "/mcp", &headers, body).await;
        assert_eq!((reply.status, reply.code()), (404, Some(-32001)), "{method}");
    }
    served.until(r#"sessions{transport="http"}"#, 0).await;
}

#[tokio::test]
async fn a_greeting_that_is_refused_begins_nothing() {
    let served = Served::start(FaceOptions::local()).await;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let reply = post(served.address, "/mcp", &[], hello).await;
    assert_eq!((reply.code(), reply.header("mcp-session-id")), (Some(-32602), None));
    served.until(r#"sessions{transport="http"}"#, 0).await;
}

#[tokio::test]
async fn there_are_so_many_sessions() {
    let limits = FaceLimits { sessions: 2, ..FaceLimits::default() };
    let served = Served::start(FaceOptions { limits, ..FaceOptions::local() }).await;
    let first = begin_session(served.address, "/mcp", &[]).await;
    let _listening = listen(&served, &[("mcp-session-id", &first)]).await;
    // Sessions of all transports count.
    let mut stream = begin(served.address, "GET", "/sse", &[], "").await;
    read_until(&mut stream, "sessionId").await;
    let full = post(served.address, "/mcp", &[], HELLO).await;
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")), "{full:?}");
    assert_eq!(get(served.address, "/sse", &[]).await.status, 503);
    send(served.address, "DELETE", "/mcp", &[("mcp-session-id", &first)], "").await;
    served.until(r#"sessions{transport="http"}"#, 0).await;
    begin_session(served.address, "/mcp", &[]).await;
}

/// Opens the GET stream of a session, which is then in use.
async fn listen(served: &Served, headers: &[(&str, &str)]) -> tokio::net::TcpStream {
    let mut stream = begin(served.address, "GET", "/mcp", headers, "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    stream
}

/// Clients that never end their sessions lock no other client out: the session with the oldest last use makes room.
#[tokio::test]
async fn the_session_that_was_not_used_for_the_longest_time_makes_room() {
    let limits = FaceLimits { sessions: 3, ..FaceLimits::default() };
    let options = FaceOptions { limits, ..FaceOptions::local() };
    let open = options.open_sessions.clone();
    let served = Served::start(options).await;
    let begin = async || begin_session(served.address, "/mcp", &[]).await;
    let use_it =
        async |id: &str| post(served.address, "/mcp", &[("mcp-session-id", id)], LIST).await.status;
    let [used, unused, listened] = [begin().await, begin().await, begin().await];
    let _listening = listen(&served, &[("mcp-session-id", &listened)]).await;
    assert_eq!(use_it(&used).await, 200);
    let fourth = begin().await;
    assert_eq!((use_it(&unused).await, use_it(&used).await), (404, 200));
    for _ in 0..100 {
        begin().await;
        assert!(open.count() <= 3, "{}", open.count());
    }
    let statuses = [use_it(&used).await, use_it(&fourth).await, use_it(&listened).await];
    assert_eq!(statuses, [404, 404, 200]);
}

/// A principal that has used up its share gives up one of its own sessions; one without sessions gets one from the
/// principal with the most.
#[tokio::test]
async fn a_principal_makes_room_among_its_own_sessions() {
    let limits = FaceLimits { sessions: 4, ..FaceLimits::default() };
    let served = Served::start(FaceOptions { limits, ..by_token() }).await;
    let of = |name: &str| format!("Bearer token-of-{name}");
    let (ann, bob, eve) = (of("ann"), of("bob"), of("eve"));
    let begin =
        async |who: &str| begin_session(served.address, "/mcp", &[("authorization", who)]).await;
    let use_it = async |who: &str, id: &str| {
        let headers = [("authorization", who), ("mcp-session-id", id)];
        post(served.address, "/mcp", &headers, LIST).await.status
    };
    let bobs = begin(&bob).await;
    let mut anns = Vec::new();
    for _ in 0..20 {
        anns.push(begin(&ann).await);
    }
    assert_eq!(use_it(&bob, &bobs).await, 200, "a flood of one ends no session of another");
    let eves = [begin(&eve).await, begin(&eve).await];
    assert_eq!(use_it(&eve, &eves[1]).await, 200);
    assert_eq!(use_it(&bob, &bobs).await, 200);
    assert_eq!(use_it(&ann, &anns[0]).await, 404);
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_over() {
    let times = FaceTimeouts { idle: Duration::from_millis(200), ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let idle = begin_session(served.address, "/mcp", &[]).await;
    let listened = begin_session(served.address, "/mcp", &[]).await;
    let mut stream =
        begin(served.address, "GET", "/mcp", &[("mcp-session-id", &listened)], "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    served.until(r#"sessions{transport="http"}"#, 1).await;
    for (id, status) in [(&idle, 404), (&listened, 200)] {
        let reply = post(served.address, "/mcp", &[("mcp-session-id", id)], LIST).await;
        assert_eq!(reply.status, status);
    }
}

#[tokio::test]
async fn one_stream_at_a_time_is_listened_to() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str()), ("accept", "text/event-stream")];
    let mut stream = begin(served.address, "GET", "/mcp", &known, "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    assert_eq!(get(served.address, "/mcp", &known).await.status, 409);
    let announce = call(3, "announce", r#"{"what":"tools"}"#);
    post(served.address, "/mcp", &known[..1], &announce).await;
    read_until(&mut stream, "notifications/tools/list_changed").await;
    drop(stream);
    served.until(r#"streams{transport="http"}"#, 0).await;
    let mut again = begin(served.address, "GET", "/mcp", &known, "").await;
    read_until(&mut again, "200 OK").await;
    let json = [("mcp-session-id", id.as_str()), ("accept", "application/json")];
    assert_eq!(get(served.address, "/mcp", &json).await.status, 406);
}

/// Messages sent without a reader are kept for the next one.
#[tokio::test]
async fn nothing_is_lost_before_the_stream_is_opened() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    post(served.address, "/mcp", &known, &call(3, "announce", r#"{"what":"prompts"}"#)).await;
    let mut stream = begin(served.address, "GET", "/mcp", &known, "").await;
    read_until(&mut stream, "notifications/prompts/list_changed").await;
}

/// A client that listens late gets one notification of a list that changed many times.
#[tokio::test]
async fn a_list_that_changed_often_waits_as_one_event() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    for what in ["tools", "tools", "resources", "tools", "tools", "prompts"] {
        let announce = call(3, "announce", &format!(r#"{{"what":"{what}"}}"#));
        post(served.address, "/mcp", &known, &announce).await;
    }
    let mut stream = begin(served.address, "GET", "/mcp", &known, "").await;
    let text = read_until(&mut stream, "notifications/prompts/list_changed").await;
    for (list, expected) in [("tools", 1), ("resources", 1), ("prompts", 1)] {
        let said = format!("notifications/{list}/list_changed");
        assert_eq!(text.matches(&said).count(), expected, "{text}");
    }
}

/// A token may take some of the sessions, over any transport, and leaves the rest to others.
#[tokio::test]
async fn a_token_leaves_sessions_to_others() {
    let limits = FaceLimits { sessions: 4, ..FaceLimits::default() };
    let served = Served::start(FaceOptions { limits, ..by_token() }).await;
    let (ann, bob) =
        (("authorization", "Bearer token-of-ann"), ("authorization", "Bearer token-of-bob"));
    let first = begin_session(served.address, "/mcp", &[ann]).await;
    let _listening = listen(&served, &[ann, ("mcp-session-id", &first)]).await;
    let _socket = WebSocket::greeted(&served, &[ann]).await;
    let full = post(served.address, "/mcp", &[ann], HELLO).await;
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")), "{full:?}");
    assert_eq!(get(served.address, "/sse", &[ann]).await.status, 503);
    begin_session(served.address, "/mcp", &[bob]).await;
    let (_stream, _) = begin_sse(&served, &[("authorization", "Bearer token-of-eve")]).await;
    let known = [ann, ("mcp-session-id", first.as_str())];
    assert_eq!(post(served.address, "/mcp", &known, LIST).await.status, 200);
}

/// Opens an HTTP+SSE session. Returns the stream and the path to POST to.
pub(super) async fn begin_sse(
    served: &Served,
    headers: &[(&str, &str)],
) -> (tokio::net::TcpStream, String) {
    let mut stream = begin(served.address, "GET", "/sse/one", headers, "").await;
    let text = read_until(&mut stream, "sessionId=").await + &read_until(&mut stream, "\n\n").await;
    let at = text.find("/messages").unwrap();
    let place = text[at..].split_ascii_whitespace().next().unwrap().to_owned();
    (stream, place)
}

#[tokio::test]
async fn sse_posts_are_bound_like_sessions() {
    let served = Served::start(FaceOptions::local()).await;
    let (stream, place) = begin_sse(&served, &[]).await;
    let place = place.as_str();
    let elsewhere = place.replace("/messages/one", "/messages");
    for (place, body, status) in [
        (place, LIST, 202),
        (place, "{", 400),
        (&elsewhere, LIST, 404),
        ("/messages/one?sessionId=nope", LIST, 404),
        ("/messages/one", LIST, 404),
    ] {
        assert_eq!(post(served.address, place, &[], body).await.status, status, "{place} {body}");
    }
    drop(stream);
    served.until(r#"sessions{transport="sse"}"#, 0).await;
    assert_eq!(post(served.address, place, &[], LIST).await.status, 404);
}
