//! Values that replicas of this version must read for ever: sealed in format 1 with a key of 32 bytes that are 1, for the
//! cluster `team`. Where a format changes, values of the new one join these.

use async_nats::jetstream;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use switchboard_cluster::KeyPurpose;
use switchboard_testkit::nats::NatsServer;

use crate::support::{Secrets, join, options, status};

const SESSION: &str = "0123456789abcdef0123456789abcdef";
const CLIENT: &str = "fedcba9876543210fedcba9876543210";
const REPLICA: &str = "0123456789ab";
const TOKEN: &str = "0a1b2c3d";
/// The id of the session, born long after any test.
const SESSION_ID: &str = "\
01e0009a77b5b4ae1da8a4418b1b29eb2c60edf27e6a07955744665fe858502aa4ddea0d90a4727018396b0567d4c9a19f4a\
050a8a4d613d4d27e86b762351e2450c9e9f3a422d0deab949d211";
/// What its client said of itself.
const CLIENT_DESCRIPTION: &str = "\
01e0009a77b5b4ae1d9a943fbfbe2e7b20ec0d496a422c31a0623c5d99a6abfe6fc59d618f587acba4316f8178017b0138c9\
c0ff530a3c02c4c7ee426b0b2d206efa747a";
/// Its third change.
const SESSION_RECORD: &str = "\
01e0009a77b5b4ae1d5e5a293517c0c92c8b7051e7e52fb4e7d49a8b1ff1b0bce086bdf4eb094c5914aae6abf9fe2b1f2f71\
dbdef748d9dfb626cf0fa99034ef2a16856ce262209c4fad50e1b2b34d85b3d37e87a6a841a5fd4fd98f566a32bbd23dd913\
bbd1156356d485ccd40296ace5dece157c7bbfe040b137267ac80abd842316d4cd97";
/// What a replica said of itself.
const HEARTBEAT: &str = "\
01e0009a77b5b4ae1d7de93f007fab6d160185b1ba255a68f9e584b69b251a1cdde9228bb9e923dce2fb1e148d51790b8cdb\
df086d7ecf46736c83b00f5b402ef50e83c928db24441c08ff6cf6c8694cff5d62fb659cf0295d980686be0ca63656bbc7fc\
a6ec43aa8144e775615f208296f23d03d423f057a512c27012e682accba0a01e02af7eaeab01a724250309d2e3dcf0bb9971\
36f4759161ca451068b5607df7f1067bae07431301effee048c029fc17e04266";
/// The end of a token.
const TOKEN_ROW: &str = "\
01e0009a77b5b4ae1d06a2d232603cd3111d413911ace0e493996db29211efa548905b54f755838f243cc2a7f05d72eaea24\
6b2b49b0c9a24aa403021db5c5c8030036";
/// A message to all replicas.
const PEER_MESSAGE: &str = "\
01e0009a77b5b4ae1d30498c1533c10170269a5750d4de2060073aa419c76791043fd23327a8";

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

#[tokio::test]
async fn what_format_1_sealed_is_read() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let one = join(&options, "one", "aa").await;
    let client = async_nats::connect(nats.url()).await.unwrap();
    let store = jetstream::new(client);
    for (bucket, key, sealed) in [
        ("sessions", SESSION, SESSION_RECORD),
        ("clients", CLIENT, CLIENT_DESCRIPTION),
        ("replicas", REPLICA, HEARTBEAT),
        ("tokens", TOKEN, TOKEN_ROW),
    ] {
        let bucket = store.get_key_value(format!("switchboard_team_{bucket}")).await.unwrap();
        bucket.put(key, bytes(sealed).into()).await.unwrap();
    }
    let id = URL_SAFE_NO_PAD.encode(bytes(SESSION_ID));
    let found = one.sessions().find("ann", &id).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.record.version), (SESSION, 3));
    assert_eq!(found.client, br#"{"clientInfo":{"name":"zebra"}}"#);
    assert!(found.record.settings.unwrap().contains(r#""logLevel":"error""#));
    let seen = status(&options).await;
    let old = seen.replicas.iter().find(|replica| replica.id.as_str() == REPLICA).unwrap();
    assert_eq!((&*old.facts.host, &*old.facts.version), ("old", "0.1.0"));
    let token = one.tokens().rows().await.unwrap().remove(TOKEN).unwrap();
    assert_eq!(token.value.unwrap(), br#"{"id":"0a1b2c3d","token":null}"#);
    let message = bytes(PEER_MESSAGE);
    let message = one.keys().open(KeyPurpose::PeerMessage, "switchboard.team.all", &message);
    assert_eq!(message.unwrap(), b"x");
}
