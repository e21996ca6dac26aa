//! `switchboard xaa`: cross-app access, one sign-in with the organisation's identity provider for many servers.
//!
//! Used by `commands::run`; `login` and `doctor auth` use `provider`. The protocol is in `auth`.

use serde_json::{Value, json};
use switchboard_auth::{Error, IdentityProviderClient, SignedInUser, UserPresence};
use switchboard_config::{self as config, Desired, LocatedValue, Transport};
use switchboard_hub::{CredentialSources, process_guard};
use switchboard_wire::sanitize;
use url::Url;

use super::login::{LocalBrowser, RemoteBrowser, set_damaged_key_aside};
use crate::args::{Setup, Xaa};
use crate::ask::Keyboard;
use crate::hint;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show::{self, moment};
use crate::surroundings::Caller;

pub(super) async fn run(xaa: &Xaa, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    match xaa {
        Xaa::Setup(setup) => self::setup(setup, caller, printer),
        Xaa::Login { no_browser } => login(*no_browser, caller, printer).await,
        Xaa::Show => show(caller, printer).await,
        Xaa::Clear => clear(caller, printer).await,
    }
}

/// The identity provider from settings.
pub(super) fn provider(caller: &Caller) -> Result<Option<IdentityProviderClient>, Failure> {
    let sources =
        CredentialSources::new(&caller.program_context(), process_guard()?, UserPresence::Nobody);
    Ok(sources.identity_provider(&caller.variables))
}

fn require_provider(caller: &Caller) -> Result<IdentityProviderClient, Failure> {
    provider(caller)?.ok_or_else(|| {
        Failure::plain(FailureKind::Failed, "no identity provider is configured")
            .with_hint(hint::no_identity_provider())
    })
}

// --- setup

fn setup(setup: &Setup, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let managed = |provider: &&LocatedValue<config::IdentityProvider>| is_managed(provider, caller);
    let desired = caller.workspace.desired();
    if let Some(provider) = desired.settings.xaa_idp.as_ref().filter(managed) {
        return Err(Failure::plain(
            FailureKind::Denied,
            "the administrator has chosen the identity provider",
        )
        .with_location(Some(provider.at.clone())));
    }
    check(&setup.issuer)?;
    let provider = config::IdentityProvider {
        issuer: setup.issuer.clone(),
        client_id: setup.client_id.clone(),
        client_secret_helper: setup.client_secret_helper.clone(),
        scopes: setup.scope.clone(),
        callback_port: setup.callback_port,
    };
    let written = caller.workspace.set_identity_provider(&provider);
    let path = written.map_err(|error| Failure::config("cannot write your settings", &error))?;
    if printer.is_json() {
        return printer.json(&json!({ "provider": provider, "file": path }));
    }
    let issuer = sanitize::sanitize_line(&provider.issuer);
    printer.done(format_args!("{BOLD}{issuer}{BOLD:#} is your identity provider."));
    printer.done("Sign in to it with `switchboard xaa login`.");
    Ok(())
}

/// Whether the administrator's files name the provider, not the user's.
fn is_managed(provider: &LocatedValue<config::IdentityProvider>, caller: &Caller) -> bool {
    let path = provider.at.origin.path();
    path.is_some_and(|path| path.starts_with(&caller.surroundings.managed_dir))
}

fn check(issuer: &str) -> Result<(), Failure> {
    let is_one = |url: Url| matches!(url.scheme(), "https" | "http") && url.query().is_none();
    if Url::parse(issuer).is_ok_and(is_one) {
        return Ok(());
    }
    let message =
        format!("`{}` is not the issuer of an identity provider", sanitize::sanitize_line(issuer));
    Err(Failure::usage(
        message,
        "it is the URL that the provider calls itself, like https://login.example.com",
    ))
}

// --- login

async fn login(no_browser: bool, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let provider = require_provider(caller)?;
    set_damaged_key_aside(&caller.sign_ins(), printer)?;
    let signing_in = async {
        if no_browser {
            provider.login(&RemoteBrowser { printer, keyboard: Keyboard::default() }).await
        } else {
            provider.login(&LocalBrowser { printer }).await
        }
    };
    let identity = tokio::select! {
        identity = signing_in => identity,
        _ = tokio::signal::ctrl_c() => return Err(Failure::interrupted()),
    };
    let identity =
        identity.map_err(|error| failed("cannot sign in to the identity provider", &error))?;
    if printer.is_json() {
        return printer.json(&identity_json(&identity));
    }
    let who = identity.name.as_ref().unwrap_or(&identity.subject);
    printer.done(format_args!("Signed in to {BOLD}{}{BOLD:#} as {who}.", identity.issuer));
    Ok(())
}

fn failed(what: &str, error: &Error) -> Failure {
    let failure = Failure::new(what, error);
    match error.root_cause() {
        Error::Listen { .. } => {
            failure.with_hint("stop the program that uses the port, or change `callbackPort`")
        }
        Error::ClientSecret(_) => {
            failure.with_hint("see `clientSecretHelper` in `switchboard xaa show`")
        }
        Error::IssuerMismatch { .. } | Error::NoMetadata { .. } => {
            failure.with_hint("check the issuer; it must match exactly")
        }
        _ => failure,
    }
}

// --- show

async fn show(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let (provider, desired) = (require_provider(caller)?, caller.workspace.desired());
    let identity = provider.identity().await;
    let identity = identity.map_err(|error| failed("cannot read the sign-ins", &error))?;
    let servers = opened_servers(&desired);
    let Some(settings) = &desired.settings.xaa_idp else { return Ok(()) };
    if printer.is_json() {
        return printer.json(&json!({
            "provider": settings.value, "managed": is_managed(settings, caller),
            "identity": identity.as_ref().map(identity_json), "servers": servers,
        }));
    }
    let row = |name: &str, value: String| {
        printer.line(format_args!("{DIM}{name:<10}{DIM:#}{}", sanitize::sanitize_line(&value)));
    };
    let value = &settings.value;
    row("issuer", value.issuer.clone());
    row("client", value.client_id.clone());
    if let Some(helper) = &value.client_secret_helper {
        row("secret", format!("printed by `{helper}`"));
    }
    if is_managed(settings, caller) {
        row("chosen by", "the administrator".to_owned());
    }
    row("signed in", signed_in(identity.as_ref()));
    row("opens", if servers.is_empty() { "no server yet".to_owned() } else { servers.join(", ") });
    Ok(())
}

fn signed_in(identity: Option<&SignedInUser>) -> String {
    let Some(identity) = identity else {
        return "no; sign in with `switchboard xaa login`".to_owned();
    };
    let who = identity.name.as_ref().unwrap_or(&identity.subject);
    match (identity.expires_at, identity.renewable) {
        (_, true) | (None, false) => format!("{who}, renewed by itself"),
        (Some(end), false) => format!("{who}, until {}", moment(end)),
    }
}

fn identity_json(identity: &SignedInUser) -> Value {
    let SignedInUser { issuer, subject, name, expires_at, renewable, lost } = identity;
    json!({
        "issuer": issuer, "subject": subject, "name": name, "expiresAt": expires_at,
        "renewable": renewable, "lost": lost,
    })
}

/// The servers that use the identity provider.
fn opened_servers(desired: &Desired) -> Vec<String> {
    let is_opened = |transport: &Transport| match transport {
        Transport::Http(remote) | Transport::Sse(remote) => {
            remote.oauth.as_ref().is_some_and(|oauth| oauth.xaa == Some(true))
        }
        _ => false,
    };
    let ready = desired.ready_servers().filter(|(_, entry)| is_opened(&entry.transport));
    ready.map(|(server, _)| show::word(&server.name)).collect()
}

// --- clear

async fn clear(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let provider = require_provider(caller)?;
    let ended = provider.logout().await;
    let ended = ended.map_err(|error| failed("cannot delete the sign-in", &error))?;
    let removed = caller.workspace.remove_identity_provider();
    let removed = removed.map_err(|error| Failure::config("cannot write your settings", &error))?;
    let problem = ended.as_ref().and_then(|revoked| revoked.as_ref().err()).map(Error::error_chain);
    let issuer = sanitize::sanitize_line(provider.issuer());
    if printer.is_json() {
        return printer.json(&json!({
            "issuer": issuer, "signedOut": ended.is_some(), "removed": removed.is_some(), "problem": problem,
        }));
    }
    if ended.is_some() {
        printer.done(format_args!("Signed out of {BOLD}{issuer}{BOLD:#}."));
    }
    match removed {
        Some(_) => printer.done("It is no longer your identity provider."),
        None => printer.done("It stays: the administrator has chosen it."),
    }
    let said = problem
        .map(|problem| Notice::warning(format!("it may still accept the tokens: {problem}")));
    printer.notices(&said);
    Ok(())
}
