//! Questions that a person must answer: the queue, and those of one session.
//!
//! Dispatch puts questions here; fronts answer them. It does not decide who may answer.

pub(super) mod queue;
pub(super) mod session_questions;
