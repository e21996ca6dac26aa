//! Tests of sealed handles, and of the key they are sealed with.

mod contract;
mod key;

use switchboard_core::sealing::LocalSealer;

use contract::{bound, sealed};

#[tokio::test(start_paused = true)]
async fn a_sealer_keeps_to_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    contract::check(&LocalSealer::ephemeral()).await;
    let (sealer, problems) = LocalSealer::open(folder.path());
    assert_eq!(problems, []);
    contract::check(&sealer).await;
}
