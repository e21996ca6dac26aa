//! A sign-in that runs in the background after the caller has the URL of the sign-in page.
//!
//! Used by `OAuthCredentials` in a long-running program (`UserPresence::Later` and `Elsewhere`), which tells the user the
//! URL of the page, or of a link that leads there. It does not open the page.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use url::Url;

use crate::account::OAuthAccount;
use crate::error::Error;
use crate::flow::{OpenSignInPage, SignInPageOutcome};
use crate::sign_in::SignIn;
use crate::sign_in_link::{SignInLink, SignInLinks};
use crate::sign_in_requirement::SignInRequirement;

/// The running sign-in of one server, if there is one.
#[derive(Default)]
pub(crate) struct BackgroundSignIn {
    /// Locked while a sign-in starts, so that two callers get the URL of one page.
    under_way: tokio::sync::Mutex<Option<RunningSignIn>>,
    done: Arc<Notify>,
    end: Arc<watch::Sender<SignInEnd>>,
}

/// How the last sign-in ended.
#[derive(Clone, Default)]
enum SignInEnd {
    UnderWay,
    /// Also before the first sign-in.
    #[default]
    Done,
    Failed(String),
}

struct RunningSignIn {
    page: String,
    task: AbortOnDropTask,
}

/// Aborts the task on drop: without its holder, a sign-in has no use for the code that comes back.
struct AbortOnDropTask(JoinHandle<Result<OAuthAccount, Error>>);

/// Sends the URL of the page, or of the link to it, to the caller of `start_or_join` instead of opening the page.
struct PageAddressSender {
    tell: Mutex<Option<oneshot::Sender<String>>>,
    link: Option<Box<dyn SignInLink>>,
}

// === impl BackgroundSignIn ===

impl BackgroundSignIn {
    /// Returns the page of the running sign-in, or starts one and returns its page. With `links`, a link to the page.
    pub(crate) async fn start_or_join(
        &self,
        sign_in: &SignIn,
        demand: SignInRequirement,
        links: Option<&dyn SignInLinks>,
    ) -> Result<String, Error> {
        let mut under_way = self.under_way.lock().await;
        if let Some(known) = under_way.as_ref().filter(|known| !known.task.0.is_finished()) {
            return Ok(known.page.clone());
        }
        // Dropping the finished sign-in frees the callback port that its client registration names.
        *under_way = None;
        let link = links.map(|links| open_link(links, sign_in)).transpose()?;
        let (tell, told) = oneshot::channel();
        let page = PageAddressSender { tell: Mutex::new(Some(tell)), link };
        let (sign_in, done, end) = (sign_in.clone(), self.done.clone(), self.end.clone());
        end.send_replace(SignInEnd::UnderWay);
        let mut task = AbortOnDropTask(tokio::spawn(async move {
            let ended = sign_in.run(&demand, &page).await;
            end.send_replace(match &ended {
                Ok(_) => SignInEnd::Done,
                Err(error) => {
                    let (server, error) = (&sign_in.target().name, error.error_chain());
                    tracing::warn!(server, error, "the sign-in was not completed");
                    SignInEnd::Failed(error)
                }
            });
            done.notify_one();
            ended
        }));
        if let Ok(page) = told.await {
            *under_way = Some(RunningSignIn { page: page.clone(), task });
            return Ok(page);
        }
        match (&mut task.0).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) => Err(Error::NoPage),
            Err(source) => Err(Error::Interrupted { what: "the sign-in", source }),
        }
    }

    /// Waits for the end of the sign-in under way. The error says why nobody signed in.
    pub(crate) async fn ended(&self) -> Result<(), String> {
        let mut ends = self.end.subscribe();
        let ended = ends.wait_for(|end| !matches!(end, SignInEnd::UnderWay)).await;
        // The sender is a part of this value, so the wait does not fail.
        match ended.map(|end| end.clone()) {
            Ok(SignInEnd::Failed(why)) => Err(why),
            Ok(SignInEnd::Done | SignInEnd::UnderWay) | Err(_) => Ok(()),
        }
    }

    /// Waits until a sign-in ends, with or without success.
    pub(crate) async fn wait_until_done(&self) {
        self.done.notified().await;
    }
}

// === impl AbortOnDropTask ===

impl Drop for AbortOnDropTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn open_link(links: &dyn SignInLinks, sign_in: &SignIn) -> Result<Box<dyn SignInLink>, Error> {
    let target = sign_in.target();
    let principal = target.principal.as_deref().unwrap_or_default();
    let no_link = || Error::NoLink { principal: principal.to_owned() };
    links.open_link(principal, &target.name).ok_or_else(no_link)
}

// === impl PageAddressSender ===

impl OpenSignInPage for PageAddressSender {
    fn redirect(&self) -> Option<&str> {
        self.link.as_ref()?.redirect()
    }

    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let address = self.link.as_ref().map_or(url.as_str(), |link| link.url()).to_owned();
        let tell = move || {
            let tell = self.tell.lock().take();
            // The caller may have dropped the receiver; then the sign-in task is aborted too.
            let _ = tell.map(|tell| tell.send(address));
        };
        match &self.link {
            Some(link) => {
                // The link leads to the page before anybody knows it.
                let coming_back = link.open_page(url);
                tell();
                coming_back
            }
            None => {
                tell();
                Box::pin(std::future::ready(Ok(SignInPageOutcome::BrowserOpened)))
            }
        }
    }
}
