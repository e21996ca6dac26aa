//! Actions on one server: enable, reconnect, sign in, edit, remove.
//!
//! Used by `perform` and `update`. The hub does the work, through the admin API.

use serde_json::{Value, json};
use switchboard_hub::admin::client::escaped;

use super::window::Window;
use super::{
    Effect, Method, Model, Path, Request, RequestIntent, ServerAct, TextLine, View, WindowKind,
};

impl Model {
    pub(super) fn with_server(&mut self, act: ServerAct, name: &str) -> Vec<Effect> {
        let post = |verb: &str, done: String| {
            let path = Path::Workspace(format!("servers/{}/{verb}", escaped(name)));
            vec![Effect::Ask(Request {
                wish: RequestIntent::Say(done),
                method: Method::Post,
                path,
                body: None,
            })]
        };
        match act {
            ServerAct::Enable => post("enable", format!("enabled {name}")),
            ServerAct::Disable => post("disable", format!("disabled {name}")),
            ServerAct::Reconnect => post("reconnect", format!("reconnecting {name}")),
            ServerAct::SignOut => {
                let path = Path::Workspace(format!("servers/{}/sign-out", escaped(name)));
                let wish = RequestIntent::SignOut { server: name.to_owned() };
                vec![Effect::Ask(Request { wish, method: Method::Post, path, body: None })]
            }
            ServerAct::SignIn => {
                self.say(format!("starting to sign in to {name} …"));
                let path = Path::Workspace(format!("servers/{}/sign-in", escaped(name)));
                let wish = RequestIntent::SignIn { server: name.to_owned() };
                vec![Effect::Ask(Request { wish, method: Method::Post, path, body: None })]
            }
            ServerAct::Review => {
                self.windows.push(Window::new(WindowKind::Review { name: name.to_owned() }));
                Vec::new()
            }
            ServerAct::Log => {
                self.windows.push(Window::new(WindowKind::log(name)));
                vec![Effect::Follow { server: name.to_owned() }]
            }
            ServerAct::Tools => {
                let effects = self.turn(View::Tools);
                self.list_mut().find = TextLine::new(name);
                effects
            }
            ServerAct::Edit => {
                let path = Path::Workspace(format!("servers/{}", escaped(name)));
                let wish = RequestIntent::Entry { server: name.to_owned() };
                vec![Effect::Ask(Request { wish, method: Method::Get, path, body: None })]
            }
            ServerAct::Remove => {
                let Some(server) = self.known.server(name) else { return Vec::new() };
                let file = server.at.as_ref().map(|at| at.origin.to_string()).unwrap_or_default();
                let (server, scope) = (name.to_owned(), server.scope.name().to_owned());
                self.windows.push(Window::new(WindowKind::Remove { server, scope, file }));
                Vec::new()
            }
        }
    }

    /// Opens a window with the sign-in page; the server's state shows when the sign-in is complete.
    pub(super) fn shown_where(&mut self, server: &str, told: &Value) {
        let page = told.get("url").and_then(Value::as_str).and_then(crate::ask::page);
        match page {
            Some(page) => {
                let (server, page) = (server.to_owned(), page.into());
                self.notice = None;
                self.windows.push(Window::new(WindowKind::SignIn { server, page }));
            }
            None => self.complain(format!("{server} has no page to sign in at")),
        }
    }

    /// Shows the outcome of a sign-out, with a warning if tokens may still be valid.
    pub(super) fn signed_out(&mut self, server: &str, told: &Value) {
        let was_in = told.get("signedOut").and_then(Value::as_bool).unwrap_or_default();
        match told.get("problem").and_then(Value::as_str) {
            Some(problem) => self.complain(format!("signed out of {server}, but {problem}")),
            None if was_in => self.say(format!("signed out of {server}")),
            None => self.say(format!("you were not signed in to {server}")),
        }
    }

    /// Opens the page of the top window.
    pub(super) fn visit(&mut self) -> Vec<Effect> {
        match self.windows.last().map(|window| &window.kind) {
            Some(WindowKind::SignIn { page, .. }) => vec![Effect::Open(page.clone())],
            _ => Vec::new(),
        }
    }

    /// Removes the server after the person has confirmed it.
    pub(super) fn remove(&mut self) -> Vec<Effect> {
        let Some(WindowKind::Remove { server, scope, .. }) =
            self.windows.pop().map(|window| window.kind)
        else {
            return Vec::new();
        };
        // Close the windows of the removed server.
        self.windows.retain(
            |window| !matches!(&window.kind, WindowKind::Server { name } if *name == server),
        );
        let path =
            Path::Workspace(format!("servers/{}?scope={}", escaped(&server), escaped(&scope)));
        let wish = RequestIntent::Say(format!("removed {server}"));
        vec![Effect::Ask(Request { wish, method: Method::Delete, path, body: None })]
    }
}

/// The request to write a server's entry; the hub validates it.
pub(super) fn save(server: &str, scope: &str, entry: &Value) -> Effect {
    let path = format!("servers/{}?scope={}", escaped(server), escaped(scope));
    let wish = RequestIntent::Save { server: server.to_owned() };
    let body = Some(json!({ "entry": entry }));
    Effect::Ask(Request { wish, method: Method::Put, path: Path::Workspace(path), body })
}
