//! Sign-in of console pages: a one-time invitation is exchanged for a pass.
//!
//! A pass has two halves. The browser keeps one as an `HttpOnly` cookie; the page keeps the other and sends it in a
//! header. The cookie alone opens nothing: browsers send the cookies of a host to all its ports, and with requests of
//! other pages. Only digests are stored, in memory.
//!
//! Used by `access`. It does not survive a restart of the hub.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::token::random_word;

/// How long an invitation is valid.
const INVITATION_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// How long an unused pass is valid.
const UNUSED_PASS_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// The most invitations, and the most passes; the oldest are dropped.
const MAX_PASSES: usize = 64;

type PassDigest = [u8; 32];

/// All valid invitations and passes.
#[derive(Debug, Default)]
pub(super) struct ConsolePasses(Mutex<PassTables>);

#[derive(Debug, Default)]
struct PassTables {
    invitations: VecDeque<(PassDigest, Instant)>,
    passes: VecDeque<StoredPass>,
}

#[derive(Debug)]
struct StoredPass {
    cookie: PassDigest,
    proof: PassDigest,
    used: Instant,
}

/// Both halves of a pass. Has no `Debug`, so that it cannot be logged.
pub(super) struct ConsolePass {
    pub(super) cookie: String,
    pub(super) proof: String,
}

// === impl ConsolePasses ===

impl ConsolePasses {
    /// Creates an invitation that lets one page in, once.
    pub(super) fn invite(&self) -> io::Result<String> {
        let word = random_word()?;
        let mut books = self.lock();
        push_bounded(&mut books.invitations, (digest(&word), Instant::now()));
        Ok(word)
    }

    /// Exchanges an invitation for a pass; `None` if the invitation is unknown, used or expired.
    pub(super) fn redeem_invitation(&self, word: &str) -> io::Result<Option<ConsolePass>> {
        let pass = ConsolePass { cookie: random_word()?, proof: random_word()? };
        let mut books = self.lock();
        books.invitations.retain(|(_, made)| made.elapsed() < INVITATION_LIFETIME);
        let invited = digest(word);
        let at = books.invitations.iter().position(|(known, _)| *known == invited);
        let Some(at) = at else { return Ok(None) };
        books.invitations.remove(at);
        let (cookie, proof) = (digest(&pass.cookie), digest(&pass.proof));
        push_bounded(&mut books.passes, StoredPass { cookie, proof, used: Instant::now() });
        Ok(Some(pass))
    }

    /// Whether these two halves belong to one valid pass.
    pub(super) fn is_valid(&self, cookie: &str, proof: &str) -> bool {
        let (cookie, proof) = (digest(cookie), digest(proof));
        let mut books = self.lock();
        books.passes.retain(|pass| pass.used.elapsed() < UNUSED_PASS_LIFETIME);
        let is_it = |pass: &&mut StoredPass| pass.cookie == cookie && pass.proof == proof;
        match books.passes.iter_mut().find(is_it) {
            Some(pass) => {
                pass.used = Instant::now();
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, PassTables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push_bounded<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() >= MAX_PASSES {
        kept.pop_front();
    }
    kept.push_back(one);
}

/// Digests are stored and compared: the time of the comparison says nothing about the secret.
fn digest(text: &str) -> PassDigest {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_invitation_is_good_once_and_not_for_long() {
        let passes = ConsolePasses::default();
        let word = passes.invite().unwrap();
        assert!(
            passes.redeem_invitation("").unwrap().is_none()
                && passes.redeem_invitation("x").unwrap().is_none()
        );
        assert!(passes.redeem_invitation(&word).unwrap().is_some());
        assert!(
            passes.redeem_invitation(&word).unwrap().is_none(),
            "an invitation was taken twice"
        );
        let word = passes.invite().unwrap();
        tokio::time::advance(INVITATION_LIFETIME).await;
        assert!(passes.redeem_invitation(&word).unwrap().is_none(), "an old invitation is good");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_is_both_its_halves_while_it_is_used() {
        let passes = ConsolePasses::default();
        let enter = || passes.redeem_invitation(&passes.invite().unwrap()).unwrap().unwrap();
        let (one, other) = (enter(), enter());
        assert!(passes.is_valid(&one.cookie, &one.proof));
        for (cookie, proof) in
            [(&one.cookie, &other.proof), (&one.proof, &one.cookie), (&one.cookie, &String::new())]
        {
            assert!(!passes.is_valid(cookie, proof));
        }
        tokio::time::advance(UNUSED_PASS_LIFETIME / 2).await;
        assert!(passes.is_valid(&one.cookie, &one.proof));
        tokio::time::advance(UNUSED_PASS_LIFETIME / 2).await;
        assert!(passes.is_valid(&one.cookie, &one.proof));
        assert!(!passes.is_valid(&other.cookie, &other.proof), "a pass that nobody used is good");
    }
}
