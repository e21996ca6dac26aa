//! Resource subscriptions of clients, and which plugin has to send the updates.
//!
//! Used by `server` and `catalog_task`. A plugin is told of the first client that subscribes to a resource
//! and of the last that unsubscribes. Subscriptions outlive workers: each new worker gets them, after a crash
//! or with a new version.

use std::collections::{BTreeSet, HashMap};

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::envelope::{RpcError, code};

use crate::{catalog::PluginCatalog, plugins::Inner, server::no_resource};

/// The limit of subscribed resources.
const MAX_SUBSCRIPTIONS: usize = 4096;

/// The number of subscribers of each resource.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, usize>>);

// === impl Subscriptions ===

impl Subscriptions {
    fn lock_counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock()
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn subscribe(&self, uri: &str) -> Result<(), RpcError> {
        let place = self.catalog().resource(uri).cloned().ok_or_else(|| no_resource(uri))?;
        {
            let mut all = self.subscriptions.lock_counts();
            if all.len() >= MAX_SUBSCRIPTIONS && !all.contains_key(uri) {
                return Err(RpcError::new(code::INTERNAL_ERROR, "too many resources are wanted"));
            }
            *all.entry(uri.to_owned()).or_default() += 1;
        }
        place.slot.change_subscriptions(|wanted| wanted.insert(uri.to_owned()));
        place.slot.ensure_subscribed_worker(&self.host);
        Ok(())
    }

    /// Removes a subscription; the last one is removed from every slot, whichever owned the resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        {
            let mut all = self.subscriptions.lock_counts();
            match all.get_mut(uri) {
                Some(count) if *count > 1 => return *count -= 1,
                _ => drop(all.remove(uri)),
            }
        }
        for slot in self.slots() {
            slot.change_subscriptions(|wanted| wanted.remove(uri));
        }
    }

    /// Gives each slot the subscriptions to resources that it offers now.
    pub(crate) fn place_subscriptions(&self, catalog: &PluginCatalog) {
        let wanted: Vec<String> = self.subscriptions.lock_counts().keys().cloned().collect();
        let holder = |uri: &String| Some((catalog.resource(uri)?.slot.index, uri.clone()));
        let mut placed: HashMap<usize, BTreeSet<String>> = HashMap::new();
        for (slot, uri) in wanted.iter().filter_map(holder) {
            placed.entry(slot).or_default().insert(uri);
        }
        for slot in self.slots() {
            let now = placed.remove(&slot.index).unwrap_or_default();
            slot.change_subscriptions(|wanted| {
                *wanted != now && {
                    *wanted = now;
                    true
                }
            });
        }
    }
}
