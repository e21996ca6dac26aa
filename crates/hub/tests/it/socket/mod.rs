//! The listening side, in this process, against bare sockets.

mod bind;
mod ending;
mod hello;
pub(crate) mod room;
mod slow;

pub(crate) use room::Room;
