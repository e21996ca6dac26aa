//! The fixture on standard streams.
//!
//! Used by tests of `wire`, `core`, `sources`, `hub` and `cli`.

use std::sync::Arc;

use switchboard_testkit::fixture::Fixture;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (writer, reader, writing) = switchboard_wire::server::stdio::stdio_link(64 << 20);
    let fixture = Arc::new(Fixture::default());
    tokio::join!(fixture.serve((writer, reader)), writing);
}
