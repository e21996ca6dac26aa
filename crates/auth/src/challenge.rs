//! A parser of `WWW-Authenticate` (RFC 9110): any number of challenges in any number of fields, each a scheme
//! with one token or with parameters.
//!
//! Used by `sign_in_requirement`, `scopes`, `oauth_credentials` and `examine`. An unreadable part of a field
//! is skipped and costs only itself. It does not decide what a challenge asks for (`sign_in_requirement`).

use std::fmt;

/// More challenges than any server has reason to send.
const MAX_CHALLENGES: usize = 16;
const MAX_CHALLENGE_PARAMS: usize = 32;
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// One authentication challenge of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticateChallenge {
    /// The scheme as the server wrote it.
    pub scheme: String,
    /// The parameters in order, names in lower case.
    pub params: Vec<(String, String)>,
}

/// All challenges of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticateChallenges(pub Vec<AuthenticateChallenge>);

/// A parser of one field value.
struct ChallengeParser<'a> {
    rest: &'a str,
}

// === impl AuthenticateChallenge ===

impl AuthenticateChallenge {
    /// Returns a parameter by its name; the first if the name occurs twice.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Whether the scheme takes access tokens (Bearer or DPoP).
    fn is_bearer(&self) -> bool {
        ["bearer", "dpop"].iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme))
    }
}

impl fmt::Display for AuthenticateChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        for (at, (name, value)) in self.params.iter().enumerate() {
            let comma = if at == 0 { " " } else { ", " };
            write!(f, "{comma}{name}={value:?}")?;
        }
        Ok(())
    }
}

// === impl AuthenticateChallenges ===

impl AuthenticateChallenges {
    /// Parses the values of all `WWW-Authenticate` fields.
    pub fn parse<S: AsRef<str>>(values: &[S]) -> Self {
        let mut found = Vec::new();
        for value in
            values.iter().map(AsRef::as_ref).filter(|value| value.len() <= MAX_HEADER_BYTES)
        {
            ChallengeParser { rest: value }.challenges(&mut found);
        }
        Self(found)
    }

    /// Whether the server accepts DPoP tokens.
    pub fn accepts_dpop(&self) -> bool {
        self.0.iter().any(|found| found.scheme.eq_ignore_ascii_case("dpop"))
    }

    /// The URL of the protected resource metadata.
    pub fn resource_metadata(&self) -> Option<&str> {
        self.bearer("resource_metadata")
    }

    /// The scopes that the request needs.
    pub fn scope(&self) -> Option<&str> {
        self.bearer("scope").filter(|scope| !scope.trim().is_empty())
    }

    /// The error code for the refused token.
    pub fn error(&self) -> Option<&str> {
        self.bearer("error")
    }

    /// The first parameter of this name in any token challenge: a challenge without it does not hide one that
    /// has it.
    fn bearer(&self, name: &str) -> Option<&str> {
        self.0.iter().filter(|found| found.is_bearer()).find_map(|found| found.param(name))
    }
}

// === impl ChallengeParser ===

impl<'a> ChallengeParser<'a> {
    fn challenges(mut self, into: &mut Vec<AuthenticateChallenge>) {
        loop {
            self.separators();
            let Some(scheme) = self.token() else { return };
            if into.len() == MAX_CHALLENGES {
                return;
            }
            let mut challenge =
                AuthenticateChallenge { scheme: scheme.to_owned(), params: Vec::new() };
            // A scheme is followed by a space, or by a comma if it has no parameters.
            if self.rest.starts_with([' ', '\t']) {
                self.space();
                self.params(&mut challenge);
            }
            into.push(challenge);
        }
    }

    fn params(&mut self, challenge: &mut AuthenticateChallenge) {
        loop {
            let before = self.rest;
            self.separators();
            let Some((name, value)) = self.param() else {
                // Either the next scheme, or a token68 in place of parameters.
                self.rest = before;
                if challenge.params.is_empty() {
                    self.token68();
                }
                return;
            };
            if challenge.params.len() < MAX_CHALLENGE_PARAMS {
                challenge.params.push((name.to_ascii_lowercase(), value));
            }
        }
    }

    fn param(&mut self) -> Option<(&'a str, String)> {
        let name = self.token()?;
        self.space();
        self.rest = self.rest.strip_prefix('=')?;
        self.space();
        let value = match self.rest.strip_prefix('"') {
            Some(rest) => self.quoted(rest)?,
            None => self.token()?.to_owned(),
        };
        // A parameter ends at a comma or at the end of the field; otherwise the text is no parameter.
        self.space();
        (self.rest.is_empty() || self.rest.starts_with(',')).then_some((name, value))
    }

    fn quoted(&mut self, text: &'a str) -> Option<String> {
        let mut value = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &text[at + 1..];
                    return Some(value);
                }
                '\\' => value.push(chars.next()?.1),
                c => value.push(c),
            }
        }
        None
    }

    fn token(&mut self) -> Option<&'a str> {
        self.take(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
    }

    /// Skips a token68 (`abc==`) after a scheme, up to the comma.
    fn token68(&mut self) {
        self.space();
        let end = self.rest.find(',').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn separators(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], expected: &[(&str, &[(&str, &str)])]) {
        let found = AuthenticateChallenges::parse(values);
        let expected = expected.iter().map(|(scheme, params)| AuthenticateChallenge {
            scheme: (*scheme).to_owned(),
            params: params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        });
        assert_eq!(found.0, expected.collect::<Vec<_>>(), "{values:?}");
    }

    #[test]
    fn every_form_of_the_grammar() {
        check(&["Bearer"], &[("Bearer", &[])]);
        check(&["Bearer, Basic"], &[("Bearer", &[]), ("Basic", &[])]);
        check(&[r#"Bearer realm="x""#], &[("Bearer", &[("realm", "x")])]);
        check(&["Bearer realm=x"], &[("Bearer", &[("realm", "x")])]);
        check(
            &[r#"Basic realm="a, b", Bearer error="invalid_token", scope="a b""#],
            &[
                ("Basic", &[("realm", "a, b")]),
                ("Bearer", &[("error", "invalid_token"), ("scope", "a b")]),
            ],
        );
        check(
            &["Negotiate", r#"Bearer Resource_Metadata = "https://x/y""#],
            &[("Negotiate", &[]), ("Bearer", &[("resource_metadata", "https://x/y")])],
        );
        check(&["Negotiate abc==, Bearer a=b"], &[("Negotiate", &[]), ("Bearer", &[("a", "b")])]);
        check(&[r#"Bearer a="q\"uo\\te", b=c"#], &[("Bearer", &[("a", "q\"uo\\te"), ("b", "c")])]);
        check(&[" , ,Bearer a=b, ,"], &[("Bearer", &[("a", "b")])]);
    }

    #[test]
    fn nonsense_costs_only_itself() {
        check(&["", "\u{e9}", "Bearer a=b"], &[("Bearer", &[("a", "b")])]);
        check(&[r#"Bearer a="never ends"#], &[("Bearer", &[])]);
        let long = format!("Bearer a={}", "x".repeat(MAX_HEADER_BYTES));
        check(&[&long, "Bearer b=c"], &[("Bearer", &[("b", "c")])]);
        let many = vec!["Bearer"; 1000].join(", ");
        assert_eq!(AuthenticateChallenges::parse(&[many]).0.len(), MAX_CHALLENGES);
        let params: Vec<_> = (0..1000).map(|n| format!("p{n}=v")).collect();
        let found = AuthenticateChallenges::parse(&[format!("Bearer {}", params.join(","))]);
        assert_eq!(found.0[0].params.len(), MAX_CHALLENGE_PARAMS);
    }

    #[test]
    fn what_is_about_tokens_is_found_wherever_it_stands() {
        let found = AuthenticateChallenges::parse(&[
            r#"Basic scope="not this""#,
            r#"Bearer realm="x""#,
            r#"bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/m""#,
        ]);
        assert_eq!(found.error(), Some("insufficient_scope"));
        assert_eq!(found.scope(), Some("a b"));
        assert_eq!(found.resource_metadata(), Some("https://x/m"));
        assert_eq!(AuthenticateChallenges::parse(&["Bearer scope=\" \""]).scope(), None);
    }
}
