//! Tests of the wire crate, in one binary.

mod process;
