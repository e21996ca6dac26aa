//! Fault tests of the engine. Beside each faulty server runs a healthy one that is called all the time: none of its
//! calls may fail, and nothing may be left at the end.

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
