//! Handles that every replica opens: sealed with the keys of the cluster.
//!
//! Used by the engine of a replica in place of its own key. It does not know what handles hold.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use switchboard_cluster::{ClusterKeys, KeyPurpose};
use switchboard_core::sealing::{
    ExpiryClock, HandleBinding, HandleRefusal, HandleSealer, SealError,
};

/// Seals with the cluster's keys.
pub(super) struct ClusterSealer {
    keys: ClusterKeys,
    clock: ExpiryClock,
}

// === impl ClusterSealer ===

impl ClusterSealer {
    pub(super) fn new(keys: ClusterKeys) -> Self {
        Self { keys, clock: ExpiryClock::new() }
    }
}

impl HandleSealer for ClusterSealer {
    fn seal(
        &self,
        bound: &HandleBinding<'_>,
        payload: &[u8],
        lasts: Duration,
    ) -> Result<String, SealError> {
        let value = [&self.clock.expiry(lasts).to_le_bytes()[..], payload].concat();
        let sealed = self.keys.seal(KeyPurpose::Handle, &place(bound), &value);
        sealed.map(|sealed| bound.kind.to_handle(&sealed)).map_err(|_| SealError)
    }

    fn open(&self, bound: &HandleBinding<'_>, handle: &str) -> Result<Vec<u8>, HandleRefusal> {
        let sealed = bound.kind.sealed_bytes(handle).ok_or(HandleRefusal::Foreign)?;
        let value = self.keys.open(KeyPurpose::Handle, &place(bound), &sealed);
        let value = value.map_err(|_| HandleRefusal::Foreign)?;
        let (expiry, payload) = value.split_first_chunk().ok_or(HandleRefusal::Foreign)?;
        if self.clock.is_over(u64::from_le_bytes(*expiry)) {
            return Err(HandleRefusal::Expired);
        }
        Ok(payload.to_vec())
    }
}

/// The binding as text.
fn place(bound: &HandleBinding<'_>) -> String {
    URL_SAFE_NO_PAD.encode(bound.to_bytes())
}

#[cfg(test)]
#[path = "../../../core/tests/it/sealing/contract.rs"]
mod contract;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_keeps_the_contract_of_all_sealers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        std::fs::write(&file, "ab".repeat(32)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let keys = || ClusterKeys::load(&file, &"team".parse().unwrap()).unwrap();
        contract::check(&ClusterSealer::new(keys())).await;
        let (bound, other) = (contract::bound(), ClusterSealer::new(keys()));
        let handle = ClusterSealer::new(keys()).seal(&bound, b"x", Duration::from_secs(9)).unwrap();
        assert_eq!(other.open(&bound, &handle), Ok(b"x".to_vec()), "of another replica");
    }
}
