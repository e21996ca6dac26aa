//! Questions of servers, asked at the terminal while a call runs.
//!
//! One question at a time. Without a terminal, or when a person dismisses a question, the answer is *cancel*.
//!
//! Used by `commands::follow` and `commands::answer`; `ui` uses `field` and `visit`. It does not ask about the
//! command's own plans (`prompt` does).

pub(crate) mod field;
pub(crate) mod form;
mod keyboard;
mod permission;
mod visit;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer, QuestionKind};
use switchboard_wire::json::Raw;

use crate::notice::Notice;
use crate::printer::Printer;
use crate::prompt;
pub(crate) use keyboard::Keyboard;
pub(crate) use visit::{open, page};

/// The queue of questions of one call.
pub(crate) struct CallQuestions<'a> {
    printer: &'a Printer,
    keyboard: Arc<Keyboard>,
    next: VecDeque<PendingQuestion>,
    current: Option<LocalBoxFuture<'a, ()>>,
}

/// A person's reply to an elicitation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PersonReply {
    /// A completed form.
    Filled(Raw),
    /// The person opened the page.
    Visited,
    Decline,
    Cancel,
}

// === impl CallQuestions ===

impl<'a> CallQuestions<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self { printer, keyboard: Arc::default(), next: VecDeque::new(), current: None }
    }

    pub(crate) fn push(&mut self, question: PendingQuestion) {
        self.next.push_back(question);
        self.go_on();
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    /// Waits until the current question is answered. Cancel-safe.
    pub(crate) async fn wait_until_answered(&mut self) {
        if let Some(current) = &mut self.current {
            current.await;
        }
        self.current = None;
        self.go_on();
    }

    fn go_on(&mut self) {
        while self.current.is_none()
            && let Some(question) = self.next.pop_front()
        {
            // The call may have continued without an answer.
            if !question.is_moot() {
                let (keyboard, printer) = (self.keyboard.clone(), self.printer);
                self.current = Some(answer(question, keyboard, printer).boxed_local());
            }
        }
    }
}

async fn answer(question: PendingQuestion, keyboard: Arc<Keyboard>, printer: &Printer) {
    let server = question.server.clone();
    let reply = match &question.about {
        QuestionKind::Elicitation { params } => {
            let said = elicitation(&server, params, &keyboard, printer).await;
            QuestionAnswer::Result(Ok(said.result()))
        }
        // A person typed the call, so permission is not asked again; a command has no model to sample and no roots but
        // the project.
        QuestionKind::Permission(_)
        | QuestionKind::Sampling { .. }
        | QuestionKind::Roots
        | QuestionKind::Extension { .. } => QuestionAnswer::Cancel,
    };
    question.answer(reply);
}

/// Asks one question of the hub's queue. Sampling and roots are cancelled.
pub(crate) async fn ask_one(
    client: Option<&str>,
    server: &str,
    about: &QuestionKind,
    printer: &Printer,
) -> QuestionAnswer {
    let keyboard = Keyboard::default();
    match about {
        QuestionKind::Elicitation { params } => {
            QuestionAnswer::Result(Ok(elicitation(server, params, &keyboard, printer)
                .await
                .result()))
        }
        QuestionKind::Permission(consent) => {
            permission::ask(client, server, consent, &keyboard, printer).await
        }
        QuestionKind::Sampling { .. } | QuestionKind::Roots | QuestionKind::Extension { .. } => {
            QuestionAnswer::Cancel
        }
    }
}

async fn elicitation(
    server: &str,
    params: &Raw,
    keyboard: &Keyboard,
    printer: &Printer,
) -> PersonReply {
    let text = |key| params.get(key).ok().flatten().and_then(|raw| raw.to_text());
    let message = text("message").unwrap_or_default();
    let url = text("url").filter(|_| text("mode").as_deref() == Some("url"));
    match url {
        Some(url) => visit::ask(server, &message, &url, keyboard, printer).await,
        None if !prompt::is_possible(printer) => {
            let question = as_sentence(&message);
            let message = format!("`{server}` asks: {question} The question was cancelled");
            let notice = Notice::warning(message);
            printer.notices(&[notice.with_hint("run the command on a terminal to answer")]);
            // The call goes on, perhaps for long.
            printer.print_held();
            PersonReply::Cancel
        }
        None => {
            let schema = params.get("requestedSchema").ok().flatten();
            let schema = schema.unwrap_or_else(Raw::empty_object);
            form::ask(server, &message, &schema, keyboard, printer).await
        }
    }
}

/// A server's message, ended like a sentence so that another one can follow.
fn as_sentence(words: &str) -> String {
    let words = words.trim_end();
    let is_ended = words.is_empty() || words.ends_with(['.', '!', '?', '…', ':']);
    if is_ended { words.to_owned() } else { format!("{words}.") }
}

// === impl PersonReply ===

impl PersonReply {
    /// The reply as an `ElicitResult`.
    fn result(self) -> Raw {
        let (action, content) = match self {
            Self::Filled(content) => ("accept", Some(("content", content))),
            Self::Visited => ("accept", None),
            Self::Decline => ("decline", None),
            Self::Cancel => ("cancel", None),
        };
        Raw::object([("action", Raw::string(action))].into_iter().chain(content))
    }
}

#[cfg(test)]
mod tests {
    use super::as_sentence;

    #[test]
    fn another_sentence_can_follow_what_a_server_says() {
        for (said, sentence) in
            [("sign in 0", "sign in 0."), ("Who? ", "Who?"), ("Sign.\n", "Sign."), ("", "")]
        {
            assert_eq!(as_sentence(said), sentence);
        }
    }
}
