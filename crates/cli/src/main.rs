//! The switchboard program.
fn main() {}
