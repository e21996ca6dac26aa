//! Whether a call may happen: rules, modes, hooks and the classifier, in one order.
