//! Which scopes are asked for.

use crate::challenge::AuthenticateChallenges;

/// What makes a sign-in last.
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// What there is to choose from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopeSources<'a> {
    /// What the entry says: nothing else counts then, but what a step up adds.
    pub(crate) configured: &'a [String],
    /// What was asked for before, or is known to be missing.
    pub(crate) wanted: &'a [String],
    pub(crate) challenges: &'a AuthenticateChallenges,
    /// Of the resource.
    pub(crate) supported: Option<&'a [String]>,
    /// Of the authorization server.
    pub(crate) server: Option<&'a [String]>,
}

/// The scopes to ask for, in the specification's order: the challenge's, else all of the resource's. What was asked for
/// before stays, so that stepping up takes nothing away.
pub(crate) fn choose_scopes(offer: ScopeSources<'_>) -> Vec<String> {
    let challenged = offer.challenges.scope().map(split_scopes);
    let mut chosen: Vec<String> = match (offer.configured, challenged) {
        ([], Some(challenged)) => challenged,
        ([], None) if offer.wanted.is_empty() => offer.supported.unwrap_or_default().to_vec(),
        ([], None) => Vec::new(),
        (configured, _) => configured.to_vec(),
    };
    add_missing_scopes(&mut chosen, offer.wanted);
    // A refresh token is worth asking for, but `offline_access` alone would be all that is granted.
    let lasting =
        offer.server.is_some_and(|scopes| scopes.iter().any(|scope| scope == OFFLINE_ACCESS));
    if lasting && !chosen.is_empty() {
        add_missing_scopes(&mut chosen, &[OFFLINE_ACCESS.to_owned()]);
    }
    chosen
}

/// The words of a `scope` parameter.
pub(crate) fn split_scopes(scope: &str) -> Vec<String> {
    scope.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Adds what is not there yet.
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
