//! `switchboard plugin serve`: plugins as one MCP server, on standard streams or over the network.
//!
//! Used by `commands::plugin`. It runs without hub, engine and configuration of other servers.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use switchboard_config::LimitSettings;
use switchboard_core::logs::ServerLogs;
use switchboard_gateway::face;
use switchboard_gateway::view_provider::{
    OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection,
};
use switchboard_hub::AccessSetup;
use switchboard_plugin::worker::WorkerSandbox;
use switchboard_plugin::{PluginProblem, PluginServer};
use switchboard_wire::server::{ServeOptions, serve, stdio};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{list, name_of, notice, options, problem_to_json, sources};
use crate::args::ServePlugins;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::Failure;
use crate::serve_notices::tls_notice;
use crate::surroundings::Caller;
use crate::wait::{self, EndSignals};

/// The longest message a client may send.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Serves the plugins directly, without an engine in between.
struct PluginViews(Arc<PluginServer>);

impl ViewProvider for PluginViews {
    type View = PluginServer;

    async fn open(&self, opening: ViewRequest) -> Result<OpenView<PluginServer>, ViewError> {
        match opening.part {
            ViewSelection::Everything => {
                Ok(OpenView { view: Arc::clone(&self.0), changes: self.0.changes() })
            }
            ViewSelection::Server(_) | ViewSelection::Agent(_) => Err(ViewError::NoSuchView),
        }
    }
}

pub(super) async fn run(
    asked: &ServePlugins,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let sources = sources(&asked.folders, caller)?;
    let mut options = options(name_of(&sources), caller)?;
    options.name.clone_from(&asked.name);
    for terms in options.by_plugin.values_mut().chain([&mut options.terms]) {
        terms.pool = asked.pool.map_or(terms.pool, usize::from);
        if asked.sandbox {
            terms.limits.sandbox = WorkerSandbox::Closed;
        }
    }
    if let Some(folder) = &asked.logs {
        let logs = ServerLogs::open(caller.surroundings.cwd.join(folder));
        options.logs = Some(logs.map_err(|error| Failure::new("cannot keep logs", error))?);
    }
    let bound = if asked.sse || asked.httpstream { Some(bind(asked, caller).await?) } else { None };
    let plugins = Arc::new(PluginServer::start(options, sources).await);
    let problems = plugins.problems();
    report(&problems, printer);
    if printer.is_verbose() {
        show_loaded(&plugins, printer);
    }
    let serving = async {
        match bound {
            Some((listener, access)) => {
                serve_faces(asked, access, listener, &plugins, printer).await
            }
            None => serve_stdio(&plugins).await,
        }
    };
    let served = tokio::select! {
        served = serving => served,
        () = report_changes(&plugins, problems, printer) => Ok(()),
    };
    plugins.shutdown();
    served
}

/// Prints problems of plugins to standard error, because standard output may belong to the client.
fn report<'a>(problems: impl IntoIterator<Item = &'a PluginProblem>, printer: &Printer) {
    for problem in problems {
        if printer.is_json() {
            printer.raw(format_args!("{}\n", json!({ "problem": problem_to_json(problem) })));
        } else {
            printer.notices(&[notice(problem)]);
        }
    }
}

/// Prints new problems while clients are served, for example a broken file or a crashed plugin. Does not return.
async fn report_changes(plugins: &PluginServer, mut known: Vec<PluginProblem>, printer: &Printer) {
    let mut watched = plugins.watch_problems();
    while watched.changed().await.is_ok() {
        let problems = watched.borrow_and_update().clone();
        report(problems.iter().filter(|problem| !known.contains(problem)), printer);
        known = problems;
    }
    std::future::pending::<()>().await;
}

/// Prints which plugins are served.
fn show_loaded(plugins: &PluginServer, printer: &Printer) {
    for plugin in plugins.list().iter().filter(|plugin| plugin.offer.is_some()) {
        let place = plugin.file.as_deref().map(|file| printer.places.path(file));
        let place = place.unwrap_or_else(|| "part of this program".to_owned());
        let loaded = list::offer_summary(plugin);
        printer.done(format_args!("loaded {}  {loaded}  {DIM}{place}{DIM:#}", plugin.name));
    }
}

/// Serves the client that started this program.
async fn serve_stdio(plugins: &Arc<PluginServer>) -> Result<(), Failure> {
    let mut ending = EndSignals::listen();
    let (writer, reader, writing) = stdio::stdio_link(MAX_MESSAGE_BYTES);
    let plugins = Arc::clone(plugins);
    let speaking = wait::at_work(async move {
        let changes = plugins.changes();
        let answering = serve((writer, reader), plugins, &changes, ServeOptions::default());
        tokio::join!(biased; answering, writing)
    });
    tokio::select! {
        (served, ()) = speaking => {
            served.map_err(|error| Failure::new("the client was lost", error))
        }
        () = ending.wait_for_end() => Ok(()),
    }
}

async fn bind(
    asked: &ServePlugins,
    caller: &Caller,
) -> Result<(TcpListener, AccessSetup), Failure> {
    let address = SocketAddr::new(asked.host, asked.port);
    let access =
        AccessSetup::new(asked.guarding.to_options(), address, &caller.surroundings.state_dir)?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen on {address}"), error)
            .with_hint("choose another port with `--port`; `--port 0` takes a free port")
    })?;
    Ok((listener, access))
}

/// Serves clients over the network, with all transports, whichever was asked for.
async fn serve_faces(
    asked: &ServePlugins,
    access: AccessSetup,
    listener: TcpListener,
    plugins: &Arc<PluginServer>,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut ending = EndSignals::listen();
    let address = listener.local_addr();
    let address = address
        .map_err(|error| Failure::new("cannot read the address that it listens on", error))?;
    printer.notices(tls_notice(&access, address).as_slice());
    let url = access.url(address);
    let url = if asked.httpstream { url } else { format!("{}/sse", url.trim_end_matches("/mcp")) };
    if printer.is_json() {
        printer.text(&json!({ "url": url, "address": address }).to_string());
    } else {
        printer.done(format_args!("{BOLD}Serving plugins at {url}{BOLD:#}"));
        printer.done(format_args!("{DIM}Ctrl-C ends it.{DIM:#}"));
    }
    let (front, shutdown) = (Arc::new(PluginViews(Arc::clone(plugins))), CancellationToken::new());
    let options = access.face_options(&LimitSettings::default(), address);
    let serving = face::serve(listener, front, options, shutdown.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = ending.wait_for_end() => {
            shutdown.cancel();
            tokio::select! {
                served = serving => served,
                // A second signal ends at once.
                () = ending.wait_for_end() => Ok(()),
            }
        }
    };
    served.map_err(|error| Failure::new("cannot serve", error))
}
