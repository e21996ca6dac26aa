//! `switchboard connect`: every server, to the client that started this program.

use switchboard_gateway::front::{Front as _, Opening, Part};
use switchboard_wire::server::{ServeOptions, serve, stdio};

use crate::args::Connect;
use crate::report::{Failure, Kind};
use crate::serving::Serving;
use crate::surroundings::{self, Caller};

/// The longest message a client may send.
const LONGEST: usize = 16 << 20;

pub(crate) async fn run(connect: &Connect, caller: &Caller) -> Result<(), Failure> {
    if surroundings::is_beneath_us() {
        let message =
            "this would serve Switchboard to itself: it was started by one of its own servers";
        return Err(Failure::plain(Kind::Failed, message)
            .hinted("take the entry that runs `switchboard connect` out of the configuration"));
    }
    let serving = Serving::open(&connect.view, caller).await?;
    let opening = Opening {
        principal: "local".to_owned(),
        session: format!("stdio-{}", std::process::id()),
        part: Part::Everything,
        transport: "stdio",
    };
    let opened = serving.bridge.open(opening);
    let done = match opened {
        Err(error) => Err(Failure::new("cannot serve", error)),
        Ok(opened) => {
            let (writer, reader, writing) = stdio::link(LONGEST);
            let options = ServeOptions::default();
            let serving = serve((writer, reader), opened.view, &opened.changes, options);
            tokio::select! {
                (served, ()) = async { tokio::join!(serving, writing) } => {
                    served.map_err(|error| Failure::new("the client was lost", error))
                }
                () = ended() => Ok(()),
            }
        }
    };
    serving.close().await;
    done
}

/// A client that ends us asks politely first.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
