//! The claims of an access token or an ID token, and the checks that they must pass.
//!
//! Used by `verify` after the signature is checked.

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_wire::sanitize;
use url::Url;

use super::{TokenRejection, VerifiedToken};
use crate::scopes::split_scopes;

/// The longest subject that OpenID Connect allows.
const MAX_SUBJECT_BYTES: usize = 255;
/// The most groups of one subject; Microsoft Entra ID puts up to 200 into a token.
const MAX_GROUPS: usize = 512;
const MAX_GROUP_BYTES: usize = 512;
const MAX_NAME_CHARS: usize = 128;
/// The claims that name the subject for people, best first.
const NAME_CLAIMS: [&str; 3] = ["name", "preferred_username", "email"];

/// The claims that are checked.
#[derive(Debug, Deserialize)]
pub(super) struct TokenClaims {
    #[serde(default)]
    iss: String,
    #[serde(default)]
    sub: String,
    #[serde(default)]
    aud: Value,
    /// A token without `exp` is rejected.
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<Value>,
    /// The scopes under the name that some issuers use.
    #[serde(default)]
    scp: Option<Value>,
    /// The key that the token is bound to.
    #[serde(default)]
    cnf: Option<Value>,
    /// The request that an ID token answers.
    #[serde(default)]
    nonce: Option<String>,
    /// The client that an ID token was issued to.
    #[serde(default)]
    azp: Option<String>,
    /// The claims about the person: names and groups.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The audience that a token must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpectedAudience<'a> {
    /// One of these names, compared as text.
    Any(&'a [String]),
    /// The resource at this URL, or one above it.
    Resource(&'a str),
}

/// What a token is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpectedUse<'a> {
    /// An access token for us as a resource, with these scopes.
    Access { audience: ExpectedAudience<'a>, scopes: &'a [String] },
    /// An ID token for us as this client, which answers the request with this nonce.
    Identity { client: &'a str, nonce: &'a str },
}

/// The values that the claims must have.
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) purpose: ExpectedUse<'a>,
    /// The claim that lists the groups of the subject.
    pub(super) groups_claim: &'a str,
    pub(super) now: u64,
    pub(super) leeway: u64,
}

// === impl ExpectedClaims ===

impl ExpectedClaims<'_> {
    pub(super) fn check(&self, claims: &TokenClaims) -> Result<VerifiedToken, TokenRejection> {
        if claims.iss != self.issuer {
            return Err(TokenRejection::Issuer);
        }
        let scopes = claims.scopes();
        self.purpose.check_audience(claims)?;
        let expires_at = self.in_time(claims)?;
        if claims.cnf.is_some() {
            return Err(TokenRejection::Bound);
        }
        let is_subject = (1..=MAX_SUBJECT_BYTES).contains(&claims.sub.len())
            && !claims.sub.chars().any(char::is_control);
        if !is_subject {
            return Err(TokenRejection::Subject);
        }
        if !self.purpose.scopes().iter().all(|wanted| scopes.contains(wanted)) {
            return Err(TokenRejection::Scope);
        }
        let (issuer, subject) = (claims.iss.clone(), claims.sub.clone());
        let (name, groups) = (claims.name(), claims.groups(self.groups_claim)?);
        Ok(VerifiedToken { issuer, subject, name, groups, scopes, expires_at })
    }

    fn in_time(&self, claims: &TokenClaims) -> Result<u64, TokenRejection> {
        let expires_at = claims.exp.and_then(to_unix_seconds).ok_or(TokenRejection::Expired)?;
        if self.now >= expires_at.saturating_add(self.leeway) {
            return Err(TokenRejection::Expired);
        }
        let begins = claims.nbf.map_or(Some(0), to_unix_seconds).ok_or(TokenRejection::NotYet)?;
        if begins > self.now.saturating_add(self.leeway) {
            return Err(TokenRejection::NotYet);
        }
        Ok(expires_at)
    }
}

/// Converts seconds since 1970. Some issuers write fractions.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn to_unix_seconds(seconds: f64) -> Option<u64> {
    // An `f64` of this size is exact.
    (0.0..9e15).contains(&seconds).then_some(seconds as u64)
}

// === impl ExpectedUse ===

impl ExpectedUse<'_> {
    fn check_audience(&self, claims: &TokenClaims) -> Result<(), TokenRejection> {
        let named = words(&claims.aud);
        match *self {
            Self::Access { audience, .. } => {
                let is_for_us = named.iter().any(|name| audience.matches(name));
                is_for_us.then_some(()).ok_or(TokenRejection::Audience)
            }
            Self::Identity { client, nonce } => {
                // A token that is for other clients too has to say that it was issued to us.
                let has_party = claims.azp.is_some() || named.len() > 1;
                let is_ours = !has_party || claims.azp.as_deref() == Some(client);
                if !is_ours || !named.iter().any(|name| name == client) {
                    return Err(TokenRejection::Audience);
                }
                let is_answer = claims.nonce.as_deref() == Some(nonce);
                is_answer.then_some(()).ok_or(TokenRejection::Nonce)
            }
        }
    }

    fn scopes(&self) -> &[String] {
        match self {
            Self::Access { scopes, .. } => scopes,
            Self::Identity { .. } => &[],
        }
    }
}

// === impl ExpectedAudience ===

impl ExpectedAudience<'_> {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any(names) => names.iter().any(|known| known == name),
            Self::Resource(url) => {
                let resource = Url::parse(url);
                resource.is_ok_and(|url| crate::metadata::covers(name, &url))
            }
        }
    }
}

// === impl TokenClaims ===

impl TokenClaims {
    pub(super) fn subject(&self) -> &str {
        &self.sub
    }

    /// Whether the token says the name and the groups of its subject.
    pub(super) fn describes_subject(&self, groups_claim: &str) -> bool {
        self.others.contains_key(groups_claim) && self.name().is_some()
    }

    /// Adds claims about the subject that the token does not have.
    pub(super) fn add_missing(&mut self, more: Map<String, Value>) {
        for (name, value) in more {
            self.others.entry(name).or_insert(value);
        }
    }

    fn scopes(&self) -> Vec<String> {
        let said = self.scope.as_ref().or(self.scp.as_ref());
        let said = said.map(words).unwrap_or_default();
        said.iter().flat_map(|words| split_scopes(words)).collect()
    }

    /// Returns the name of the subject for people, if the token has one.
    fn name(&self) -> Option<String> {
        let named = NAME_CLAIMS.iter().find_map(|claim| self.others.get(*claim)?.as_str());
        named.map(|name| sanitize::sanitize_line(name).chars().take(MAX_NAME_CHARS).collect())
    }

    /// Returns the groups of the subject. A list that is cut off would let a rule miss a group, so a token with too
    /// many groups is rejected.
    fn groups(&self, claim: &str) -> Result<Vec<String>, TokenRejection> {
        let groups = self.others.get(claim).map(words).unwrap_or_default();
        let is_group = |group: &String| {
            (1..=MAX_GROUP_BYTES).contains(&group.len()) && !group.chars().any(char::is_control)
        };
        if groups.len() > MAX_GROUPS || !groups.iter().all(is_group) {
            return Err(TokenRejection::Groups);
        }
        Ok(groups)
    }
}

/// Reads one text, or a list of texts.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(word) => vec![word.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_000_000;

    fn check(change: Value, expected: Result<(), &str>) {
        let mut claims = json!({
            "iss": "https://as.example", "sub": "u-1", "aud": "https://hub.example/mcp",
            "exp": NOW + 600, "scope": "use look",
        });
        let Value::Object(change) = change else { panic!("not an object") };
        for (name, value) in change {
            claims[name] = value;
        }
        let judge = ExpectedClaims {
            issuer: "https://as.example",
            purpose: ExpectedUse::Access {
                audience: ExpectedAudience::Resource("https://hub.example/mcp/github"),
                scopes: &["use".to_owned()],
            },
            groups_claim: "groups",
            now: NOW,
            leeway: 60,
        };
        let read = serde_json::from_value::<TokenClaims>(claims.clone()).unwrap();
        let found = judge.check(&read).map(|_| ()).map_err(|why| format!("{why:?}"));
        assert_eq!(found, expected.map_err(str::to_owned), "{claims}");
    }

    #[test]
    fn every_claim_counts() {
        check(json!({}), Ok(()));
        check(json!({ "iss": "https://as.example/" }), Err("Issuer"));
        check(json!({ "iss": "" }), Err("Issuer"));
        check(json!({ "aud": "https://hub.example" }), Ok(()));
        check(json!({ "aud": ["other", "https://hub.example/mcp"] }), Ok(()));
        check(json!({ "aud": "https://hub.example/mcp/gitlab" }), Err("Audience"));
        check(json!({ "aud": "https://hub.example/mc" }), Err("Audience"));
        check(json!({ "aud": "https://evil.example/mcp" }), Err("Audience"));
        check(json!({ "aud": null }), Err("Audience"));
        check(json!({ "exp": NOW - 59 }), Ok(()));
        check(json!({ "exp": NOW - 60 }), Err("Expired"));
        check(json!({ "exp": null }), Err("Expired"));
        check(json!({ "exp": -1 }), Err("Expired"));
        check(json!({ "exp": 1e300 }), Err("Expired"));
        check(json!({ "nbf": NOW + 60 }), Ok(()));
        check(json!({ "nbf": NOW + 61 }), Err("NotYet"));
        check(json!({ "groups": ["dev", "acme/ops"] }), Ok(()));
        check(json!({ "groups": ["a\nb"] }), Err("Groups"));
        check(json!({ "groups": vec!["g"; 513] }), Err("Groups"));
        check(json!({ "sub": "" }), Err("Subject"));
        check(json!({ "sub": "a\nb" }), Err("Subject"));
        check(json!({ "scope": "look" }), Err("Scope"));
        check(json!({ "scope": null, "scp": ["look", "use"] }), Ok(()));
        check(json!({ "scope": "user" }), Err("Scope"));
        check(json!({ "cnf": { "jkt": "x" } }), Err("Bound"));
    }

    #[test]
    fn an_id_token_answers_our_request_and_is_for_our_client() {
        let check = |change: Value, expected: Result<(), &str>| {
            let mut claims = json!({
                "iss": "https://as.example", "sub": "u-1", "aud": "us", "exp": NOW + 600, "nonce": "n1",
            });
            for (name, value) in change.as_object().unwrap() {
                claims[name] = value.clone();
            }
            let judge = ExpectedClaims {
                issuer: "https://as.example",
                purpose: ExpectedUse::Identity { client: "us", nonce: "n1" },
                groups_claim: "groups",
                now: NOW,
                leeway: 60,
            };
            let read = serde_json::from_value::<TokenClaims>(claims.clone()).unwrap();
            let found = judge.check(&read).map(|_| ()).map_err(|why| format!("{why:?}"));
            assert_eq!(found, expected.map_err(str::to_owned), "{claims}");
        };
        check(json!({}), Ok(()));
        check(json!({ "azp": "us" }), Ok(()));
        check(json!({ "aud": ["us", "them"], "azp": "us" }), Ok(()));
        check(json!({ "aud": ["us", "them"] }), Err("Audience"));
        check(json!({ "azp": "them" }), Err("Audience"));
        check(json!({ "aud": "them" }), Err("Audience"));
        check(json!({ "aud": "them", "azp": "us" }), Err("Audience"));
        check(json!({ "nonce": "n2" }), Err("Nonce"));
        check(json!({ "nonce": null }), Err("Nonce"));
        check(json!({ "iss": "https://evil.example" }), Err("Issuer"));
        check(json!({ "exp": NOW - 60 }), Err("Expired"));
        check(json!({ "sub": "" }), Err("Subject"));
    }
}
