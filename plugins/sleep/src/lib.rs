//! A plugin with one tool that waits, and that can be cancelled.
//!
//! Built into `switchboard` and used as an example of cancellation.

use std::time::{Duration, Instant};

use switchboard_plugin_sdk::{Context, Result, plugin, tool};

/// How often the tool reports progress.
const STEP: Duration = Duration::from_millis(100);

/// Waits, and tells how far it is. Can be cancelled.
#[tool(read_only)]
fn sleep(
    /// How long
    #[schemars(range(min = 0))]
    milliseconds: u64,
    cx: &Context,
) -> Result<String> {
    let (begin, time) = (Instant::now(), Duration::from_millis(milliseconds));
    while let Some(left) = time.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        cx.sleep(left.min(STEP))?;
        let passed = begin.elapsed().min(time);
        cx.progress(passed.as_secs_f64(), Some(time.as_secs_f64()), "");
    }
    Ok(format!("slept {milliseconds} ms"))
}

plugin! { name: "sleep", version: env!("CARGO_PKG_VERSION"), items: [sleep] }

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
