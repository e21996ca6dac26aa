//! The three verbs: apply, snapshot, call.
