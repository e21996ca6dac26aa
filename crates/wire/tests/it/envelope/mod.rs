//! The envelope from outside: what each text comes to, for a server, for a client, and by law.

mod answers;
mod calls;
mod edits;
mod laws;
mod model;
mod peer;
mod texts;
mod truncated;
