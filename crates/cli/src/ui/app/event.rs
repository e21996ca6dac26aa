//! Events and effects: the input and output of `Model::update`.
//!
//! Used by `terminal` and `link`, which produce events, and by `ui`, which runs effects. It holds data only.

use crossterm::event::{KeyEvent, MouseEvent};
use serde_json::Value;
use switchboard_core::permission::LastingAnswer;
use switchboard_core::problem::EngineProblem;
use switchboard_core::remote::RemoteServer;
use switchboard_core::traffic::TrafficReport;

use super::hub_model::{
    ApprovalCase, Catalog, HubSummary, LinkState, PastCall, RequestFailure, WaitingQuestion,
};

/// An event of the terminal or the hub.
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
    Traffic(Box<TrafficReport>),
    Calls(Vec<PastCall>),
    Called(Box<PastCall>),
    /// An update of a call of this UI.
    Call {
        ticket: u64,
        news: CallUpdate,
    },
    /// The hub's response to a request.
    Done {
        wish: RequestIntent,
        answer: Result<Value, RequestFailure>,
    },
    Log {
        server: String,
        lines: Vec<String>,
    },
    /// A signal or a closed terminal asks the program to end.
    End,
}

/// The current state of hub and servers.
#[derive(Debug, Default)]
pub(crate) struct ServersUpdate {
    pub(crate) hub: HubSummary,
    pub(crate) servers: Vec<RemoteServer>,
    pub(crate) problems: Vec<EngineProblem>,
    pub(crate) approvals: Vec<ApprovalCase>,
    pub(crate) answers: Vec<LastingAnswer>,
}

/// An update of a call.
#[derive(Debug, Clone)]
pub(crate) enum CallUpdate {
    Progress(Value),
    Question(WaitingQuestion),
    Done { result: Value, note: Option<String> },
    Failed(RequestFailure),
}

/// An effect outside the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Quit,
    /// Suspends the program, like Ctrl-Z.
    Suspend,
    /// Redraws the whole screen.
    Redraw,
    /// Raises a desktop notification.
    Notify(String),
    /// Copies a text to the clipboard.
    Copy(String),
    /// Opens a page in the browser.
    Open(String),
    Ask(Request),
    Call {
        ticket: u64,
        body: Value,
        /// The id of the past call that this call repeats; the hub restores its redacted values.
        repeats: Option<String>,
    },
    /// Drops a call, which cancels it at its server.
    Cancel {
        ticket: u64,
    },
    Follow {
        server: String,
    },
    Unfollow,
    /// Adds a line to the history file.
    Remember(String),
    /// Starts a hub if none runs.
    StartHub,
}

/// A request to the hub.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) wish: RequestIntent,
    pub(crate) method: Method,
    pub(crate) path: Path,
    pub(crate) body: Option<Value>,
}

/// HTTP methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// A path of the admin API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    /// Relative to `/api/v1`.
    Hub(String),
    /// Relative to our workspace.
    Workspace(String),
}

/// The purpose of a request; returned with its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestIntent {
    /// A change; the text is shown on success.
    Say(String),
    /// Fetches an entry for editing.
    Entry {
        server: String,
    },
    /// Writes an entry.
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
    /// Fetches the processes of a server.
    Processes {
        server: String,
    },
    /// Fetches parameters and result of a past call.
    CallContent {
        id: String,
    },
}
