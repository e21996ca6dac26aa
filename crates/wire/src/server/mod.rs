//! The MCP server: one session with one client, in either era.
//!
//! Used by `gateway` to serve clients, by `plugin` and by the test servers. A [`ServerHandler`] answers requests in a
//! neutral form: a result, or questions and a state to be called again with. [`serve`] renders the answer for its
//! client: a legacy client gets the questions as requests and waits; a modern one gets `input_required` and calls
//! again. Clients of both eras may share one link. It has no HTTP server (`gateway::face`); [`HandlerSession`]
//! answers single messages for it.

mod batch;
mod budget;
mod cancel;
mod changes;
mod context;
mod handler;
mod in_flight_request;
mod legacy;
mod modern;
mod prerendered_result;
mod render;
mod resource_subscription;
mod serve;
mod session;
pub mod stdio;

pub use batch::MAX_BATCH_ANSWER_BYTES;
pub use budget::{ByteBudget, ByteCharge};
pub use changes::{
    ChangeBroadcaster, ChangeNotification, ChangeReceiver, SourceFilter, SourcedChange,
};
pub use context::{ClientFacts, RequestContext};
pub use handler::{
    HandlerReply, HandlerRequest, ServerDescription, ServerHandler, SubscribedResource,
};
pub use prerendered_result::PrerenderedResult;
pub use serve::{ServeOptions, serve};
pub use session::{ClientSettings, HandlerSession};
