//! The library as its users see it.

mod case;
mod desired;
mod edits;
mod schema;
mod urls;
mod workspace;
