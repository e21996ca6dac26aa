//! The secrets of new entries: planned by name, stored before an entry is written that names them, and taken back
//! where none was.
//!
//! Used by `add`, `import` and `setup`. Which values look like secrets, and their names, is decided in
//! `config::secret`. No output shows a value.

use serde_json::{Value, json};
use switchboard_auth::SecretStore;
use switchboard_config::secret::{SecretMove, SecretMovePlan, SecretStorage as _};
use switchboard_config::setup::SecretTransfer;

use crate::notice::Notice;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// The secrets of new entries.
pub(super) struct SecretMoves {
    pub(super) plan: SecretMovePlan,
    /// Whether the person asked for the move; else it is only proposed.
    is_requested: bool,
    /// Why the store cannot be used, where no move was asked for.
    problem: Option<Notice>,
    store: SecretStore,
}

// === impl SecretMoves ===

impl SecretMoves {
    /// Plans the moves. A store that cannot be read is a failure only if the person asked for the move.
    pub(super) fn plan<'a>(
        entries: impl IntoIterator<Item = (&'a str, &'a Value)>,
        is_requested: bool,
        caller: &Caller,
    ) -> Result<Self, Failure> {
        let store = caller.secret_store();
        let plan = SecretMovePlan::new(entries, &store, &caller.first_desired);
        let failed = |error| Failure::config("cannot move secrets; nothing was changed", &error);
        let (plan, problem) = match plan {
            Ok(plan) => (plan, None),
            Err(error) if is_requested => return Err(failed(error)),
            Err(_) => (
                SecretMovePlan::default(),
                Some(
                    Notice::warning("the secret store cannot be read, so no secret can move there")
                        .with_hint("`switchboard secret list` says why"),
                ),
            ),
        };
        Ok(Self { plan, is_requested, problem, store })
    }

    pub(super) fn is_requested(&self) -> bool {
        self.is_requested
    }

    pub(super) fn problem(&self) -> Option<Notice> {
        self.problem.clone()
    }

    /// The moves for `setup`, which stores the values itself.
    pub(super) fn transfer(&self) -> Option<SecretTransfer<'_>> {
        let transfer = SecretTransfer { plan: &self.plan, storage: &self.store };
        self.is_requested.then_some(transfer)
    }

    /// The entry to write.
    pub(super) fn entry_to_write(&self, server: &str, entry: &Value) -> Value {
        if self.is_requested { self.plan.replace_in(server, entry) } else { entry.clone() }
    }

    /// Stores all values, if the person asked for it.
    pub(super) fn store(&self) -> Result<(), Failure> {
        let values = self.plan.new_values(|_| self.is_requested);
        if values.is_empty() {
            return Ok(());
        }
        self.store
            .store_values(&values)
            .map_err(|error| Failure::config("cannot move secrets; nothing was changed", &error))
    }

    /// Removes the values that were stored for entries which could not be written.
    pub(super) fn take_back(&self, is_written: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let needed = self.plan.new_values(is_written);
        let stored = self.plan.new_values(|_| self.is_requested);
        for name in stored.keys().filter(|name| !needed.contains_key(*name)) {
            self.store.remove_value(name).map_err(|error| {
                Failure::config(format!("the secret `{name}` stays, and nothing names it"), &error)
                    .with_hint(format!("remove it with `switchboard secret remove {name}`"))
            })?;
        }
        Ok(())
    }

    /// The moves of a server's entry, as sentences for people.
    pub(super) fn lines(&self, server: &str) -> impl Iterator<Item = String> {
        let line = |each: &SecretMove| {
            let (field, secret) = (show::bare(&each.field), &each.secret);
            if self.is_requested {
                format!("moves `{field}` to the secret store, as {secret}")
            } else {
                format!(
                    "`{field}` is plain text; `--move-secrets` stores it as the secret {secret}"
                )
            }
        };
        self.plan.of_server(server).map(line)
    }

    /// The moves as JSON; `is_written` says whether the entry of a server was written.
    pub(super) fn to_json(&self, is_written: impl Fn(&str) -> bool) -> Vec<Value> {
        let moved = |each: &SecretMove| {
            let state = match (self.is_requested, is_written(&each.server)) {
                (false, _) => "possible",
                (true, false) => "planned",
                (true, true) => "moved",
            };
            json!({
                "name": each.secret, "server": each.server, "field": each.field, "state": state,
            })
        };
        self.plan.moves.iter().map(moved).collect()
    }
}
