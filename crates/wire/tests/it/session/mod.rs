//! Sessions of both eras, client against server, inside one process.

mod fixture;
mod pairings;
