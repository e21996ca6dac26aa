//! One connection to one server: a task that keeps it up, and a handle for everyone else.
