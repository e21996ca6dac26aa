//! Request states that a client cannot change: a word, and a digest of it that takes a secret to make.

use sha2::{Digest, Sha256};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;

use super::{hex, invalid};

/// Worth nothing outside these tests; a real server would make one of its own.
const SECRET: &[u8] = b"known to this server alone";

/// The state that stands for `word`.
pub(super) fn seal(word: &str) -> Raw {
    Raw::string(&format!("{word}.{}", digest(word)))
}

/// The word a state stands for; `None` for a request without one.
pub(super) fn open(state: Option<&Raw>) -> Result<Option<String>, RpcError> {
    let Some(state) = state else { return Ok(None) };
    let altered = || invalid("`requestState` is not as it was given");
    let sealed = state.to_text().ok_or_else(altered)?;
    let (word, proof) = sealed.split_once('.').ok_or_else(altered)?;
    if proof == digest(word) { Ok(Some(word.to_owned())) } else { Err(altered()) }
}

fn digest(word: &str) -> String {
    let inner = Sha256::new().chain_update(SECRET).chain_update(word).finalize();
    let outer = Sha256::new().chain_update(SECRET).chain_update(inner).finalize();
    hex(&outer)
}
