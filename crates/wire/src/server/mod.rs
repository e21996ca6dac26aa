//! The server side: one session with one client, in whichever era it speaks.
//!
//! A [`ServerHandler`] answers requests in a neutral form: a result, or questions and a state to be called
//! again with. [`serve`] renders that for its client. A legacy client is sent the questions as
//! requests and waits; a modern one gets them as `input_required` and calls again. Either kind of
//! client may come over the same link, even in turns.
//!
//! The HTTP faces are not here; what a session does with one message is, in [`HandlerSession`].

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
pub use session::HandlerSession;
