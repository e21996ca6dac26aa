//! Tests of signing in and staying signed in, against an authorization server that rotates tokens and can be
//! made to fail.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should say where")]

mod alone;
mod bad_input;
mod house;
mod inwards;
mod keychain;
mod office;
mod organisation;
mod other_process;
mod proving;
mod real;
mod renewing;
mod signing_in;
mod store;
mod vault;
mod verifying;
