//! One way to call.
