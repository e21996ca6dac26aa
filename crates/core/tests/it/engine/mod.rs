//! Tests of the engine at its public boundary: desired state in; snapshots, events and results out.

mod all_connections;
mod apply;
pub(crate) mod call;
mod elicitation;
mod first_list;
mod handed;
mod idle;
mod kinds;
mod principals;
mod proxies;
mod rules;
pub(crate) mod script;
mod session;
mod session_stream;
mod sign_in;
mod starts;
mod unowned_questions;
