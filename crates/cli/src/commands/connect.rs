//! `switchboard connect`: all servers for the client that started this program, over standard streams.
//!
//! Attaches the client to the hub, or serves from this process with `--standalone`. Used by `commands::run`; `status`,
//! `stop`, `serve` and `ui` use its paths and options. The relay is in `hub::attach`.

use std::ffi::OsString;

use switchboard_core::engine::QueueAccess;
use switchboard_core::principal::Principal;
use switchboard_gateway::view_provider::{
    OpenView, SessionClients, ViewProvider as _, ViewRequest, ViewSelection,
};
use switchboard_hub::attach::{self, AttachOptions, HubLaunchOptions};
use switchboard_hub::socket::HubPaths;
use switchboard_hub::{ServedWorkspace, WorkspaceInputs, start_engine};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{ServeOptions, serve, stdio};

use crate::args::{Connect, Global};
use crate::notice::Notice;
use crate::plugins;
use crate::printer::Printer;
use crate::prompt;
use crate::report::{Failure, FailureKind};
use crate::serve_notices::{view_config, view_notices};
use crate::state_check::unwritable_state;
use crate::surroundings::{self, Caller};
use crate::version::VERSION;
use crate::wait;

/// The longest message a client may send.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Attaches the client to the hub, and starts a hub if none runs.
pub(crate) async fn run(
    connect: &Connect,
    global: &Global,
    caller: Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    not_beneath_us()?;
    explain_on_terminal(printer);
    printer.notices(&unwritable_state(&caller));
    if let Err(failure) = hub_paths(&caller) {
        let message = format!("{}; this client does not share its servers", failure.in_one_line());
        printer.notices(&[Notice::warning(message)]);
        let caller = Box::pin(Caller::with_catalogue(global)).await?;
        return Box::pin(standalone(connect, &caller, printer)).await;
    }
    let mut options = attach_options(global, &caller)?;
    options.cwd.clone_from(&caller.surroundings.cwd);
    options.env.clone_from(&caller.surroundings.env);
    let view = connect.to_options();
    printer.notices(&view_notices(&view_config(&caller, &view), &caller));
    options.view = Raw::from_value(&view)
        .map_err(|error| Failure::new("cannot write the options as JSON", error))?;
    wait::at_work(attach::attach_stdio(options))
        .await
        .map_err(|error| Failure::new("cannot attach to the hub", error))
}

/// Explains `connect` to a person who started it by hand. A client has pipes in place of a terminal.
fn explain_on_terminal(printer: &Printer) {
    if prompt::is_possible(printer) {
        printer.done(
            "This command speaks MCP on standard input and output; an AI client starts it. `switchboard setup` adds it \
             to your clients, and `switchboard ui` is for people. Press Ctrl-D to end it.",
        );
    }
}

/// Options to find the hub, and to start one if none runs.
pub(super) fn attach_options(global: &Global, caller: &Caller) -> Result<AttachOptions, Failure> {
    let place = hub_paths(caller)?;
    let program = surroundings::program().ok_or_else(|| {
        Failure::plain(FailureKind::Failed, "cannot find the path of this program")
    })?;
    let mut args = vec![OsString::from("hub")];
    if let Some(folder) = &global.config_dir {
        args.extend(["--config-dir".into(), folder.as_os_str().to_owned()]);
    }
    let state = &caller.surroundings.state_dir;
    let start = HubLaunchOptions {
        program,
        args,
        env: caller.variables.clone(),
        cwd: "/".into(),
        log: state.join("logs/hub.log"),
    };
    Ok(AttachOptions::new(place, start, VERSION))
}

/// Serves the client from this process.
pub(crate) async fn standalone(
    connect: &Connect,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    not_beneath_us()?;
    if caller.is_alone() {
        explain_on_terminal(printer);
        printer.notices(&unwritable_state(caller));
    }
    let (program, plugins) = (caller.program_context(), plugins::program_plugins()?);
    let engine = start_engine(&program, &caller.first_desired, QueueAccess::None).await?;
    let inputs = WorkspaceInputs::from_program(&program, &caller.first_desired);
    let view = connect.to_options();
    let done = match ServedWorkspace::open(engine.clone(), &plugins, &view, inputs).await {
        Err(error) => Err(error.into()),
        Ok(serving) => {
            printer.notices(&view_notices(&serving.snapshot().desired, caller));
            let done = serve_stdio(&serving).await;
            serving.close().await;
            done
        }
    };
    engine.shutdown().await;
    done
}

async fn serve_stdio(serving: &ServedWorkspace) -> Result<(), Failure> {
    let opening = ViewRequest {
        principal: Principal::local(),
        session: format!("stdio-{}", std::process::id()),
        part: ViewSelection::Everything,
        transport: "stdio",
        clients: SessionClients::One,
    };
    let mut ending = wait::EndSignals::listen();
    let opened = serving.open(opening).await;
    let opened = opened.map_err(|error| Failure::new("cannot serve", error))?;
    let (writer, reader, writing) = stdio::stdio_link(MAX_MESSAGE_BYTES);
    let speaking = wait::at_work(async move {
        let OpenView { view, changes } = opened;
        let answering = serve((writer, reader), view, &changes, ServeOptions::default());
        tokio::join!(biased; answering, writing)
    });
    tokio::select! {
        (served, ()) = speaking => {
            served.map_err(|error| Failure::new("the client was lost", error))
        }
        () = ending.wait_for_end() => Ok(()),
    }
}

/// The paths of the hub of this user and these folders.
pub(super) fn hub_paths(caller: &Caller) -> Result<HubPaths, Failure> {
    Ok(switchboard_hub::hub_paths(&caller.surroundings)?)
}

fn not_beneath_us() -> Result<(), Failure> {
    if !surroundings::is_beneath_us() {
        return Ok(());
    }
    let message =
        "this would serve Switchboard to itself: it was started by one of its own servers";
    Err(Failure::plain(FailureKind::Failed, message)
        .with_hint("remove the entry that runs `switchboard connect` from the configuration"))
}
