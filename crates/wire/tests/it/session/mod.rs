//! Client sessions against peers whose every word is scripted, on a clock that does not wait.

mod peer;

pub(crate) use peer::{Peer, answering, initialized};
