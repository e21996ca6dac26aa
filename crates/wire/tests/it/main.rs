//! The one integration binary of this crate.

mod http;
mod process;
mod regression;
mod session;
mod suite;
mod ws;
