//! One-time codes with which a person signs a browser in who has a token and no issuer.
//!
//! A client that shows its token gets a code, and the browser in which the code is typed belongs to the token's
//! principal. The token itself is never typed into a page. A code is good once, for a short time, and cannot be guessed;
//! of codes only digests are held, in memory.
//!
//! Used by `sign_in_pages`. It does not verify tokens.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::browser_session::SessionProof;

/// How long a code is good.
pub(super) const CODE_LIFETIME: Duration = Duration::from_secs(300);
/// The most codes; the oldest are dropped.
const MAX_CODES: usize = 1024;
/// The most codes of one principal; the oldest are dropped.
const MAX_CODES_OF_PRINCIPAL: usize = 8;
/// Letters and digits that cannot be taken for one another: 32, so that each has five bits.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// A hundred bits.
const CODE_LETTERS: usize = 20;
/// A code is shown in groups of so many letters.
const GROUP_LETTERS: usize = 5;

/// All codes that are good, oldest first.
#[derive(Default)]
pub(super) struct SignInCodes(Mutex<VecDeque<SignInCode>>);

struct SignInCode {
    digest: [u8; 32],
    /// The id of the principal.
    principal: String,
    proof: SessionProof,
    made: Instant,
}

// === impl SignInCodes ===

impl SignInCodes {
    /// Makes a code for the principal that `proof` is of.
    pub(super) fn create(&self, principal: &str, proof: SessionProof) -> io::Result<String> {
        let mut bytes = [0; CODE_LETTERS];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let letters: String =
            bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
        let made = Instant::now();
        let principal = principal.to_owned();
        let code = SignInCode { digest: digest(&letters), principal, proof, made };
        let mut codes = self.0.lock();
        let own = codes.iter().filter(|other| other.principal == code.principal).count();
        if own >= MAX_CODES_OF_PRINCIPAL
            && let Some(at) = codes.iter().position(|other| other.principal == code.principal)
        {
            codes.remove(at);
        } else if codes.len() >= MAX_CODES {
            codes.pop_front();
        }
        codes.push_back(code);
        Ok(grouped(&letters))
    }

    /// Takes a code as a person typed it; `None` if it is unknown, used or too old.
    pub(super) fn redeem(&self, typed: &str) -> Option<SessionProof> {
        let letters: String = typed.chars().filter(char::is_ascii_alphanumeric).collect();
        let digest = digest(&letters.to_ascii_uppercase());
        let mut codes = self.0.lock();
        codes.retain(|code| code.made.elapsed() < CODE_LIFETIME);
        let at = codes.iter().position(|code| code.digest == digest)?;
        codes.remove(at).map(|code| code.proof)
    }
}

fn digest(letters: &str) -> [u8; 32] {
    Sha256::digest(letters).into()
}

fn grouped(letters: &str) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let groups = letters.chunks(GROUP_LETTERS).map(|group| group.iter().collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(id: &str) -> SessionProof {
        SessionProof::Token { id: id.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_good_once_for_a_short_time_and_however_it_is_typed() {
        let codes = SignInCodes::default();
        let code = codes.create("user:ada", proof("1")).unwrap();
        assert_eq!((code.len(), code.matches('-').count()), (23, 3), "{code}");
        assert_ne!(code, codes.create("user:ada", proof("2")).unwrap());
        assert_eq!(codes.redeem(""), None);
        assert_eq!(codes.redeem("AAAAA-AAAAA-AAAAA-AAAAA"), None);
        let typed = format!("  {} ", code.to_lowercase().replace('-', " "));
        assert_eq!(codes.redeem(&typed), Some(proof("1")));
        assert_eq!(codes.redeem(&code), None, "a code was taken twice");
        let code = codes.create("user:ada", proof("3")).unwrap();
        tokio::time::advance(CODE_LIFETIME).await;
        assert_eq!(codes.redeem(&code), None, "an old code is good");
    }

    #[test]
    fn one_principal_pushes_out_its_own_codes_first() {
        let codes = SignInCodes::default();
        let of_ada = codes.create("user:ada", proof("a")).unwrap();
        let first = codes.create("user:bob", proof("b")).unwrap();
        for _ in 0..2 * MAX_CODES {
            codes.create("user:bob", proof("b")).unwrap();
        }
        assert_eq!(codes.redeem(&first), None);
        assert_eq!(codes.redeem(&of_ada), Some(proof("a")));
    }
}
