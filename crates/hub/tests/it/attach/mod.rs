//! Tests of `attach` with real hub processes that are started, stopped and killed.

mod limits;
mod lost;
mod peer;
mod speed;
mod start;
mod waiting;
