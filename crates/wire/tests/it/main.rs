//! The one integration binary of this crate.

mod envelope;
mod http;
mod process;
mod session;
mod ws;
