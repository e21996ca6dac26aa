//! Texts for `switchboard doctor auth`: accounts, clients and authorization servers in words, without
//! secrets.
//!
//! Used by `examine::examination`.

use crate::account::{OAuthAccount, OAuthClient};
use crate::metadata::AuthorizationServer;
use crate::token::unix_now;

// === impl OAuthAccount ===

impl OAuthAccount {
    /// The token's age and remaining lifetime, never the token.
    pub(super) fn lifetime_text(&self) -> String {
        let now = unix_now();
        let given = duration_text(now.saturating_sub(self.obtained_at));
        match self.expires_at {
            None => format!("issued {given} ago, without an expiry"),
            Some(end) if end <= now => {
                format!("issued {given} ago, expired {} ago", duration_text(now - end))
            }
            Some(end) => format!("issued {given} ago, expires in {}", duration_text(end - now)),
        }
    }
}

/// A duration in its largest unit.
fn duration_text(seconds: u64) -> String {
    let of = |number: u64, noun: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {noun}{plural}")
    };
    match seconds {
        0..60 => "less than a minute".to_owned(),
        60..3600 => of(seconds / 60, "minute"),
        3600..86_400 => of(seconds / 3600, "hour"),
        _ => of(seconds / 86_400, "day"),
    }
}

// === impl OAuthClient ===

impl OAuthClient {
    pub(super) fn description_lines(&self) -> Vec<String> {
        let proof = match (&self.secret, self.auth.name()) {
            (Some(_), name) => format!("it authenticates with a client secret ({name})"),
            (None, "none") => "it is a public client, without a secret".to_owned(),
            (None, name) => format!("it authenticates with {name}"),
        };
        vec![format!("client `{}`", self.id), proof]
    }
}

// === impl AuthorizationServer ===

impl AuthorizationServer {
    pub(super) fn description_lines(&self) -> Vec<String> {
        let offers = [
            ("registers clients automatically", self.registration_endpoint.is_some()),
            ("revokes tokens", self.revocation_endpoint.is_some()),
            ("supports device codes", self.device_authorization_endpoint.is_some()),
            ("sends `iss` in its responses", self.authorization_response_iss_parameter_supported),
        ];
        let offers = offers.into_iter().filter(|(_, offered)| *offered).map(|(what, _)| what);
        let mut told = vec![
            format!("issuer {}", self.issuer),
            format!("token endpoint {}", self.token_endpoint),
        ];
        told.extend(
            self.authorization_endpoint.iter().map(|page| format!("authorization endpoint {page}")),
        );
        let offers: Vec<_> = offers.collect();
        told.extend((!offers.is_empty()).then(|| format!("it {}", offers.join(", "))));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::duration_text;

    #[test]
    fn times_as_people_say_them() {
        for (seconds, said) in [
            (0, "less than a minute"),
            (60, "1 minute"),
            (3599, "59 minutes"),
            (7200, "2 hours"),
            (86_400, "1 day"),
        ] {
            assert_eq!(duration_text(seconds), said);
        }
    }
}
