//! Questions and log messages of servers that belong to no call, from an own engine or from the hub.
//!
//! Used by `commands::follow`: servers of older versions send them beside the call. It does not answer questions (`ask`
//! does).

use switchboard_core::dispatch::PendingQuestion;
use switchboard_core::engine::{EngineEvent, EngineEventKind};
use switchboard_hub::admin::client::HubWorkspace;
use switchboard_wire::json::Raw;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

use super::local_engine::LocalEngine;

/// A question or log message that a server sent beside a call.
pub(crate) enum SideEvent {
    /// A question that the person has to answer.
    Question(PendingQuestion),
    /// The parameters of a log message.
    Log(Raw),
}

/// The stream of side events, from now on.
pub(crate) struct SideEvents {
    questions: Option<mpsc::Receiver<PendingQuestion>>,
    logs: LogSource,
}

enum LogSource {
    Local(broadcast::Receiver<EngineEvent>),
    Hub(broadcast::Receiver<Raw>),
    /// Nothing more will come.
    Over,
}

// === impl SideEvents ===

impl SideEvents {
    pub(super) fn local(own: &LocalEngine) -> Self {
        let questions = Some(own.engine.session_questions(&own.attached));
        Self { questions, logs: LogSource::Local(own.engine.events()) }
    }

    pub(super) fn hub(attached: &HubWorkspace) -> Self {
        Self { questions: attached.session_questions(), logs: LogSource::Hub(attached.logs()) }
    }

    /// The next thing that is said; never, once nothing more can be. Safe to cancel.
    pub(crate) async fn next(&mut self) -> SideEvent {
        loop {
            let question = async {
                match &mut self.questions {
                    Some(questions) => questions.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                question = question => match question {
                    Some(question) => return SideEvent::Question(question),
                    None => self.questions = None,
                },
                log = self.logs.next() => return SideEvent::Log(log),
            }
        }
    }
}

// === impl LogSource ===

impl LogSource {
    async fn next(&mut self) -> Raw {
        loop {
            let heard = match self {
                Self::Local(events) => events.recv().await.map(|event| match event.what {
                    EngineEventKind::Log(params) => Some(params),
                    _ => None,
                }),
                Self::Hub(logs) => logs.recv().await.map(Some),
                Self::Over => std::future::pending().await,
            };
            match heard {
                Ok(Some(log)) => return log,
                Ok(None) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => *self = Self::Over,
            }
        }
    }
}
