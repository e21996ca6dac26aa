//! Tamper-proof request states: a word, and a keyed digest.
//!
//! Used by `asking`.

use sha2::{Digest, Sha256};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;

use super::{hex, invalid};

/// Worthless outside these tests; a real server would generate its secret.
const SECRET: &[u8] = b"known to this server alone";

/// Seals `word` into a state.
pub(super) fn seal(word: &str) -> Raw {
    Raw::string(&format!("{word}.{}", digest(word)))
}

/// Opens a state and returns its word; `None` for a request without a state.
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
