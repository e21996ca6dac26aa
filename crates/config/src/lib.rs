//! Which servers are desired.
