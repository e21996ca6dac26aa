//! Servers at their worst. Beside each stands a healthy one that is called for as long as the test lasts: whatever
//! happens, nothing is lost there, and nothing is left in the end.

mod disk;
mod garbage;
mod killed;
mod large;
mod lists;
mod over_http;
mod peers;
mod restarting;
mod scale;
mod silent;
mod world;
