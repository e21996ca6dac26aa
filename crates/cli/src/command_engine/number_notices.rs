//! Warnings about environment variables that should hold a number and do not.
//!
//! Used by every command with an engine (`call`, `list`, `tools`, `serve` and others) and by `serve_notices`. It does
//! not print them.

use switchboard_config::Desired;
use switchboard_core::engine::variable_problems;
use switchboard_hub::invalid_number_variables;

use crate::notice::Notice;
use crate::surroundings::Caller;

/// Variables that should hold a number and do not, so that the usual number is used.
pub(crate) fn not_numbers(desired: &Desired, caller: &Caller) -> Vec<Notice> {
    let ours = invalid_number_variables(desired, &caller.surroundings.env).into_iter();
    let ours = ours.map(|name| {
        let at = desired.settings.env.get(name).map(|value| value.at.clone());
        Notice::warning(format!("`{name}` is not a number and has no effect")).with_location(at)
    });
    let environment = caller.variables.iter().cloned().collect();
    ours.chain(variable_problems(desired, &environment).iter().map(Notice::from)).collect()
}
