//! Which servers are desired.
#![forbid(unsafe_code)]

pub mod edit;
mod entry;
mod error;
mod expand;
pub mod mask;
pub mod name;
mod policy;
mod problem;
mod scope;
mod settings;
mod source;
mod surroundings;
mod trust;
