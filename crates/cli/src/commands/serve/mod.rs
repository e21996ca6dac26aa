//! `switchboard serve`: all servers for clients over HTTP, HTTP+SSE and WebSocket.
//!
//! Serves through the running hub (`through_hub`), or becomes the hub. Used by `commands::run`. Flags of access control
//! are handled by `access`, requests by `gateway::face`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_cluster::ClusterOptions;
use switchboard_config::Desired;
use switchboard_core::engine::QueueAccess;
use switchboard_hub::admin::{AdminApi, LoopbackError};
use switchboard_hub::socket::{self, HubLifetime, SocketError};
use switchboard_hub::{
    AccessSetup, BoundAddress, FacesOptions, HubError, LocalHub, ProgramContext, ServedWorkspace,
    WorkspaceFaces, WorkspaceInputs, start_engine,
};
use tokio_util::sync::CancellationToken;

use super::connect::hub_paths;
use crate::args::Serve;
use crate::clustering::ClusterMember;
use crate::command_engine::{self, Hints};
use crate::notice::Notice;
use crate::plugins;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::serve_notices::{served_text, tls_notice};
use crate::state_check::unwritable_state;
use crate::surroundings::Caller;
use crate::wait;

mod through_hub;

/// How long taking over from an ended hub may take: that hub may be finishing calls.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the takeover is tried.
const HANDOVER_INTERVAL: Duration = Duration::from_millis(50);

/// The messages after the first and after the second signal.
const SHUTTING_DOWN: &str =
    "\nShutting down; waiting for running calls. Press Ctrl-C again to stop now.";
const STOPPED_NOW: &str = "Stopped now; calls that were running have been cancelled.";
/// How long a hub that ends is waited for: it may be finishing calls.
const ENDING_HUB_TIMEOUT: Duration = Duration::from_secs(30);

/// Why serving ended.
enum ServeEnd {
    /// A person ended the command.
    Requested,
    /// The hub that served has ended; serving continues at this address.
    HubGone { address: SocketAddr },
}

/// Whether the address was printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    /// To be printed once the address is served.
    Due,
    /// Printed before a hub ended.
    Printed,
    /// Printed before, and served again.
    ServedAgain,
}

/// Serves through the running hub, or as the hub. With configuration of this run alone it serves without being a hub
/// for other clients. If the hub that serves ends, the address stays: the next hub serves there, or this process.
pub(crate) async fn run(serve: &Serve, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let mut ending = wait::EndSignals::listen();
    let cluster = serve.clustering.to_options();
    let mut serve = serve.to_options();
    serve.access.shares_tokens = cluster.is_some();
    if caller.is_alone() {
        return Box::pin(serve_alone(&serve, cluster.as_ref(), caller, printer, &mut ending)).await;
    }
    if let Err(failure) = hub_paths(caller) {
        let message =
            format!("{}; other clients cannot share these servers", failure.in_one_line());
        printer.notices(&[Notice::warning(message)]);
        return Box::pin(serve_alone(&serve, cluster.as_ref(), caller, printer, &mut ending)).await;
    }
    // The desired state, read again after a hub has ended: the command may have begun days ago.
    let mut desired_now: Option<Box<Desired>> = None;
    let mut announcement = Announcement::Due;
    let mut gone_since = Instant::now();
    loop {
        let desired = desired_now.as_deref().unwrap_or(&caller.first_desired);
        let cluster = cluster.as_ref();
        let serving =
            serve_once(&serve, cluster, caller, desired, printer, &mut announcement, &mut ending);
        match Box::pin(serving).await {
            Ok(ServeEnd::Requested) => return Ok(()),
            Ok(ServeEnd::HubGone { address }) => {
                let note = format!("the hub that served has ended; serving goes on at {address}");
                printer.notices(&[Notice::note(note)]);
                serve.listen = address;
                desired_now = Some(Box::new(caller.workspace.desired()));
                gone_since = Instant::now();
            }
            // The old hub may still hold the address, and the next hub may be starting.
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

/// Serves until a person ends the command, or the hub that serves has ended.
async fn serve_once(
    serve: &FacesOptions,
    cluster: Option<&ClusterOptions>,
    caller: &Caller,
    desired: &Desired,
    printer: &Printer,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<ServeEnd, Failure> {
    let access =
        AccessSetup::new(serve.access.clone(), serve.listen, &caller.surroundings.state_dir)?;
    let running = command_engine::find_running(caller, printer).await;
    let opened = match &running {
        Some(_) => None,
        None => {
            wait_for_ending_hub(caller, printer).await;
            Box::pin(open_hub(serve, &access, cluster, caller, desired)).await?
        }
    };
    let Some(OpenedHub { hub, bound, program, member }) = opened else {
        if cluster.is_some() {
            return Err(another_hub());
        }
        let faster = || command_engine::find_running(caller, printer);
        let hub = if running.is_some() { running } else { faster().await };
        let ended = || Failure::plain(FailureKind::Failed, "the hub has just ended");
        let hub = hub.ok_or_else(ended)?;
        return through_hub::run(serve, &access, caller, printer, &hub, announcement, ending).await;
    };
    let limits = &desired.settings.limits;
    let (workspaces, stop, admin) = (hub.workspaces(), hub.stop_token(), hub.admin().clone());
    let cut = CancellationToken::new();
    let faces = async {
        let opening = Box::pin(workspaces.open_own(&program, desired, &serve.view));
        let opened = bound.answer_probes_while(&access, limits, opening).await;
        let done = match opened.and_then(std::convert::identity) {
            Ok(workspace) => {
                let member = member.as_ref();
                let served = ServedAddress { bound, workspace, admin: Some(&admin), member };
                serve_faces(
                    serve,
                    &access,
                    caller,
                    printer,
                    served,
                    &stop,
                    announcement,
                    ending,
                    &cut,
                )
                .await
            }
            Err(error) => Err(error.into()),
        };
        drop(workspaces);
        stop.cancel();
        done
    };
    let whole = async { tokio::join!(hub.run(), faces) };
    // A second signal: what runs is dropped where it is, and the guard ends the processes of servers.
    let Some((ended, done)) = cut.run_until_cancelled(Box::pin(whole)).await else {
        return Ok(ServeEnd::Requested);
    };
    leave(member, printer).await;
    done?;
    match ended {
        // A notice at the start said that there is no console.
        Ok(()) | Err(HubError::AdminPort(LoopbackError::Token(_))) => Ok(ServeEnd::Requested),
        Err(error) => Err(error.into()),
    }
}

/// The hub in this process, and the address at which it is going to serve.
struct OpenedHub {
    hub: LocalHub,
    bound: BoundAddress,
    program: ProgramContext,
    member: Option<ClusterMember>,
}

/// Becomes the user's hub; `None` if another process was faster.
async fn open_hub(
    serve: &FacesOptions,
    access: &AccessSetup,
    cluster: Option<&ClusterOptions>,
    caller: &Caller,
    desired: &Desired,
) -> Result<Option<OpenedHub>, Failure> {
    let bound = BoundAddress::bind(serve.listen).await?;
    let (mut program, plugins) = (caller.program_context(), plugins::program_plugins()?);
    let lifetime = HubLifetime::UntilStopped;
    let limits = &desired.settings.limits;
    let joining = Box::pin(join(cluster, access, caller, &bound));
    let member = bound.answer_probes_while(access, limits, joining).await??;
    program.replicas = member.as_ref().map(|member| member.replicas().clone());
    let opening = Box::pin(LocalHub::open(&program, desired, plugins, Arc::new(Hints), lifetime));
    let refused = match bound.answer_probes_while(access, limits, opening).await? {
        Ok(hub) => return Ok(Some(OpenedHub { hub, bound, program, member })),
        Err(HubError::Listen(SocketError::AlreadyRunning { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    };
    if let Some(member) = member {
        member.leave().await?;
    }
    refused
}

/// Waits for a hub that is about to end, which still holds its lock, its servers and perhaps the address.
async fn wait_for_ending_hub(caller: &Caller, printer: &Printer) {
    let Ok(paths) = hub_paths(caller) else { return };
    let waiting = socket::wait_for_ending_hub(&paths, ENDING_HUB_TIMEOUT);
    wait::wait_with_text(printer, "another hub is ending", waiting).await;
}

/// Serves a workspace with an engine of this command, which no other client shares.
async fn serve_alone(
    serve: &FacesOptions,
    cluster: Option<&ClusterOptions>,
    caller: &Caller,
    printer: &Printer,
    ending: &mut wait::EndSignals,
) -> Result<(), Failure> {
    let access =
        AccessSetup::new(serve.access.clone(), serve.listen, &caller.surroundings.state_dir)?;
    let bound = BoundAddress::bind(serve.listen).await?;
    let (mut program, plugins) = (caller.program_context(), plugins::program_plugins()?);
    let limits = &caller.first_desired.settings.limits;
    let joining = Box::pin(join(cluster, &access, caller, &bound));
    let member = bound.answer_probes_while(&access, limits, joining).await??;
    program.replicas = member.as_ref().map(|member| member.replicas().clone());
    let engine = start_engine(&program, &caller.first_desired, QueueAccess::None).await?;
    let inputs = WorkspaceInputs::from_program(&program, &caller.first_desired);
    let opening = Box::pin(ServedWorkspace::open(engine.clone(), &plugins, &serve.view, inputs));
    let opened = bound.answer_probes_while(&access, limits, opening).await;
    let done = match opened.and_then(std::convert::identity) {
        Err(error) => Err(error.into()),
        Ok(workspace) => {
            let workspace = Arc::new(workspace);
            let stop = CancellationToken::new();
            let (shown, member) = (workspace.clone(), member.as_ref());
            let served = ServedAddress { bound, workspace: shown, admin: None, member };
            let mut due = Announcement::Due;
            let cut = CancellationToken::new();
            let done =
                serve_faces(serve, &access, caller, printer, served, &stop, &mut due, ending, &cut)
                    .await;
            if let Some(workspace) = Arc::into_inner(workspace) {
                workspace.close().await;
            }
            done
        }
    };
    engine.shutdown().await;
    leave(member, printer).await;
    done
}

/// Joins the cluster, if this is to be a replica.
async fn join(
    cluster: Option<&ClusterOptions>,
    access: &AccessSetup,
    caller: &Caller,
    bound: &BoundAddress,
) -> Result<Option<ClusterMember>, Failure> {
    let Some(options) = cluster else { return Ok(None) };
    let (host, state_dir) = (caller.machine_name(), &caller.surroundings.state_dir);
    let member = ClusterMember::join(options, host, bound.address(), state_dir).await?;
    if let Err(error) = access.check_tokens(bound.address()) {
        member.leave().await?;
        return Err(error.into());
    }
    Ok(Some(member))
}

/// Leaves the cluster. The others notice in ten seconds if it fails.
async fn leave(member: Option<ClusterMember>, printer: &Printer) {
    let Some(member) = member else { return };
    if let Err(failure) = member.leave().await {
        printer.notices(&[Notice::warning(failure.in_one_line())]);
    }
}

/// A running hub cannot become a replica: its handles and sessions are its own.
fn another_hub() -> Failure {
    let message = "a hub of this user runs already, and it is no replica of the cluster";
    Failure::plain(FailureKind::Failed, message)
        .with_hint("end it with `switchboard stop`, or serve as another user")
}

// === impl Announcement ===

impl Announcement {
    /// Whether the address, which is served now, has to be printed.
    fn is_due(&mut self) -> bool {
        let is_due = *self == Self::Due;
        *self = Self::ServedAgain;
        is_due
    }
}

/// The workspace, its listener and its console.
struct ServedAddress<'a> {
    bound: BoundAddress,
    workspace: Arc<ServedWorkspace>,
    /// The admin API of the hub whose console is served at the address.
    admin: Option<&'a AdminApi>,
    /// The place in the cluster.
    member: Option<&'a ClusterMember>,
}

#[expect(clippy::too_many_arguments, reason = "each is another part of what is served")]
async fn serve_faces(
    serve: &FacesOptions,
    access: &AccessSetup,
    caller: &Caller,
    printer: &Printer,
    ServedAddress { bound, workspace, admin, member }: ServedAddress<'_>,
    stop: &CancellationToken,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
    cut: &CancellationToken,
) -> Result<(), Failure> {
    let address = bound.address();
    let snapshot = workspace.snapshot();
    let state_dir = &caller.surroundings.state_dir;
    if let Some(member) = member {
        member.show_workspace(&workspace);
    }
    let (links, apps) = (&caller.sign_in_links, &serve.apps);
    let faces = WorkspaceFaces::new(bound, workspace, access, links, admin, apps, state_dir).await;
    let faces = faces.with_probes_while_draining();
    let faces = faces.with_replicas(member.map(ClusterMember::replicas));
    let mut notices = caller.notices.clone();
    notices.extend(snapshot.problems.iter().map(Notice::from));
    notices.extend(command_engine::not_numbers(&snapshot.desired, caller));
    notices.extend(tls_notice(access, address));
    notices.extend(unwritable_state(caller));
    notices.extend(member.into_iter().flat_map(ClusterMember::notices));
    notices.extend(faces.info().no_console.as_ref().map(Notice::warning));
    if announcement.is_due() {
        let what = served_text(&snapshot.desired, caller.resolve_options(), &serve.view);
        let invitation = faces.info().console.as_deref();
        ready(access, address, invitation, &what, &notices, printer)?;
    }
    drop(snapshot);
    let shutdown = stop.child_token();
    let serving = faces.serve(shutdown.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = ending.wait_for_end() => {
            printer.done(SHUTTING_DOWN);
            if let Some(admin) = admin {
                admin.announce_end();
            }
            shutdown.cancel();
            tokio::select! {
                served = serving => served,
                () = ending.wait_for_end() => {
                    printer.done(STOPPED_NOW);
                    cut.cancel();
                    Ok(())
                }
            }
        }
    };
    Ok(served?)
}

/// Prints the address, and how to add it to a client.
fn ready(
    access: &AccessSetup,
    address: SocketAddr,
    invitation: Option<&str>,
    what: &str,
    notices: &[Notice],
    printer: &Printer,
) -> Result<(), Failure> {
    let url = access.url(address);
    let console = invitation.map(|invitation| format!("{}{invitation}", access.local_url(address)));
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
    let entry = json!({ "mcpServers": { "switchboard": access.entry(&url) } });
    printer.done(format_args!("  {entry}\n"));
    if let Some(console) = console {
        printer.done(format_args!("Console: {BOLD}{console}{BOLD:#}"));
        printer.done("(one-time link, 15 minutes; `switchboard console` opens a new one)\n");
    }
    printer.done(format_args!("{DIM}Ctrl-C ends it.{DIM:#}"));
    Ok(())
}
