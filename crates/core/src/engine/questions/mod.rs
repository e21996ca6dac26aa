//! Questions that a person must answer: the queue of each principal, and the questions of one session.
//!
//! Used by `dispatch` and the supervisor, which add questions, and by the fronts, which answer them. It does not
//! decide who may answer.

pub(super) mod queue;
pub(super) mod queues;
pub(super) mod session_questions;
