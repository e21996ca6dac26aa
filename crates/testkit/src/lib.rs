//! Scripted peers and faults, for tests only.
