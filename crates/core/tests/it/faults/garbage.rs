//! Test of servers that send invalid messages.

use serde_json::json;
use switchboard_core::CallError;
use switchboard_testkit::programs::program;
use switchboard_wire::Error as WireError;

use super::world::{World, nothing};

#[tokio::test]
async fn garbage_between_good_answers_costs_none_of_them() {
    let entries = json!({ "babbling": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    for number in 0..20 {
        let arguments = json!({ "number": number });
        let (garbage, echo) = tokio::join!(
            world.said("babbling", "garbage", nothing()),
            world.said("babbling", "echo", &arguments),
        );
        assert_eq!(garbage, "good");
        assert_eq!(echo, arguments.to_string());
    }
    // An answer that contradicts itself fails the call it names, and no other.
    let (garbled, echo) = tokio::join!(
        world.call("babbling", "garbled", nothing()),
        world.said("babbling", "echo", nothing()),
    );
    assert_eq!(echo, "{}");
    let error = garbled.unwrap_err();
    let CallError::Server { error, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(&**error, WireError::Malformed(_)), "{error:?}");
    let stats = world.snapshot().server("babbling").unwrap().stats.clone().unwrap();
    assert_eq!(stats.connects, 1, "the session was given up: {:?}", stats.last_error);
    world.end().await;
}
