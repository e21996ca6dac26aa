//! `switchboard hub`: runs the hub until it is stopped or no client needs it any more.
//!
//! Used by `connect`, which starts it in the background. It does not hold the hub's logic: that is the crate `hub`
//! (`LocalHub`).

use std::sync::Arc;

use switchboard_hub::LocalHub;
use switchboard_hub::socket::{self, HubLifetime};

use crate::command_engine::Hints;
use crate::plugins;
use crate::report::Failure;
use crate::surroundings::Caller;
use crate::wait;

pub(crate) async fn run(caller: &Caller) -> Result<(), Failure> {
    socket::detach().map_err(|error| Failure::new("cannot leave the client's session", error))?;
    let mut ending = wait::EndSignals::listen();
    let lifetime = HubLifetime::from_limits(&caller.first_desired.settings.limits);
    let program = caller.program_context();
    let plugins = plugins::program_plugins()?;
    let desired = &caller.first_desired;
    let hub = LocalHub::open(&program, desired, plugins, Arc::new(Hints), lifetime).await?;
    let stop = hub.stop_token();
    let stopping = async {
        stop.run_until_cancelled(ending.wait_for_end()).await;
        stop.cancel();
    };
    let (done, ()) = tokio::join!(hub.run(), stopping);
    Ok(done?)
}
