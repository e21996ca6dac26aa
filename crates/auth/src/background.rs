//! A sign-in that goes on by itself: whoever asked for it has the address of a page, and need not wait for more.

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use url::Url;

use crate::account::OAuthAccount;
use crate::error::Error;
use crate::flow::{OpenSignInPage, SignInPageOutcome};
use crate::sign_in::SignIn;
use crate::sign_in_requirement::SignInRequirement;

/// The sign-in of one server that is under way, if any is.
#[derive(Default)]
pub(crate) struct BackgroundSignIn {
    /// Held while one begins, so that two who ask are sent to the same page.
    under_way: tokio::sync::Mutex<Option<RunningSignIn>>,
    done: std::sync::Arc<Notify>,
}

struct RunningSignIn {
    page: String,
    task: AbortOnDropTask,
}

/// Ends with whoever holds it: nobody else could make anything of what comes back.
struct AbortOnDropTask(JoinHandle<Result<OAuthAccount, Error>>);

/// Tells where the page is, and leaves it to somebody else to go there.
struct PageAddressSender(Mutex<Option<oneshot::Sender<String>>>);

// === impl Background ===

impl BackgroundSignIn {
    /// The page of the sign-in that is under way, or of one that begins now.
    pub(crate) async fn start_or_join(
        &self,
        sign_in: &SignIn,
        demand: SignInRequirement,
    ) -> Result<String, Error> {
        let mut under_way = self.under_way.lock().await;
        if let Some(known) = under_way.as_ref().filter(|known| !known.task.0.is_finished()) {
            return Ok(known.page.clone());
        }
        // One that is over frees the port that its registration names.
        *under_way = None;
        let (tell, told) = oneshot::channel();
        let (sign_in, done) = (sign_in.clone(), self.done.clone());
        let mut task = AbortOnDropTask(tokio::spawn(async move {
            let ended = sign_in.run(&demand, &PageAddressSender(Mutex::new(Some(tell)))).await;
            if let Err(error) = &ended {
                let server = &sign_in.target().name;
                tracing::warn!(server, error = error.error_chain(), "nobody signed in");
            }
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

    /// Ends when a sign-in has, however it did.
    pub(crate) async fn wait_until_done(&self) {
        self.done.notified().await;
    }
}

// === impl Task ===

impl Drop for AbortOnDropTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

// === impl PageAddressSender ===

impl OpenSignInPage for PageAddressSender {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let tell = self.0.lock().take();
        // Whoever asked may have given up, which ends this too.
        let _ = tell.map(|tell| tell.send(url.to_string()));
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Opened)))
    }
}
