//! The one integration binary of this crate.

mod http;
mod session;
mod ws;
