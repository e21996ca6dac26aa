//! The restrictions on entries of the connector catalog. It is text from the network, so its entries get no
//! variable of the user, start no process, open no file, and need TLS except on this machine.
//!
//! Used by `resolve::servers`. It does not fetch the catalog (`switchboard_sources`).

use std::collections::BTreeSet;

use crate::entry::{Entry, RemoteTransport, Transport};
use crate::expand;
use crate::load::EntryCandidate;
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::secret::{collect_secret_names, secret_reference};
use crate::url_security::is_encrypted_or_local;

/// Why an entry of the connector catalog is not used.
pub(super) fn refusal(entry: &Entry) -> Option<String> {
    match &entry.transport {
        Transport::Stdio(_) => Some("a catalog may not start processes".to_owned()),
        Transport::SseIde(_) | Transport::WsIde(_) => {
            Some("a catalog may not name editors".to_owned())
        }
        Transport::Sdk => Some("a catalog may not name servers of this program".to_owned()),
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            remote_refusal(remote)
        }
    }
}

fn remote_refusal(remote: &RemoteTransport) -> Option<String> {
    if remote.headers_helper.is_some() {
        return Some("a catalog may not run commands; it says `headersHelper`".to_owned());
    }
    if let Some(member) = file_member(remote) {
        return Some(format!("a catalog may not name files of this machine; it says `{member}`"));
    }
    let metadata =
        remote.oauth.as_ref().and_then(|oauth| oauth.auth_server_metadata_url.as_deref());
    let urls = [("url", Some(remote.url.as_str())), ("oauth.authServerMetadataUrl", metadata)];
    let plain =
        urls.into_iter().find(|(_, url)| url.is_some_and(|url| !is_encrypted_or_local(url)));
    plain.map(|(member, _)| {
        format!("`{member}` of a catalog's server must begin with `https://` (or `wss://`), except on this machine")
    })
}

/// A member that would read a file of this machine.
fn file_member(remote: &RemoteTransport) -> Option<&'static str> {
    if remote.tls.is_some() {
        return Some("tls");
    }
    let oauth = remote.oauth.as_ref()?;
    let files = [
        ("oauth.privateKeyFile", &oauth.private_key_file),
        ("oauth.assertionFile", &oauth.assertion_file),
    ];
    files.into_iter().find(|(_, file)| file.is_some()).map(|(member, _)| member)
}

/// The problem for variables and secrets in an entry that are not expanded.
pub(super) fn unexpanded_problem(candidate: &EntryCandidate) -> Option<ConfigProblem> {
    let (mut variables, mut secrets) = (BTreeSet::new(), BTreeSet::new());
    expand::collect_variables(&candidate.node, &mut variables);
    collect_secret_names(&candidate.node, &mut secrets);
    let (what, name, written) = match (variables.first(), secrets.first()) {
        (Some(variable), _) => ("variable", variable, format!("${{{variable}}}")),
        (None, Some(secret)) => ("secret", secret, secret_reference(secret)),
        (None, None) => return None,
    };
    let message = format!(
        "server `{}` of the catalog names the {what} `{name}`; nothing in a catalog is expanded, so `{written}` stays as it is",
        candidate.name
    );
    let problem =
        ConfigProblem::warning(ConfigProblemKind::NotHonoured, message).at(candidate.at.clone());
    Some(problem.of_server(&candidate.name))
}
