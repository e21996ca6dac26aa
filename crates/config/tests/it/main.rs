//! The library as its users see it.

mod case;
mod desired;
mod schema;
