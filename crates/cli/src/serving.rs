//! A workspace served: its engine, its files watched, and the bridge that shows it to clients.

use std::sync::Arc;

use switchboard_config::{Desired, Mode};
use switchboard_core::Engine;
use switchboard_core::catalog::Style;
use switchboard_core::connection::Timing;
use switchboard_core::engine::InProcess;
use switchboard_core::results::{Policy, Spill};
use switchboard_gateway::bridge::{Bridge, BridgeOptions, ToolSearch};
use switchboard_gateway::hub::{Extra, Options, Served};
use switchboard_wire::process::Guard;
use switchboard_wire::server::Changes;

use crate::args::{ModeArg, Names, Search, View};
use crate::builtin::Builtin;
use crate::hub;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;

/// Everything behind the faces.
pub(crate) struct Serving {
    pub(crate) engine: Engine,
    pub(crate) served: Served,
    pub(crate) bridge: Bridge,
}

// === impl Serving ===

impl Serving {
    pub(crate) async fn open(view: &View, caller: &Caller) -> Result<Self, Failure> {
        let desired = caller.workspace.desired();
        if view.names == Names::Bare && view.servers.len() != 1 && desired.servers.len() > 1 {
            let hint = "name the one server with `--servers`, or take another style";
            return Err(Failure::usage("`--names bare` is for one server only", hint));
        }
        let mut options = hub::engine_options(&desired, caller)?;
        // A client goes on for days; nobody types the command again.
        options.timing.retries = retries(&desired);
        let engine = Engine::start(options).await;
        let guard = Guard::this_program().map_err(|error| {
            Failure::new("cannot open this program to guard what it starts", error)
        })?;
        let mut asked = caller.asked().clone();
        asked.agent.clone_from(&view.agent);
        let extra = Extra {
            otherwise: Some(InProcess::new(hub::BUILTIN, Arc::new(Builtin), Changes::default())),
            only: (!view.servers.is_empty()).then(|| view.servers.clone()),
        };
        let served = Served::start(
            engine.clone(),
            caller.surroundings.clone(),
            asked,
            caller.variables.clone(),
            Options::new(guard),
            extra,
        );
        let served = served.await;
        let workspace = served.workspace().clone();
        let bridge = Bridge::new(engine.clone(), workspace, self::options(view));
        let serving = Self { engine, served, bridge };
        match serving.unknown(view) {
            None => Ok(serving),
            Some(name) => {
                serving.close().await;
                let message = format!("no server is called `{name}`");
                Err(Failure::plain(Kind::Usage, message).hinted("see `switchboard list`"))
            }
        }
    }

    /// A server that was asked for and is not configured.
    fn unknown(&self, view: &View) -> Option<String> {
        let snapshot = self.served.snapshot();
        let known = |name: &&String| snapshot.desired.named(name).next().is_some();
        view.servers.iter().find(|name| !known(name)).cloned()
    }

    pub(crate) async fn close(self) {
        self.served.shutdown().await;
        self.engine.shutdown().await;
    }
}

fn retries(desired: &Desired) -> u32 {
    let asked = desired.settings.limits.reconnect_attempts;
    asked.map_or(Timing::default().retries, |asked| u32::try_from(asked).unwrap_or(u32::MAX))
}

fn options(view: &View) -> BridgeOptions {
    let results = match view.result_limit {
        None => Policy::gateway(),
        Some(0) => Policy { spill: Spill::Off, ..Policy::gateway().with_tokens(0) },
        Some(tokens) => Policy::gateway().with_tokens(tokens),
    };
    BridgeOptions {
        names: match view.names {
            Names::Server => Style::Gateway,
            Names::Full => Style::Full,
            Names::Bare => Style::Bare,
        },
        mode: match view.mode {
            ModeArg::Client => Mode::Client,
            ModeArg::Default => Mode::Default,
            ModeArg::Plan => Mode::Plan,
            ModeArg::Auto => Mode::Auto,
            ModeArg::BypassPermissions => Mode::BypassPermissions,
            ModeArg::DontAsk => Mode::DontAsk,
        },
        tool_search: match view.tool_search {
            Search::Off => ToolSearch::Off,
            Search::Auto => ToolSearch::Auto,
            Search::On => ToolSearch::On,
        },
        results,
        ..BridgeOptions::default()
    }
}
