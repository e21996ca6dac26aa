//! Sign-in of console pages: a one-time invitation is exchanged for a pass.
//!
//! A pass has two halves. The browser keeps one as an `HttpOnly` cookie; the page keeps the other and sends it in a
//! header. The cookie alone opens nothing: browsers send the cookies of a host to all its ports, and with requests of
//! other pages. The cookie is sealed with the key in user state and holds the digest of the other half, so that a pass
//! outlives the hub without a list of passes. Of invitations, only digests are stored, in memory.
//!
//! Used by `access`. It does not set cookies.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use switchboard_core::sealing::{HandleBinding, HandleKind, HandleSealer, JsonDigest};
use tokio::time::Instant;

use super::token::random_word;

/// How long an invitation is valid.
const INVITATION_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// How long an unused pass is valid.
pub(super) const UNUSED_PASS_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// A pass of this age is sealed anew when it is used.
const RENEWAL_AGE: Duration = Duration::from_secs(3600);
/// The most invitations; the oldest are dropped.
const MAX_INVITATIONS: usize = 64;

const DIGEST_BYTES: usize = 32;
type WordDigest = [u8; DIGEST_BYTES];

/// All valid invitations.
#[derive(Debug, Default)]
pub(super) struct ConsolePasses(Mutex<VecDeque<(WordDigest, Instant)>>);

/// Both halves of a pass. Has no `Debug`, so that it cannot be logged.
pub(super) struct ConsolePass {
    pub(super) cookie: String,
    pub(super) proof: String,
}

/// Whether two halves are a pass. Has no `Debug`, so that it cannot be logged.
pub(super) enum PassVerdict {
    Good,
    /// Valid, and to be replaced by a renewed cookie.
    Aged {
        renewed: String,
    },
    Unknown,
}

// === impl ConsolePasses ===

impl ConsolePasses {
    /// Creates an invitation that lets one page in, once.
    pub(super) fn invite(&self) -> io::Result<String> {
        let word = random_word()?;
        let mut invitations = self.0.lock();
        if invitations.len() >= MAX_INVITATIONS {
            invitations.pop_front();
        }
        invitations.push_back((digest(&word), Instant::now()));
        Ok(word)
    }

    /// Exchanges an invitation for a pass; `None` if the invitation is unknown, used or expired.
    pub(super) fn redeem_invitation(
        &self,
        word: &str,
        sealer: &dyn HandleSealer,
    ) -> io::Result<Option<ConsolePass>> {
        let proof = random_word()?;
        {
            let mut invitations = self.0.lock();
            invitations.retain(|(_, made)| made.elapsed() < INVITATION_LIFETIME);
            let invited = digest(word);
            let at = invitations.iter().position(|(known, _)| *known == invited);
            let Some(at) = at else { return Ok(None) };
            invitations.remove(at);
        }
        let cookie = seal(sealer, &proof, SystemTime::now()).map_err(io::Error::other)?;
        Ok(Some(ConsolePass { cookie, proof }))
    }
}

/// Checks whether these two halves belong to one valid pass.
pub(super) fn check_pass(sealer: &dyn HandleSealer, cookie: &str, proof: &str) -> PassVerdict {
    check_pass_at(sealer, cookie, proof, SystemTime::now())
}

fn check_pass_at(
    sealer: &dyn HandleSealer,
    cookie: &str,
    proof: &str,
    now: SystemTime,
) -> PassVerdict {
    let Ok(payload) = sealer.open(&BINDING, cookie) else { return PassVerdict::Unknown };
    let Some((known, sealed_at)) = payload.split_first_chunk::<DIGEST_BYTES>() else {
        return PassVerdict::Unknown;
    };
    let Ok(sealed_at) = <[u8; 8]>::try_from(sealed_at) else { return PassVerdict::Unknown };
    // Digests are compared: the time of the comparison says nothing about the secret.
    if *known != digest(proof) {
        return PassVerdict::Unknown;
    }
    let sealed_at = UNIX_EPOCH + Duration::from_secs(u64::from_le_bytes(sealed_at));
    if now.duration_since(sealed_at).unwrap_or_default() < RENEWAL_AGE {
        return PassVerdict::Good;
    }
    match seal(sealer, proof, now) {
        Ok(renewed) => PassVerdict::Aged { renewed },
        // Without random numbers the old cookie stays, which is good for a while yet.
        Err(_) => PassVerdict::Good,
    }
}

/// The purpose that a cookie is sealed for.
const BINDING: HandleBinding<'static> = HandleBinding {
    kind: HandleKind::ConsolePass,
    place: "",
    principal: "",
    method: "",
    name: "",
    arguments: JsonDigest::NONE,
};

fn seal(
    sealer: &dyn HandleSealer,
    proof: &str,
    now: SystemTime,
) -> Result<String, switchboard_core::sealing::SealError> {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let payload = [&digest(proof)[..], &seconds.to_le_bytes()].concat();
    sealer.seal(&BINDING, &payload, UNUSED_PASS_LIFETIME)
}

fn digest(text: &str) -> WordDigest {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::sealing::LocalSealer;

    #[tokio::test(start_paused = true)]
    async fn an_invitation_is_good_once_and_not_for_long() {
        let (passes, sealer) = (ConsolePasses::default(), LocalSealer::ephemeral());
        let redeem = |word: &str| passes.redeem_invitation(word, &sealer).unwrap();
        let word = passes.invite().unwrap();
        assert!(redeem("").is_none() && redeem("x").is_none());
        assert!(redeem(&word).is_some());
        assert!(redeem(&word).is_none(), "an invitation was taken twice");
        let word = passes.invite().unwrap();
        tokio::time::advance(INVITATION_LIFETIME).await;
        assert!(redeem(&word).is_none(), "an old invitation is good");
    }

    #[test]
    fn a_pass_is_both_its_halves_and_is_renewed_while_it_is_used() {
        let (passes, sealer) = (ConsolePasses::default(), LocalSealer::ephemeral());
        let enter = || passes.redeem_invitation(&passes.invite().unwrap(), &sealer).unwrap();
        let (one, other) = (enter().unwrap(), enter().unwrap());
        let check = |cookie: &str, proof: &str| check_pass(&sealer, cookie, proof);
        assert!(matches!(check(&one.cookie, &one.proof), PassVerdict::Good));
        for (cookie, proof) in
            [(&one.cookie, &other.proof), (&one.proof, &one.cookie), (&one.cookie, &String::new())]
        {
            assert!(matches!(check(cookie, proof), PassVerdict::Unknown));
        }
        // Another hub, with another key, knows no pass of this one.
        let foreign = LocalSealer::ephemeral();
        assert!(matches!(check_pass(&foreign, &one.cookie, &one.proof), PassVerdict::Unknown));
        let later = SystemTime::now() + RENEWAL_AGE;
        let verdict = check_pass_at(&sealer, &one.cookie, &one.proof, later);
        let PassVerdict::Aged { renewed } = verdict else { panic!("an aged pass is not renewed") };
        assert!(matches!(check(&renewed, &one.proof), PassVerdict::Good));
        assert!(matches!(check(&renewed, &other.proof), PassVerdict::Unknown));
    }
}
