//! How a page of ours is let in: an invitation, good once, becomes a pass.
//!
//! A pass has two halves. The browser keeps one as a cookie that no script reads; the page keeps the other and sends it
//! in a header. A cookie alone opens nothing: browsers show those of one host to all its ports, and send them along with
//! what other pages ask for. Only digests are kept.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::token::random;

/// How long an invitation is good.
const INVITED: Duration = Duration::from_secs(15 * 60);
/// How long a pass is good that nobody uses.
const UNUSED: Duration = Duration::from_secs(24 * 3600);
/// Of each there are so many at most; the oldest make room.
const MOST: usize = 64;

type Digest = [u8; 32];

/// Everybody who was invited or let in.
#[derive(Debug, Default)]
pub(super) struct Passes(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    invitations: VecDeque<(Digest, Instant)>,
    passes: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    cookie: Digest,
    proof: Digest,
    used: Instant,
}

/// Both halves. `Debug` is not for it.
pub(super) struct Pass {
    pub(super) cookie: String,
    pub(super) proof: String,
}

// === impl Passes ===

impl Passes {
    /// A word that lets one page in, once.
    pub(super) fn invite(&self) -> io::Result<String> {
        let word = random()?;
        let mut books = self.lock();
        push(&mut books.invitations, (digest(&word), Instant::now()));
        Ok(word)
    }

    /// Takes an invitation; `None` if it is none, or not any more.
    pub(super) fn enter(&self, word: &str) -> io::Result<Option<Pass>> {
        let pass = Pass { cookie: random()?, proof: random()? };
        let mut books = self.lock();
        books.invitations.retain(|(_, made)| made.elapsed() < INVITED);
        let invited = digest(word);
        let at = books.invitations.iter().position(|(known, _)| *known == invited);
        let Some(at) = at else { return Ok(None) };
        books.invitations.remove(at);
        let (cookie, proof) = (digest(&pass.cookie), digest(&pass.proof));
        push(&mut books.passes, Kept { cookie, proof, used: Instant::now() });
        Ok(Some(pass))
    }

    /// Whether these halves belong together.
    pub(super) fn knows(&self, cookie: &str, proof: &str) -> bool {
        let (cookie, proof) = (digest(cookie), digest(proof));
        let mut books = self.lock();
        books.passes.retain(|pass| pass.used.elapsed() < UNUSED);
        let is_it = |pass: &&mut Kept| pass.cookie == cookie && pass.proof == proof;
        match books.passes.iter_mut().find(is_it) {
            Some(pass) => {
                pass.used = Instant::now();
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() >= MOST {
        kept.pop_front();
    }
    kept.push_back(one);
}

/// Digests are compared, whose bytes tell nothing about how much was right.
fn digest(text: &str) -> Digest {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_invitation_is_good_once_and_not_for_long() {
        let passes = Passes::default();
        let word = passes.invite().unwrap();
        assert!(passes.enter("").unwrap().is_none() && passes.enter("x").unwrap().is_none());
        assert!(passes.enter(&word).unwrap().is_some());
        assert!(passes.enter(&word).unwrap().is_none(), "an invitation was taken twice");
        let word = passes.invite().unwrap();
        tokio::time::advance(INVITED).await;
        assert!(passes.enter(&word).unwrap().is_none(), "an old invitation is good");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_is_both_its_halves_while_it_is_used() {
        let passes = Passes::default();
        let enter = || passes.enter(&passes.invite().unwrap()).unwrap().unwrap();
        let (one, other) = (enter(), enter());
        assert!(passes.knows(&one.cookie, &one.proof));
        for (cookie, proof) in
            [(&one.cookie, &other.proof), (&one.proof, &one.cookie), (&one.cookie, &String::new())]
        {
            assert!(!passes.knows(cookie, proof));
        }
        tokio::time::advance(UNUSED / 2).await;
        assert!(passes.knows(&one.cookie, &one.proof));
        tokio::time::advance(UNUSED / 2).await;
        assert!(passes.knows(&one.cookie, &one.proof));
        assert!(!passes.knows(&other.cookie, &other.proof), "a pass that nobody used is good");
    }
}
