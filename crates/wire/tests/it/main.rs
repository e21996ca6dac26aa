//! The one integration binary of this crate.

mod session;
