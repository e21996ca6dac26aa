//! Confirms the lists of a server that is started for a call: an item that a kept catalog shows may be gone, and one
//! that it does not show may be there.
//!
//! Used by `dispatch::find`, `dispatch::tool` and `prompts_and_resources`. It does not read lists
//! (`connection::session` does).

use std::sync::Arc;

use switchboard_wire::client::ListKind;
use tokio::time::{Instant, timeout_at};

use super::find::NamedItem;
use super::{CallError, Stage};
use crate::connection::{Connection, ConnectionState};
use crate::engine::AppliedServer;

// === impl Stage ===

impl Stage {
    /// Starts the server of an item that only a kept catalog shows, and checks that the server still has the item.
    pub(super) async fn confirm_item<T: NamedItem>(
        &self,
        placed: &AppliedServer,
        name: &str,
        server: Option<&str>,
    ) -> Result<(), CallError> {
        if !self.caller.bound_connection(placed).is_unconfirmed(T::LIST) {
            return Ok(());
        }
        self.confirm_list(placed, T::LIST).await?;
        let style = self.caller.session().names;
        match self.lookup::<T>(style, name, server)? {
            Some(_) => Ok(()),
            None => Err(CallError::Gone { name: name.to_owned(), server: placed.name.clone() }),
        }
    }

    /// Confirms the lists of idle servers that an unknown name could belong to. Returns whether there are any.
    pub(super) async fn confirm_owners(
        &self,
        owners: Vec<Arc<AppliedServer>>,
        list: ListKind,
    ) -> Result<bool, CallError> {
        let is_unconfirmed = |placed: &&Arc<AppliedServer>| {
            self.caller.bound_connection(placed).is_unconfirmed(list)
        };
        let unconfirmed: Vec<_> = owners.iter().filter(is_unconfirmed).collect();
        for placed in &unconfirmed {
            self.confirm_list(placed, list).await?;
        }
        Ok(!unconfirmed.is_empty())
    }

    /// Starts a server, and waits until it was asked for a list. A list that does not come in time counts as it was.
    async fn confirm_list(&self, placed: &AppliedServer, list: ListKind) -> Result<(), CallError> {
        let connection = self.connection(placed).await?;
        self.ready(placed, &connection).await?;
        let deadline = Instant::now() + self.engine.connect_timeout();
        let mut revisions = self.engine.revisions();
        let confirmed = async {
            while self.is_awaited(&connection, list) && revisions.changed().await.is_ok() {}
        };
        let _ = timeout_at(deadline, confirmed).await;
        Ok(())
    }

    fn is_awaited(&self, connection: &Connection, list: ListKind) -> bool {
        let is_up = matches!(connection.state(), ConnectionState::Connected(_));
        is_up && !self.engine.has_confirmed_list(connection, list)
    }
}
