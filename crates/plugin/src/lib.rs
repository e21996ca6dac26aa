//! The plugin host: native tools that cannot take the hub down.

mod told;
pub mod worker;
