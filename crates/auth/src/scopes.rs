//! The choice of the scopes that a sign-in requests.
//!
//! Used by `sign_in`, `organisation`, `oauth_credentials` and `verify::claims`.

use crate::challenge::AuthenticateChallenges;

/// The scope for a refresh token.
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// The scopes to choose from, by where they come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopeSources<'a> {
    /// The entry's scopes. If there are any, only wanted scopes are added to them.
    pub(crate) configured: &'a [String],
    /// Scopes that were requested before, or that a server reported as missing.
    pub(crate) wanted: &'a [String],
    pub(crate) challenges: &'a AuthenticateChallenges,
    /// The scopes in the resource metadata.
    pub(crate) supported: Option<&'a [String]>,
    /// The scopes in the authorization server metadata.
    pub(crate) server: Option<&'a [String]>,
}

/// Returns the scopes to request, in the specification's order: the challenge's, else all of the resource's.
/// Scopes that were requested before stay, so that a step-up removes none.
pub(crate) fn choose_scopes(offer: ScopeSources<'_>) -> Vec<String> {
    let challenged = offer.challenges.scope().map(split_scopes);
    let mut chosen: Vec<String> = match (offer.configured, challenged) {
        ([], Some(challenged)) => challenged,
        ([], None) if offer.wanted.is_empty() => offer.supported.unwrap_or_default().to_vec(),
        ([], None) => Vec::new(),
        (configured, _) => configured.to_vec(),
    };
    add_missing_scopes(&mut chosen, offer.wanted);
    // Requested only beside other scopes: alone, `offline_access` would be the only scope granted.
    let lasting =
        offer.server.is_some_and(|scopes| scopes.iter().any(|scope| scope == OFFLINE_ACCESS));
    if lasting && !chosen.is_empty() {
        add_missing_scopes(&mut chosen, &[OFFLINE_ACCESS.to_owned()]);
    }
    chosen
}

/// Splits a `scope` parameter.
pub(crate) fn split_scopes(scope: &str) -> Vec<String> {
    scope.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Adds the scopes that are missing.
pub(crate) fn add_missing_scopes(into: &mut Vec<String>, more: &[String]) {
    for scope in more {
        if !into.contains(scope) {
            into.push(scope.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        configured: &str,
        wanted: &str,
        challenge: &str,
        supported: &str,
        server: &str,
        expected: &str,
    ) {
        let [configured, wanted, supported, server] =
            [configured, wanted, supported, server].map(split_scopes);
        let challenges = AuthenticateChallenges::parse(&[format!("Bearer scope=\"{challenge}\"")]);
        let chosen = choose_scopes(ScopeSources {
            configured: &configured,
            wanted: &wanted,
            challenges: &challenges,
            supported: Some(&supported),
            server: Some(&server),
        });
        assert_eq!(chosen.join(" "), expected);
    }

    #[test]
    fn the_order_of_the_specification() {
        check("", "", "", "", "", "");
        check("", "", "a b", "c", "", "a b");
        check("", "", "", "c d", "", "c d");
        check("x", "", "a", "c", "", "x");
        check("", "a b", "b c", "d", "", "b c a");
        check("", "a", "", "c d", "", "a");
        check("x", "y", "a", "c", "", "x y");
        check("", "", "a", "", "offline_access z", "a offline_access");
        check("", "", "", "", "offline_access", "");
    }
}
