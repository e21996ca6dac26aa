//! Tests of probes: before the faces are served, while they are, and while running calls are finished.

use switchboard_gateway::face::{FaceOptions, Readiness, answer_probes};
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    Served,
    guarding::by_token,
    raw::{Reply, begin, begin_session, call, get, post, read_until},
};

/// The answers of `/healthz` and `/readyz` at an address.
async fn probed(address: std::net::SocketAddr) -> [(u16, String); 2] {
    let told = |reply: Reply| (reply.status, reply.body);
    [told(get(address, "/healthz", &[]).await), told(get(address, "/readyz", &[]).await)]
}

fn told(status: u16, text: &str) -> (u16, String) {
    (status, text.to_owned())
}

#[tokio::test]
async fn an_address_is_alive_and_not_ready_before_anything_is_served() {
    for options in [FaceOptions::local(), by_token()] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (applied, applying) = oneshot::channel::<()>();
        let starting = tokio::spawn(async move {
            answer_probes(&listener, &options, Readiness::Starting, applying)
                .await
                .unwrap()
                .unwrap();
            listener
        });
        let reason = "starting: the configuration is not applied yet\n";
        assert_eq!(probed(address).await, [told(200, "ok\n"), told(503, reason)]);
        let hello = post(address, "/mcp", &[], &call(1, "echo", "{}")).await;
        // Who needs a token needs it now, too.
        assert!(matches!(hello.status, 503 | 401), "{hello:?}");
        let elsewhere = get(address, "/readyz", &[("host", "evil.example")]).await;
        assert_eq!(elsewhere.status, 403);
        applied.send(()).unwrap();
        let served = Served::on(starting.await.unwrap(), FaceOptions::local());
        assert_eq!(probed(address).await, [told(200, "ok\n"), told(200, "ready\n")]);
        served.close().await;
    }
}

#[tokio::test]
async fn an_address_is_not_ready_while_calls_are_finished() {
    let options = FaceOptions { probes_while_draining: true, ..FaceOptions::local() };
    let served = Served::start(options).await;
    let address = served.address;
    let id = begin_session(address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let tick = call(1, "tick", r#"{"every":100,"times":10}"#);
    let mut running = begin(address, "POST", "/mcp", &usual, &tick).await;
    read_until(&mut running, "\"progress\":0").await;
    served.shutdown.cancel();
    // The listener changes its service in the turn after the cancellation.
    while get(address, "/readyz", &[]).await.status == 200 {}
    let reason = "shutting down: calls under way are finished, others are not taken\n";
    assert_eq!(probed(address).await, [told(200, "ok\n"), told(503, reason)]);
    let refused = post(address, "/mcp", &usual[..1], &call(2, "echo", "{}")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    read_until(&mut running, r#""result":{"content":[]}"#).await;
    served.close().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
