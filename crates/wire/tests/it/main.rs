//! The one integration binary of this crate.

mod http;
mod process;
mod session;
mod ws;
