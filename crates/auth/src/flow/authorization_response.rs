//! The authorization response, and the checks that it answers our request (`state`, and `iss` of RFC 9207).
//!
//! Used by `flow`, `flow::callback` and `browser_sign_in`. It does not exchange the code for a token (`token`).

use switchboard_wire::sanitize;
use url::{Url, form_urlencoded};

use crate::error::Error;
use crate::metadata::AuthorizationServer;

const REQUEST_NAME: &str = "the sign-in";

/// The values that the response must carry.
pub(crate) struct ExpectedResponse {
    pub(super) state: String,
    /// The issuer whose page was opened, compared as text.
    pub(super) issuer: String,
    /// Whether the issuer always sends `iss`.
    pub(super) names_itself: bool,
}

/// The query parameters of a response.
pub(super) type ResponseParams = Vec<(String, String)>;

// === impl ExpectedResponse ===

impl ExpectedResponse {
    /// The response to a request with this `state`, from the page of `server`.
    pub(crate) fn new(server: &AuthorizationServer, state: String) -> Self {
        let names_itself = server.authorization_response_iss_parameter_supported;
        Self { state, issuer: server.issuer.clone(), names_itself }
    }

    /// Returns the code in the query string of a response, or the reason why there is none.
    pub(crate) fn read_query(&self, query: &str) -> Result<String, Error> {
        self.read_code(&parse_query(query))
    }

    /// Whether the response carries our `state`.
    pub(super) fn matches_state(&self, query: &ResponseParams) -> bool {
        single_param(query, "state").is_ok_and(|state| state == Some(self.state.as_str()))
    }

    /// Returns the code, or the reason why there is none. No text of the response is repeated before its
    /// issuer is checked.
    pub(super) fn read_code(&self, query: &ResponseParams) -> Result<String, Error> {
        if !self.matches_state(query) {
            return Err(Error::Forged { why: "its `state` is not the one that was sent" });
        }
        match single_param(query, "iss")? {
            Some(issuer) if issuer != self.issuer => {
                return Err(Error::Forged { why: "another authorization server gave it" });
            }
            None if self.names_itself => {
                return Err(Error::Forged {
                    why: "it does not say which authorization server gave it",
                });
            }
            _ => {}
        }
        if let Some(error) = single_param(query, "error")? {
            let clean = |text: &str| sanitize::sanitize_line(text).into_owned();
            let description = single_param(query, "error_description")?.map(clean);
            return Err(Error::Refused { what: REQUEST_NAME, error: clean(error), description });
        }
        let code = single_param(query, "code")?.filter(|code| !code.is_empty());
        code.map(str::to_owned).ok_or(Error::Forged { why: "there is no code in it" })
    }
}

/// Returns a parameter. A parameter that occurs twice is an error: two parsers could read different values.
fn single_param<'a>(query: &'a ResponseParams, name: &str) -> Result<Option<&'a str>, Error> {
    let mut found = query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let first = found.next();
    match found.next() {
        Some(_) => Err(Error::Forged { why: "a parameter stands twice in it" }),
        None => Ok(first),
    }
}

/// Parses a pasted address, or the part of it after the `?`.
pub(super) fn parse_pasted(text: &str) -> Result<ResponseParams, Error> {
    let text = text.trim();
    if let Ok(url) = Url::parse(text) {
        return Ok(url.query_pairs().into_owned().collect());
    }
    let query = text.rsplit_once('?').map_or(text, |(_, query)| query);
    if !query.contains('=') {
        return Err(Error::Forged { why: "it is not the address of the page they ended on" });
    }
    Ok(parse_query(query))
}

/// Parses a query string.
pub(super) fn parse_query(query: &str) -> ResponseParams {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn check(names_itself: bool, query: &str, expected: Result<&str, &str>) {
        let (state, issuer) = ("s1".to_owned(), "https://as.example".to_owned());
        let found = ExpectedResponse { state, issuer, names_itself }.read_code(&parse_query(query));
        let found = found.map_err(|error| error.to_string());
        let found = found.as_deref().map_err(String::as_str);
        match (found, expected) {
            (Err(found), Err(part)) => assert!(found.contains(part), "{query}: {found}"),
            (found, expected) => assert_eq!(found, expected, "{query}"),
        }
    }

    #[test]
    fn only_the_answer_to_our_question_counts() {
        const ISS: &str = "iss=https%3A%2F%2Fas.example";
        check(false, "code=c&state=s1", Ok("c"));
        check(true, &format!("code=c&state=s1&{ISS}"), Ok("c"));
        check(false, &format!("code=c&state=s1&{ISS}"), Ok("c"));
        check(true, "code=c&state=s1", Err("does not say which"));
        check(false, "code=c&state=s2", Err("`state`"));
        check(false, "code=c", Err("`state`"));
        check(false, "code=c&state=s1&state=s1", Err("`state`"));
        check(false, "code=c&code=d&state=s1", Err("twice"));
        check(false, "state=s1", Err("no code"));
        check(false, "code=&state=s1", Err("no code"));
        for other in ["https://AS.example", "https://as.example/", "https://as.example:443", ""] {
            let query: String = form_urlencoded::Serializer::new(String::new())
                .extend_pairs([("code", "c"), ("state", "s1"), ("iss", other)])
                .finish();
            check(false, &query, Err("another authorization server"));
        }
    }

    #[test]
    fn a_refusal_is_told_only_by_whom_it_is_from() {
        check(
            false,
            "error=access_denied&error_description=no&state=s1",
            Err("access_denied (no)"),
        );
        check(false, "error=access_denied&state=s2", Err("`state`"));
        check(true, "error=access_denied&state=s1&iss=https://evil.example", Err("another"));
        check(false, "error=a%1b[31m&state=s1", Err("a[31m"));
    }

    #[test]
    fn addresses_are_pasted_in_many_ways() {
        let expected = parse_query("code=c&state=s");
        for text in
            ["http://localhost:1/callback?code=c&state=s", " ?code=c&state=s\n", "code=c&state=s"]
        {
            assert_eq!(parse_pasted(text).unwrap(), expected, "{text}");
        }
        assert!(parse_pasted("what?").is_err());
    }
}
