//! The one integration binary of this crate.

mod http;
mod peers;
mod process;
mod session;
mod ws;
