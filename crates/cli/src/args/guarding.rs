//! Arguments for access control: flags of `serve` (`--auth`, `--tls-cert` and others), and the `token` command.
//!
//! Used by `args::serving`, `args::plugins` and `access`. It does not check that the flags fit together (`access`
//! does).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use switchboard_gateway::tokens::NewToken;
use switchboard_hub::{AccessOptions, ClientAuth};

use super::span::span;

pub(super) const TOKEN_EXAMPLES: &str = "\
Examples:
  switchboard token create --name laptop --expires 30d
  switchboard token list
  switchboard token revoke laptop";

/// Who may come in, and how much is taken.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who may connect")]
pub(crate) struct Guarding {
    /// Which clients may connect; by default `user` on this machine, and `token` beyond it, with `--auth-issuer`, or with
    /// a public `--allow-host`
    #[arg(long, value_name = "WHAT")]
    pub(crate) auth: Option<Auth>,
    /// Accept tokens of this authorization server; clients find it and sign in there by themselves
    #[arg(long, value_name = "URL")]
    pub(crate) auth_issuer: Option<String>,
    /// The URL at which clients reach this hub, without a path, if it differs from the listening address
    #[arg(long, value_name = "URL", requires = "auth_issuer")]
    pub(crate) auth_resource: Option<String>,
    /// An audience that tokens must name instead of the URL that they are sent to; may be given several times
    #[arg(long, value_name = "AUDIENCE", requires = "auth_issuer")]
    pub(crate) auth_audience: Vec<String>,
    /// A scope that tokens must have; may be given several times
    #[arg(long, value_name = "SCOPE", requires = "auth_issuer")]
    pub(crate) auth_scope: Vec<String>,
    /// The claim of a token that lists the groups of its user [default: groups]
    #[arg(long, value_name = "CLAIM", requires = "auth_issuer")]
    pub(crate) auth_groups: Option<String>,
    /// A host name under which clients may reach this machine; may be given several times. If other machines can use the
    /// name, every client needs a token
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose web pages may connect, such as `http://localhost:6274`; all others get 403. May be given several
    /// times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Serve with TLS: the certificate and its chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The number of requests that each user or token may make per second; WebSocket messages and each request of a batch
    /// count [default: no limit]
    #[arg(long, value_name = "REQUESTS")]
    pub(crate) rate: Option<NonZeroU32>,
    /// The number of sessions that may be open at once; one token may hold no more sessions than are still free
    #[arg(long, value_name = "SESSIONS", default_value = "1024")]
    pub(crate) max_sessions: NonZeroUsize,
    /// The maximum size of a message, in bytes
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    pub(crate) max_message: NonZeroUsize,
    /// The time after which an unused session ends, such as 90s, 30m or 12h [default: `limits.sessionIdleMs`, else 30m]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) idle: Option<Duration>,
}

/// The client of `serve` at the issuer.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who may connect")]
pub(crate) struct IssuerClientArgs {
    /// The client id of this hub at the issuer, so that people sign their browsers in there instead of with one-time codes.
    /// The issuer has to know the redirect URI `<this hub>/sign-in/issuer/callback`
    #[arg(long, value_name = "ID", requires = "auth_issuer")]
    pub(crate) auth_client_id: Option<String>,
    /// A file with the client secret of this hub at the issuer, if it has one
    #[arg(long, value_name = "FILE", requires = "auth_client_id")]
    pub(crate) auth_client_secret_file: Option<PathBuf>,
}

/// Which clients may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Auth {
    /// Your own programs on this machine, and clients with a token
    User,
    /// Only clients with a token, from `switchboard token create` or from the issuer
    Token,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token, and show it once
    Create(CreateToken),
    /// Show all tokens, without their secrets
    List,
    /// Revoke a token, and close the connections that use it
    Revoke {
        /// Its id or name
        #[arg(value_name = "ID|NAME")]
        which: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateToken {
    /// Its name in lists and in the audit log [default: its id]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The person whose client gets the token; all tokens of one user share sign-ins and connections. Without a user, the
    /// client is a service of its own
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// For your own client on another machine: it acts as you, with your sign-ins and your headers
    #[arg(long, conflicts_with = "user")]
    pub(crate) me: bool,
    /// A group of the client, for rules; may be given several times
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Vec<String>,
    /// How long it is valid, such as 12h, 30d or 8w [default: until it is revoked]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) expires: Option<Duration>,
}

// === impl CreateToken ===

impl CreateToken {
    /// The same for the store, with the time of expiry in seconds since 1970.
    pub(crate) fn to_new_token(&self, expires: Option<u64>) -> NewToken {
        let (name, user) = (self.name.clone(), self.user.clone());
        NewToken { name, user, is_mine: self.me, groups: self.group.clone(), expires }
    }
}

// === impl Guarding ===

impl Guarding {
    /// The same for the hub.
    pub(crate) fn to_options(&self) -> AccessOptions {
        AccessOptions {
            auth: self.auth.map(|auth| match auth {
                Auth::User => ClientAuth::User,
                Auth::Token => ClientAuth::Token,
            }),
            auth_issuer: self.auth_issuer.clone(),
            auth_resource: self.auth_resource.clone(),
            auth_audience: self.auth_audience.clone(),
            auth_scope: self.auth_scope.clone(),
            auth_groups: self.auth_groups.clone(),
            allow_host: self.allow_host.clone(),
            allow_origin: self.allow_origin.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            rate: self.rate,
            max_sessions: self.max_sessions,
            max_message: self.max_message,
            idle: self.idle,
            shares_tokens: false,
            auth_client_id: None,
            auth_client_secret_file: None,
        }
    }
}

// === impl IssuerClientArgs ===

impl IssuerClientArgs {
    /// The same beside the other options of access control.
    pub(crate) fn add_to_options(&self, options: AccessOptions) -> AccessOptions {
        AccessOptions {
            auth_client_id: self.auth_client_id.clone(),
            auth_client_secret_file: self.auth_client_secret_file.clone(),
            ..options
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        guarding: Guarding,
    }

    #[test]
    fn what_nobody_typed_is_the_same_everywhere() {
        let guarding = Typed::parse_from(["serve"]).guarding;
        assert_eq!(guarding.to_options(), AccessOptions::default());
    }
}
