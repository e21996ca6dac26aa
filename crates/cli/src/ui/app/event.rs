//! What happens, and what is to be done about it: the two ends of the program as a function.

use crossterm::event::{KeyEvent, MouseEvent};
use serde_json::Value;
use switchboard_core::permission::LastingAnswer;
use switchboard_core::problem::EngineProblem;
use switchboard_core::remote::RemoteServer;

use super::hub_model::{
    ApprovalCase, Catalog, HubSummary, LinkState, PastCall, RequestFailure, WaitingQuestion,
};

/// Something that happened, at the terminal or in the hub.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    Link(LinkState),
    Looked(Box<ServersUpdate>),
    Listed(Box<Catalog>),
    Questions(Vec<WaitingQuestion>),
    Question(WaitingQuestion),
    Answered {
        id: String,
    },
    Calls(Vec<PastCall>),
    Called(Box<PastCall>),
    /// Something became of a call of ours.
    Call {
        ticket: u64,
        news: CallUpdate,
    },
    /// The hub answered what was asked of it.
    Done {
        wish: RequestIntent,
        answer: Result<Value, RequestFailure>,
    },
    Log {
        server: String,
        lines: Vec<String>,
    },
    /// Somebody wants this to end.
    End,
}

/// How the servers are.
#[derive(Debug, Default)]
pub(crate) struct ServersUpdate {
    pub(crate) hub: HubSummary,
    pub(crate) servers: Vec<RemoteServer>,
    pub(crate) problems: Vec<EngineProblem>,
    pub(crate) approvals: Vec<ApprovalCase>,
    pub(crate) answers: Vec<LastingAnswer>,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub(crate) enum CallUpdate {
    Progress(Value),
    Question(WaitingQuestion),
    Done { result: Value, note: Option<String> },
    Failed(RequestFailure),
}

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Quit,
    /// To be put into the background, as every program of a terminal can be.
    Suspend,
    /// Everything drawn anew.
    Redraw,
    /// Somebody is told who may look elsewhere.
    Notify(String),
    /// A page is opened in the browser.
    Open(String),
    Ask(Request),
    Call {
        ticket: u64,
        body: Value,
        /// The call of the past that it repeats: what is hidden of that one stays what it is.
        repeats: Option<String>,
    },
    /// Dropped, a call is cancelled at its server.
    Cancel {
        ticket: u64,
    },
    Follow {
        server: String,
    },
    Unfollow,
    /// A line of the history.
    Remember(String),
    /// A hub is started where none runs.
    StartHub,
}

/// One request to the hub.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) wish: RequestIntent,
    pub(crate) method: Method,
    pub(crate) path: Path,
    pub(crate) body: Option<Value>,
}

/// The methods there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// Where something is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    /// In the whole hub.
    Hub(String),
    /// In the workspace.
    Here(String),
}

/// What a request is for; comes back with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestIntent {
    /// Something is changed, and then this can be said.
    Say(String),
    /// An entry is shown, to be changed.
    Entry {
        server: String,
    },
    /// It is written.
    Save {
        server: String,
    },
    Add,
    Answer {
        id: String,
    },
    SignIn {
        server: String,
    },
    SignOut {
        server: String,
    },
    /// What a server runs.
    Processes {
        server: String,
    },
    /// What a call of the past said.
    Said {
        id: String,
    },
}
