//! What a token says of itself, and whether that is what it has to say.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{Rejected, Verified};
use crate::scopes::split;

/// No subject is longer (OpenID Connect).
const MAX_SUBJECT: usize = 255;

/// The claims that matter.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    iss: String,
    #[serde(default)]
    sub: String,
    #[serde(default)]
    aud: Value,
    /// A token without an end is not taken.
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<Value>,
    /// The same, as some issuers call it.
    #[serde(default)]
    scp: Option<Value>,
    /// What it is bound to.
    #[serde(default)]
    cnf: Option<Value>,
}

/// Whom a token has to be for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Audience<'a> {
    /// One of these, letter by letter.
    Any(&'a [String]),
    /// What is at this URL: it, or something it lies beneath.
    Resource(&'a str),
}

/// What the claims have to be.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: Audience<'a>,
    pub(super) scopes: &'a [String],
    pub(super) now: u64,
    pub(super) leeway: u64,
}

// === impl Expected ===

impl Expected<'_> {
    pub(super) fn check(&self, claims: &Claims) -> Result<Verified, Rejected> {
        if claims.iss != self.issuer {
            return Err(Rejected::Issuer);
        }
        if !words(&claims.aud).iter().any(|name| self.audience.is(name)) {
            return Err(Rejected::Audience);
        }
        let expires_at = self.in_time(claims)?;
        if claims.cnf.is_some() {
            return Err(Rejected::Bound);
        }
        let is_subject = (1..=MAX_SUBJECT).contains(&claims.sub.len())
            && !claims.sub.chars().any(char::is_control);
        if !is_subject {
            return Err(Rejected::Subject);
        }
        let scopes = claims.scopes();
        if !self.scopes.iter().all(|wanted| scopes.contains(wanted)) {
            return Err(Rejected::Scope);
        }
        let (issuer, subject) = (claims.iss.clone(), claims.sub.clone());
        Ok(Verified { issuer, subject, scopes, expires_at })
    }

    fn in_time(&self, claims: &Claims) -> Result<u64, Rejected> {
        let expires_at = claims.exp.and_then(moment).ok_or(Rejected::Expired)?;
        if self.now >= expires_at.saturating_add(self.leeway) {
            return Err(Rejected::Expired);
        }
        let begins = claims.nbf.map_or(Some(0), moment).ok_or(Rejected::NotYet)?;
        if begins > self.now.saturating_add(self.leeway) {
            return Err(Rejected::NotYet);
        }
        Ok(expires_at)
    }
}

/// Seconds since 1970. Some issuers write fractions.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn moment(seconds: f64) -> Option<u64> {
    // Numbers of this size are exact.
    (0.0..9e15).contains(&seconds).then_some(seconds as u64)
}

// === impl Audience ===

impl Audience<'_> {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Any(names) => names.iter().any(|known| known == name),
            Self::Resource(url) => {
                let resource = Url::parse(url);
                resource.is_ok_and(|url| crate::metadata::covers(name, &url))
            }
        }
    }
}

// === impl Claims ===

impl Claims {
    fn scopes(&self) -> Vec<String> {
        let said = self.scope.as_ref().or(self.scp.as_ref());
        let said = said.map(words).unwrap_or_default();
        said.iter().flat_map(|words| split(words)).collect()
    }
}

/// One text, or a list of them.
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
        let judge = Expected {
            issuer: "https://as.example",
            audience: Audience::Resource("https://hub.example/mcp/github"),
            scopes: &["use".to_owned()],
            now: NOW,
            leeway: 60,
        };
        let read = serde_json::from_value::<Claims>(claims.clone()).unwrap();
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
        check(json!({ "sub": "" }), Err("Subject"));
        check(json!({ "sub": "a\nb" }), Err("Subject"));
        check(json!({ "scope": "look" }), Err("Scope"));
        check(json!({ "scope": null, "scp": ["look", "use"] }), Ok(()));
        check(json!({ "scope": "user" }), Err("Scope"));
        check(json!({ "cnf": { "jkt": "x" } }), Err("Bound"));
    }
}
