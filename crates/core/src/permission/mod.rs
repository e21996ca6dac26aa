//! Whether a call may happen: rules, modes, hooks, remembered answers and the classifier, in one order.
//!
//! [`Permissions`] are the rules of a workspace and its mode; [`judge`] is the whole decision, a pure
//! function of what is known about one call. Where it says [`Verdict::Classify`] the [`Classifier`] has
//! the word. [`Memory`] keeps what people answered.
//!
//! This module refuses to know who is asked and how, and it places no call.

mod because;
mod classifier;
mod interaction;
mod judge;
mod memory;
mod rules;
mod store;

pub use because::{Because, Cited, Question};
pub use classifier::{Classifier, Inquiry};
pub use interaction::Interaction;
pub use judge::{Consent, HookVerdict, Origin, Subject, Verdict, judge};
pub use memory::{AnswerError, LastingAnswer, Memory, Remember, Remembered, Target};
pub use rules::{Permissions, Ruling};

pub use crate::catalog::Annotations;
