//! The client's side: real hubs, real processes, and hubs that are taken away.

mod limits;
mod lost;
mod peer;
mod speed;
mod start;
mod waiting;
