//! `switchboard serve`: every server, to any client, over the network.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_core::engine::QueueAccess;
use switchboard_gateway::face::{self, FaceOptions};
use switchboard_hub::FacesOptions;
use switchboard_hub::admin::{AdminApi, AdminRoutes, ConsoleAddressLease, LoopbackError};
use switchboard_hub::socket::{self, HubLifetime};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connect::hub_paths;
use super::hub::{LocalHub, no_admin_port};
use crate::access::AccessSetup;
use crate::args::Serve;
use crate::command_engine;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::served_workspace::{self, ServedWorkspace, WorkspaceInputs, served_text};
use crate::state_check::{no_console, unwritable_state};
use crate::surroundings::Caller;
use crate::wait;

mod through_hub;

pub(super) use through_hub::in_hub;

/// How long taking over from a hub that has ended may take: it may be finishing calls.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often that is tried.
const HANDOVER_INTERVAL: Duration = Duration::from_millis(50);

/// Why a hub no longer serves for us.
enum ServeEnd {
    /// A person wants it to end.
    Wanted,
    /// The hub has ended, and what it served at this address goes on without it.
    HubGone { address: SocketAddr },
}

/// Whether clients know the address already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    /// It is printed once it is served.
    Due,
    /// It was printed before a hub ended.
    Printed,
    /// It was printed, and is served again.
    ServedAgain,
}

/// Serves through the hub that runs, or as the hub. With servers that are only its own it is no hub to anybody else.
/// Where the hub that serves for us ends, the address stays: the next hub serves there, or this process.
pub(crate) async fn run(serve: &Serve, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let mut ending = wait::EndSignals::listen();
    let mut serve = serve.to_options();
    if caller.is_alone() {
        return serve_alone(&serve, caller, printer, &mut ending).await;
    }
    if let Err(failure) = hub_paths(caller) {
        let message =
            format!("{}; other clients cannot share these servers", failure.in_one_line());
        printer.notices(&[Notice::warning(message)]);
        return serve_alone(&serve, caller, printer, &mut ending).await;
    }
    let mut announcement = Announcement::Due;
    let mut gone_since = Instant::now();
    loop {
        match serve_once(&serve, caller, printer, &mut announcement, &mut ending).await {
            Ok(ServeEnd::Wanted) => return Ok(()),
            Ok(ServeEnd::HubGone { address }) => {
                let note = format!("the hub that served has ended; serving goes on at {address}");
                printer.notices(&[Notice::note(note)]);
                serve.listen = address;
                gone_since = Instant::now();
            }
            // Its address may still be taken, and the next hub may be starting.
            Err(_)
                if announcement == Announcement::Printed
                    && gone_since.elapsed() < HANDOVER_TIMEOUT =>
            {
                tokio::select! {
                    () = tokio::time::sleep(HANDOVER_INTERVAL) => {}
                    () = ending.wait_for_end() => return Ok(()),
                }
                continue;
            }
            Err(failure) => return Err(failure),
        }
        announcement = Announcement::Printed;
    }
}

/// Serves until it is to end, or the hub that does it has ended.
async fn serve_once(
    serve: &FacesOptions,
    caller: &Caller,
    printer: &Printer,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<ServeEnd, Failure> {
    let door = AccessSetup::new(&serve.access, serve.listen, &caller.surroundings.state_dir)?;
    if let Some(hub) = command_engine::find_running(caller, printer).await {
        return through_hub::run(serve, &door, caller, printer, &hub, announcement, ending).await;
    }
    let bound = bind(serve).await?;
    let here = match LocalHub::open(caller, HubLifetime::UntilStopped).await? {
        Ok(here) => here,
        Err(socket::SocketError::AlreadyRunning { .. }) => {
            // Somebody was faster.
            drop(bound);
            let hub = command_engine::find_running(caller, printer).await;
            let hub =
                hub.ok_or_else(|| Failure::plain(FailureKind::Failed, "the hub has just ended"))?;
            return through_hub::run(serve, &door, caller, printer, &hub, announcement, ending)
                .await;
        }
        Err(error) => return Err(Failure::new("cannot listen for clients", error)),
    };
    let (rooms, stop, admin) = (here.rooms.clone(), here.stop.clone(), here.admin().clone());
    let faces = async {
        let opened = rooms.open_own(caller, &serve.view).await;
        let done = match opened {
            Ok(front) => {
                let served = ServedAddress { bound, front, looked_after: ConsoleState::By(&admin) };
                serve_faces(serve, door, caller, printer, served, &stop, announcement, ending).await
            }
            Err(failure) => Err(failure),
        };
        drop(rooms);
        stop.cancel();
        done
    };
    let (ended, done) = tokio::join!(here.run(caller), faces);
    done?;
    match ended {
        // It was said at the start that there is no console.
        Ok(()) | Err(LoopbackError::Token(_)) => Ok(ServeEnd::Wanted),
        Err(error) => Err(no_admin_port(error)),
    }
}

/// Serves what nobody else is to be served.
async fn serve_alone(
    serve: &FacesOptions,
    caller: &Caller,
    printer: &Printer,
    ending: &mut wait::EndSignals,
) -> Result<(), Failure> {
    let door = AccessSetup::new(&serve.access, serve.listen, &caller.surroundings.state_dir)?;
    let bound = bind(serve).await?;
    let engine = served_workspace::start_engine(caller, QueueAccess::None).await?;
    let done = match ServedWorkspace::open(
        engine.clone(),
        &serve.view,
        WorkspaceInputs::from_caller(caller),
    )
    .await
    {
        Err(failure) => Err(failure),
        Ok(serving) => {
            let front = Arc::new(serving);
            let stop = CancellationToken::new();
            let looked_after = ConsoleState::Nowhere;
            let served = ServedAddress { bound, front: front.clone(), looked_after };
            let mut due = Announcement::Due;
            let done =
                serve_faces(serve, door, caller, printer, served, &stop, &mut due, ending).await;
            if let Some(front) = Arc::into_inner(front) {
                front.close().await;
            }
            done
        }
    };
    engine.shutdown().await;
    done
}

// === impl Announcement ===

impl Announcement {
    /// Whether the address is to be printed, now that it is served.
    fn is_due(&mut self) -> bool {
        let is_due = *self == Self::Due;
        *self = Self::ServedAgain;
        is_due
    }
}

/// Where people look after what is served.
#[derive(Clone, Copy)]
enum ConsoleState<'a> {
    /// In the console of this hub.
    By(&'a AdminApi),
    /// It is no hub.
    Nowhere,
}

/// What is served, and where.
struct ServedAddress<'a> {
    bound: (TcpListener, SocketAddr),
    front: Arc<ServedWorkspace>,
    looked_after: ConsoleState<'a>,
}

/// The console beside the faces, or why it is not there. It is for this machine alone.
async fn serve_console(
    admin: &AdminApi,
    door: &AccessSetup,
    address: SocketAddr,
    state_dir: &Path,
) -> (Option<AdminRoutes>, Option<String>) {
    match admin.routes_for_address(address, &door.local_url(address), state_dir).await {
        Ok(console) => (console, None),
        Err(error) => (None, Some(no_console(&error))),
    }
}

/// Faces with the console beside them, if it is there, and what is to be held while they are served.
fn looked_after_there(
    console: Option<AdminRoutes>,
    options: FaceOptions,
) -> (FaceOptions, Option<ConsoleAddressLease>) {
    let Some(console) = console else { return (options, None) };
    let (options, shown) = console.add_to_faces(options);
    (options, Some(shown))
}

#[expect(clippy::too_many_arguments, reason = "each is another part of what is served")]
async fn serve_faces(
    serve: &FacesOptions,
    door: AccessSetup,
    caller: &Caller,
    printer: &Printer,
    ServedAddress { bound: (listener, address), front, looked_after }: ServedAddress<'_>,
    stop: &CancellationToken,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<(), Failure> {
    let snapshot = front.snapshot();
    let mut notices = caller.notices.clone();
    notices.extend(snapshot.problems.iter().map(Notice::from));
    notices.extend(command_engine::not_numbers(&snapshot.desired, caller));
    notices.extend(door.notices(address));
    notices.extend(unwritable_state(caller));
    let (console, without) = match looked_after {
        ConsoleState::By(admin) => {
            serve_console(admin, &door, address, &caller.surroundings.state_dir).await
        }
        ConsoleState::Nowhere => (None, None),
    };
    notices.extend(without.map(Notice::warning));
    let invitation = console.as_ref().map(|console| &*console.invitation);
    if announcement.is_due() {
        let what = served_text(&snapshot.desired, caller.asked(), &serve.view);
        ready(serve, &door, address, invitation, &what, &notices, printer)?;
    }
    let mut options = door.options(&serve.access, &snapshot.desired.settings.limits, address);
    if let ConsoleState::By(admin) = looked_after {
        options.open_sessions = admin.open_sessions();
    }
    drop(snapshot);
    let shutdown = stop.child_token();
    let (options, _shown) = looked_after_there(console, options);
    let serving = face::serve(listener, front, options, shutdown.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = ending.wait_for_end() => {
            printer.done("\nEnding; answers under way are waited for.");
            shutdown.cancel();
            tokio::select! {
                served = serving => served,
                // Whoever asks twice means now.
                () = ending.wait_for_end() => Ok(()),
            }
        }
    };
    served.map_err(|error| Failure::new("cannot serve", error))
}

async fn bind(serve: &FacesOptions) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(serve.listen).await.map_err(|error| {
        Failure::new(format!("cannot listen on {}", serve.listen), error).with_hint(
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
    serve: &FacesOptions,
    door: &AccessSetup,
    address: SocketAddr,
    invitation: Option<&str>,
    what: &str,
    notices: &[Notice],
    printer: &Printer,
) -> Result<(), Failure> {
    let url = door.url(&serve.access, address);
    let console = invitation.map(|invitation| format!("{}{invitation}", door.local_url(address)));
    printer.notices(notices);
    if printer.is_json() {
        let ready =
            json!({ "url": url, "address": address, "console": console, "problems": notices });
        let text = serde_json::to_string(&ready)
            .map_err(|error| Failure::new("cannot write JSON", error))?;
        printer.text(&text);
        return Ok(());
    }
    printer.done(format_args!("{BOLD}Serving at {url}{BOLD:#}: {what}"));
    printer.done(format_args!(
        "\nAdd it to a client as an MCP server of type `http` with that URL, or let the client start\n\
         `switchboard connect` as a server of type `stdio`: `switchboard install <client>` writes that for\n\
         those it knows. An entry that many clients take:\n"
    ));
    let entry = json!({ "mcpServers": { "switchboard": door.entry(&url) } });
    printer.done(format_args!("  {entry}\n"));
    if let Some(console) = console {
        printer.done(format_args!("Look after it at {BOLD}{console}{BOLD:#}"));
        printer.done("(which lets one page in; `switchboard status` shows another)\n");
    }
    printer.done(format_args!("{DIM}Ctrl-C ends it.{DIM:#}"));
    Ok(())
}
