//! `switchboard serve`: every server, to any client, over the network.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use switchboard_config::Desired;
use switchboard_core::Engine;
use switchboard_gateway::face;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::args::Serve;
use crate::guarding::Door;
use crate::hub;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::Failure;
use crate::serving::{self, Serving, Whose};
use crate::surroundings::Caller;
use crate::wait;

mod beside;

pub(super) use beside::in_hub;

pub(crate) async fn run(serve: &Serve, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let door = Door::new(&serve.guarding, serve.listen, &caller.surroundings.state_dir)?;
    if let Some(hub) = hub::running(caller, printer).await {
        return beside::run(serve, &door, caller, printer, &hub).await;
    }
    let (listener, address) = bind(serve).await?;
    let engine = serving::engine(caller).await?;
    let done = faces(serve, door, caller, printer, listener, address, &engine).await;
    engine.shutdown().await;
    done
}

async fn faces(
    serve: &Serve,
    door: Door,
    caller: &Caller,
    printer: &Printer,
    listener: TcpListener,
    address: SocketAddr,
    engine: &Engine,
) -> Result<(), Failure> {
    let serving = Serving::open(engine.clone(), &serve.view, Whose::of(caller)).await?;
    printer.notices(&caller.notices);
    let problems = serving.snapshot();
    let problems: Vec<Notice> = problems.problems.iter().map(Notice::from).collect();
    printer.notices(&problems);
    printer.notices(&door.notices(address));
    ready(serve, &door, address, &serving.snapshot().desired, printer)?;
    let options = door.options(&serve.guarding, address);
    let shutdown = CancellationToken::new();
    let front = Arc::new(serving);
    let serving = face::serve(listener, Arc::clone(&front), options, shutdown.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = wait::ended() => {
            printer.done("\nEnding; answers under way are waited for.");
            shutdown.cancel();
            tokio::select! {
                served = serving => served,
                // Whoever asks twice means now.
                () = wait::ended() => Ok(()),
            }
        }
    };
    if let Some(front) = Arc::into_inner(front) {
        front.close().await;
    }
    served.map_err(|error| Failure::new("cannot serve", error))
}

async fn bind(serve: &Serve) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(serve.listen).await.map_err(|error| {
        Failure::new(format!("cannot listen on {}", serve.listen), error).hinted(
            "take another address with `--listen`; `--listen 127.0.0.1:0` takes a free port",
        )
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| Failure::new("cannot tell where it listens", error))?;
    Ok((listener, address))
}

/// Says where it is, and how to add it to a client.
fn ready(
    serve: &Serve,
    door: &Door,
    address: SocketAddr,
    desired: &Desired,
    printer: &Printer,
) -> Result<(), Failure> {
    let url = door.url(&serve.guarding, address);
    if printer.is_json() {
        let text = serde_json::to_string(&json!({ "url": url, "address": address }))
            .map_err(|error| Failure::new("cannot write JSON", error))?;
        printer.text(&text);
        return Ok(());
    }
    let ready = desired.ready().count();
    let what = match (ready, desired.servers.len()) {
        (_, 0) => "the built-in server, since none is configured yet".to_owned(),
        (1, _) => "1 server".to_owned(),
        (many, _) => format!("{many} servers"),
    };
    printer.done(format_args!("{BOLD}Serving at {url}{BOLD:#}: {what}"));
    printer.done(format_args!(
        "\nAdd it to a client as an MCP server of type `http` with that URL, or let the client start\n\
         `switchboard connect` as a server of type `stdio`. An entry that many clients take:\n"
    ));
    let entry = json!({ "mcpServers": { "switchboard": door.entry(&url) } });
    printer.done(format_args!("  {entry}\n"));
    printer.done(format_args!("{DIM}Ctrl-C ends it.{DIM:#}"));
    Ok(())
}
