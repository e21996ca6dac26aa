//! What is done with a server.

use serde_json::{Value, json};
use switchboard_gateway::admin::client::escaped;

use super::event::News;
use super::window::Window;
use super::{Effect, Kind, Method, Model, Path, Request, ServerAct, Typed, View, Wish, calling};

impl Model {
    pub(super) fn with_server(&mut self, act: ServerAct, name: &str) -> Vec<Effect> {
        let post = |verb: &str, done: String| {
            let path = Path::Here(format!("servers/{}/{verb}", escaped(name)));
            vec![Effect::Ask(Request {
                wish: Wish::Say(done),
                method: Method::Post,
                path,
                body: None,
            })]
        };
        match act {
            ServerAct::Enable => post("enable", format!("{name} is on")),
            ServerAct::Disable => post("disable", format!("{name} is off")),
            ServerAct::Reconnect => post("reconnect", format!("{name} is connected to anew")),
            ServerAct::SignOut => post("sign-out", format!("signed out of {name}")),
            ServerAct::SignIn => self.sign_in(name),
            ServerAct::Review => {
                self.windows.push(Window::new(Kind::Review { name: name.to_owned() }));
                Vec::new()
            }
            ServerAct::Log => {
                self.windows.push(Window::new(Kind::log(name)));
                vec![Effect::Follow { server: name.to_owned() }]
            }
            ServerAct::Tools => {
                let effects = self.turn(View::Tools);
                self.list_mut().find = Typed::new(name);
                effects
            }
            ServerAct::Edit => {
                let path = Path::Here(format!("servers/{}", escaped(name)));
                let wish = Wish::Entry { server: name.to_owned() };
                vec![Effect::Ask(Request { wish, method: Method::Get, path, body: None })]
            }
            ServerAct::Remove => {
                let Some(server) = self.known.server(name) else { return Vec::new() };
                let file = server.at.as_ref().map(|at| at.origin.to_string()).unwrap_or_default();
                let (server, scope) = (name.to_owned(), server.scope.name().to_owned());
                self.windows.push(Window::new(Kind::Remove { server, scope, file }));
                Vec::new()
            }
        }
    }

    /// The server's own tool says where. It is called for, and what it says is shown.
    fn sign_in(&mut self, server: &str) -> Vec<Effect> {
        let is_way = |item: &&super::Item| {
            let name = item.raw.get("name").ok().flatten().and_then(|name| name.to_text());
            item.server == server && name.as_deref() == Some("authenticate")
        };
        let Some(tool) = self.known.tools.iter().find(is_way).map(|tool| tool.name.clone()) else {
            self.complain(format!("nobody can sign in to {server} here; `switchboard login` may"));
            return Vec::new();
        };
        let ticket = self.ticket();
        self.signing_in = Some((ticket, server.to_owned()));
        self.say(format!("asking {server} where to sign in …"));
        vec![Effect::Call { ticket, body: calling::tool(&tool, &json!({})), repeats: None }]
    }

    /// Where somebody signs in.
    pub(super) fn shown_where(&mut self, news: News) {
        let result = match news {
            News::Done { result, .. } => result,
            News::Failed(wrong) => {
                self.signing_in = None;
                return self.complain(wrong.line());
            }
            News::Progress(_) | News::Question(_) => return,
        };
        let Some((_, server)) = self.signing_in.take() else { return };
        let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let said = texts.join("\n");
        let page = said.split_whitespace().find_map(crate::ask::page).map(String::from);
        self.notice = None;
        self.windows.push(Window::new(Kind::SignIn { server, page, said }));
    }

    /// Opens the page that the window on top shows.
    pub(super) fn visit(&mut self) -> Vec<Effect> {
        match self.windows.last().map(|window| &window.kind) {
            Some(Kind::SignIn { page: Some(page), .. }) => vec![Effect::Open(page.clone())],
            _ => Vec::new(),
        }
    }

    /// It was said that the server is to be removed.
    pub(super) fn remove(&mut self) -> Vec<Effect> {
        let Some(Kind::Remove { server, scope, .. }) = self.windows.pop().map(|window| window.kind)
        else {
            return Vec::new();
        };
        // What there was to see of it goes with it.
        self.windows
            .retain(|window| !matches!(&window.kind, Kind::Server { name } if *name == server));
        let path = Path::Here(format!("servers/{}?scope={}", escaped(&server), escaped(&scope)));
        let wish = Wish::Say(format!("{server} is removed"));
        vec![Effect::Ask(Request { wish, method: Method::Delete, path, body: None })]
    }
}

/// A server's entry is written; the hub checks it.
pub(super) fn save(server: &str, scope: &str, entry: &Value) -> Effect {
    let path = format!("servers/{}?scope={}", escaped(server), escaped(scope));
    let wish = Wish::Save { server: server.to_owned() };
    let body = Some(json!({ "entry": entry }));
    Effect::Ask(Request { wish, method: Method::Put, path: Path::Here(path), body })
}
