//! What the host wants to hear of, and what the plugin has been told of it.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::LoadedPlugin;

/// What is wanted, and what the plugin knows of it.
#[derive(Default)]
pub(super) struct Interest {
    wanted: Mutex<BTreeSet<String>>,
    known: Mutex<BTreeSet<String>>,
}

// === impl Interest ===

impl Interest {
    /// The host wants these, and nothing else any more.
    pub(super) fn set_wanted(&self, wanted: BTreeSet<String>) {
        *self.wanted.lock() = wanted;
    }

    /// Tells the plugin what is different. Threads take turns, and each tells what is wanted by then: the last word of
    /// the host is the plugin's last, whichever thread comes to it first.
    pub(super) fn tell_plugin(&self, plugin: &dyn LoadedPlugin) {
        let mut known = self.known.lock();
        let wanted = self.wanted.lock().clone();
        known.difference(&wanted).for_each(|uri| plugin.subscribe(uri, false));
        wanted.difference(&known).for_each(|uri| plugin.subscribe(uri, true));
        *known = wanted;
    }
}
