//! A sign-in that runs in the background after the caller has the URL of the sign-in page.
//!
//! Used by `OAuthCredentials` in a long-running program (`UserPresence::Later`), which tells the user the URL. It does
//! not open the page.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use url::Url;

use crate::account::OAuthAccount;
use crate::error::Error;
use crate::flow::{OpenSignInPage, SignInPageOutcome};
use crate::sign_in::SignIn;
use crate::sign_in_requirement::SignInRequirement;

/// The running sign-in of one server, if there is one.
#[derive(Default)]
pub(crate) struct BackgroundSignIn {
    /// Locked while a sign-in starts, so that two callers get the URL of one page.
    under_way: tokio::sync::Mutex<Option<RunningSignIn>>,
    done: std::sync::Arc<Notify>,
}

struct RunningSignIn {
    page: String,
    task: AbortOnDropTask,
}

/// Aborts the task on drop: without its holder, a sign-in has no use for the code that comes back.
struct AbortOnDropTask(JoinHandle<Result<OAuthAccount, Error>>);

/// Sends the page's URL to the caller of `start_or_join` instead of opening the page.
struct PageAddressSender(Mutex<Option<oneshot::Sender<String>>>);

// === impl BackgroundSignIn ===

impl BackgroundSignIn {
    /// Returns the page of the running sign-in, or starts one and returns its page.
    pub(crate) async fn start_or_join(
        &self,
        sign_in: &SignIn,
        demand: SignInRequirement,
    ) -> Result<String, Error> {
        let mut under_way = self.under_way.lock().await;
        if let Some(known) = under_way.as_ref().filter(|known| !known.task.0.is_finished()) {
            return Ok(known.page.clone());
        }
        // Dropping the finished sign-in frees the callback port that its client registration names.
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
            // A sign-in with a page cannot succeed before it has sent the page's URL; an aborted task has no
            // error.
            Ok(Ok(_)) | Err(_) => Err(Error::Abandoned { minutes: 0 }),
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

// === impl PageAddressSender ===

impl OpenSignInPage for PageAddressSender {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let tell = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The caller may have dropped the receiver; then the sign-in task is aborted too.
        let _ = tell.map(|tell| tell.send(url.to_string()));
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Opened)))
    }
}
