//! The fixture on standard streams. Arguments are the names of the tools that it lists, in place of the usual ones.
//!
//! Used by tests of `wire`, `core`, `sources`, `hub` and `cli`.

use std::sync::Arc;

use switchboard_testkit::fixture::Fixture;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (writer, reader, writing) = switchboard_wire::server::stdio::stdio_link(64 << 20);
    let fixture = Arc::new(Fixture::with_listed_tools(std::env::args().skip(1)));
    tokio::join!(fixture.serve((writer, reader)), writing);
}
