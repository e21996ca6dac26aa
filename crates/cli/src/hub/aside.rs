//! What servers ask and log beside calls.

use switchboard_core::dispatch::Question;
use switchboard_core::engine::{Event, Happened};
use switchboard_hub::admin::client::Attached;
use switchboard_wire::json::Raw;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

use super::own::Own;

/// Something said beside a call.
pub(crate) enum Aside {
    /// Somebody has to decide something.
    Question(Question),
    /// The parameters of a log message.
    Log(Raw),
}

/// All of it, from now on.
pub(crate) struct Asides {
    questions: Option<mpsc::Receiver<Question>>,
    logs: Logs,
}

enum Logs {
    Own(broadcast::Receiver<Event>),
    Hub(broadcast::Receiver<Raw>),
    /// Nothing more will come.
    Over,
}

// === impl Asides ===

impl Asides {
    pub(super) fn own(own: &Own) -> Self {
        let questions = Some(own.engine.strays(&own.attached));
        Self { questions, logs: Logs::Own(own.engine.events()) }
    }

    pub(super) fn hub(attached: &Attached) -> Self {
        Self { questions: attached.strays(), logs: Logs::Hub(attached.logs()) }
    }

    /// The next thing that is said; never, once nothing more can be. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Aside {
        loop {
            let question = async {
                match &mut self.questions {
                    Some(questions) => questions.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                question = question => match question {
                    Some(question) => return Aside::Question(question),
                    None => self.questions = None,
                },
                log = self.logs.next() => return Aside::Log(log),
            }
        }
    }
}

// === impl Logs ===

impl Logs {
    async fn next(&mut self) -> Raw {
        loop {
            let heard = match self {
                Self::Own(events) => events.recv().await.map(|event| match event.what {
                    Happened::Log(params) => Some(params),
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
