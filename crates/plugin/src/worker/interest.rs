//! The resources that the host wants updates for, and those that the plugin was told of.
//!
//! Used by `worker::serving`. The host's side is `subscriptions`.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use super::LoadedPlugin;

/// The wanted resources, and those that the plugin knows.
#[derive(Default)]
pub(super) struct Interest {
    wanted: Mutex<BTreeSet<String>>,
    known: Mutex<BTreeSet<String>>,
}

// === impl Interest ===

impl Interest {
    /// Replaces the wanted resources.
    pub(super) fn set_wanted(&self, wanted: BTreeSet<String>) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// Tells the plugin the differences. Threads take turns, and each uses the list wanted by then, so that
    /// the plugin ends up with the host's last list whichever thread runs first.
    pub(super) fn tell_plugin(&self, plugin: &dyn LoadedPlugin) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.difference(&wanted).for_each(|uri| plugin.subscribe(uri, false));
        wanted.difference(&known).for_each(|uri| plugin.subscribe(uri, true));
        *known = wanted;
    }
}
