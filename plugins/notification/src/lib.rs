//! A plugin that sends notifications while it works: logs and progress.
//!
//! Built into `switchboard` and used as an example of `Context`.

use std::time::Duration;

use switchboard_plugin_sdk::{Context, Result, plugin, tool};

const STEPS: u32 = 10;
const STEP: Duration = Duration::from_secs(1);

/// Sends a log message.
#[tool(read_only)]
fn logging_test(cx: &Context) -> &'static str {
    cx.log("info", "This is a log message of the notification plugin.");
    "A log message was sent."
}

/// Works for ten seconds, and says after each how far it is. Can be cancelled.
#[tool(read_only)]
fn progress_test(cx: &Context) -> Result<&'static str> {
    for step in 1..=STEPS {
        cx.sleep(STEP)?;
        cx.progress(step.into(), Some(STEPS.into()), &format!("Step {step} of {STEPS}"));
    }
    Ok("All steps are done.")
}

plugin! {
    name: "notification",
    version: env!("CARGO_PKG_VERSION"),
    items: [logging_test, progress_test],
}

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
