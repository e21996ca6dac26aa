//! Test of rules with conditions under attack: arguments that are sent twice or written in another way, by clients of
//! every version, before servers of both eras, through every face. What a rule refuses reaches no server.

use std::fmt::Write as _;

use serde_json::json;
use switchboard_wire::Version;
use switchboard_wire::client::CallRequest;
use switchboard_wire::json::Raw;

use super::gateway::{Client, FACES, Gateway};
use super::server::BEHIND;
use switchboard_testkit::deadline::soon;

/// The text that the tool answers with if it is reached.
pub(super) const REACHED: &str = "reached with";

/// `arguments` that are sent as they are.
const ALLOWED: [&str; 3] = [
    r#""arguments":{"repo":"acme/x"}"#,
    r#""arguments":{ "re\u0070o" : "\u0061cme\/x", "n": 1.50 }"#,
    r#""argum\u0065nts":{"repo":"acme/x","inner":{"repo":"secret/x"}}"#,
];

/// `arguments` that a rule refuses.
const REFUSED: [&str; 19] = [
    r#""arguments":{"repo":"other"}"#,
    r#""arguments":{"repo":"acme/../other"}"#,
    r#""arguments":{"repo":"acme/secret"}"#,
    r#""arguments":{"repo":"acme\/s\u0065cret"}"#,
    r#""arguments":{"\u0072epo":"acme/secret"}"#,
    // The argument is missing, or no text.
    r#""arguments":{}"#,
    r#""_meta":{}"#,
    r#""arguments":{"Repo":"acme/x"}"#,
    r#""arguments":{"repo":["acme/x"]}"#,
    r#""arguments":{"repo":{"repo":"acme/x"}}"#,
    r#""arguments":{"repo":null}"#,
    r#""arguments":{"repo":"acme/x\ud800"}"#,
    // It is sent twice, and servers differ in which one they read.
    r#""arguments":{"repo":"acme/x","repo":"acme/secret"}"#,
    r#""arguments":{"repo":"acme/secret","repo":"acme/x"}"#,
    r#""arguments":{"repo":"acme/x","re\u0070o":"acme/secret"}"#,
    r#""arguments":{"repo":"acme/x","more":[{"a":1,"\u0061":2}]}"#,
    r#""arguments":{"repo":"acme/x"},"arguments":{"repo":"acme/secret"}"#,
    r#""arguments":{"repo":"acme/secret"},"argum\u0065nts":{"repo":"acme/x"}"#,
    r#""name":"repeat","arguments":{"repo":"acme/x"},"n\u0061me":"touch""#,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_of_an_argument_gets_past_a_rule() {
    let settings = json!({ "permissions": {
        "defaultMode": "dontAsk",
        "allow": [{ "rule": "mcp__one__repeat", "when": { "argument": "/repo", "matches": "acme/*" } }],
        "deny": [{ "rule": "mcp__one__repeat", "when": { "argument": "/repo", "matches": "acme/secret" } }],
    } });
    let mut wrong = String::new();
    for behind in BEHIND {
        let gateway = Gateway::start_with(behind, &settings).await;
        for face in FACES {
            for version in Version::ALL.into_iter().filter(|version| face.carries(*version)) {
                let client = gateway.client(face, version).await;
                let of = format!("{face:?}, {version} client, {behind:?} server");
                for arguments in ALLOWED {
                    let (said, reached) = call(&client, arguments).await;
                    if !reached || !said.contains(REACHED) {
                        let _ = writeln!(wrong, "{of}: {arguments} is refused: {said}");
                    }
                }
                for arguments in REFUSED {
                    let (said, reached) = call(&client, arguments).await;
                    if reached || said.contains(REACHED) {
                        let _ = writeln!(wrong, "{of}: {arguments} passes: {said}");
                    }
                }
            }
        }
        gateway.close().await;
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Calls the tool; what came of it, and whether the server was reached.
async fn call(client: &Client, arguments: &str) -> (String, bool) {
    let named = if arguments.contains(r#""name""#) { "" } else { r#""name":"repeat","# };
    let params = Raw::parse(format!("{{{named}{arguments}}}")).unwrap();
    let before = client.server.reached();
    let call = CallRequest::new("tools/call", Some(params));
    let said = match soon(client.wire.call(call).result()).await {
        Ok(result) => result.to_string(),
        Err(error) => error.to_string(),
    };
    (said, client.server.reached() > before)
}
