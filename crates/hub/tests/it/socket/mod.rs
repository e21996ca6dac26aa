//! Tests of `socket` in this process, with bare sockets as clients.

mod bind;
mod ending;
mod hello;
pub(crate) mod room;
mod slow;

pub(crate) use room::Room;
