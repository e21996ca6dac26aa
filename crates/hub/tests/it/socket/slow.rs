//! Test of a client that does not read.

use std::time::Duration;

use switchboard_hub::attach;
use switchboard_hub::socket::ListenOptions;

use super::{
    Room,
    room::{options, tool},
};

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody_and_is_cut_off() {
    let room = Room::new();
    let _hub =
        room.listen(ListenOptions { stalled: Duration::from_millis(300), ..options() }).await;
    let mut slow = room.greet().await;
    for id in 0..8 {
        slow.say(&tool(id, "big", r#"{"bytes":4000000}"#)).await;
    }
    let mut other = room.greet().await;
    for id in 0..100 {
        let answer = other.ask(&tool(id, "echo", "{}")).await;
        assert!(answer.contains(&format!(r#""id":{id},"#)), "{answer}");
    }
    let clients =
        async || attach::request_status(&room.place(), "0.1.0").await.unwrap().unwrap().clients;
    let cut = async {
        while clients().await > 1 {
            tokio::task::yield_now().await;
        }
    };
    switchboard_testkit::deadline::soon(cut).await;
    assert!(other.ask(&tool(1, "echo", "{}")).await.contains("result"));
}
