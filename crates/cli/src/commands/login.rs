//! `switchboard login`: signs a person in to a server, in a local browser or with a pasted address.
//!
//! Used by `commands::run`; `logout`, `doctor auth` and `xaa` use its helpers. The OAuth flow is in `auth`.

use std::error::Error as StdError;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_auth::{
    Error, FileSignInStore, IdentityProviderClient, KeyLocation, OAuthAccount, OpenSignInPage,
    ShowUserCode, SignIn, SignInMethod, SignInPageOutcome, SignInRequirement, SignInStore as _,
    SignInStoreError, SignInTarget, UserCode,
};
use switchboard_config::{Desired, DesiredServer, EntryCredential, SignInOwner, command_line};
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;
use url::Url;

use super::xaa;
use crate::args::Login;
use crate::ask::{Keyboard, open};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::{hint, show};

/// Opens the sign-in page in a browser of this machine.
pub(super) struct LocalBrowser<'a> {
    pub(super) printer: &'a Printer,
}

/// Prints the sign-in page for a browser on another machine, and reads the resulting address.
pub(super) struct RemoteBrowser<'a> {
    pub(super) printer: &'a Printer,
    pub(super) keyboard: Keyboard,
}

pub(super) async fn run(login: &Login, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let desired = caller.workspace.desired();
    let mut subject = subject(&login.server, &desired)?;
    if let Some(principal) = &login.principal {
        check_own_sign_in(find_server(&login.server, &desired)?)?;
        subject = subject.for_principal(principal);
    }
    let network = pool_options(&login.server, &desired)?;
    let (store, organisation) = (caller.sign_ins(), xaa::provider(caller)?);
    tokio::select! {
        done = sign_in(login, subject, network, organisation, &store, printer) => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
    }
}

async fn sign_in(
    login: &Login,
    subject: SignInTarget,
    network: HttpPoolOptions,
    organisation: Option<IdentityProviderClient>,
    store: &Arc<FileSignInStore>,
    printer: &Printer,
) -> Result<(), Failure> {
    let name = subject.name.clone();
    let failed = |error: Error| failure(&name, &error);
    let demand = SignInRequirement::fetch(&subject.url, &network).await.map_err(failed)?;
    let Some(demand) = demand else {
        return nothing_to_do(&name, printer);
    };
    set_damaged_key_aside(store, printer)?;
    let sign_in = SignIn::new(subject, store.clone(), network).with_identity_provider(organisation);
    let (here, elsewhere) =
        (LocalBrowser { printer }, RemoteBrowser { printer, keyboard: Keyboard::default() });
    let way = match (login.device, login.no_browser) {
        (true, _) => SignInMethod::Code(&elsewhere),
        (false, true) => SignInMethod::CodeOrPage(&elsewhere, &elsewhere),
        (false, false) => SignInMethod::Page(&here),
    };
    let account = sign_in.run_with(&demand, way).await;
    print_signed_in(&name, &account.map_err(failed)?, store, printer)
}

/// Fails where other principals do not sign in themselves.
fn check_own_sign_in(server: &DesiredServer) -> Result<(), Failure> {
    let name = &server.name;
    let (why, hint) = match (server.entry().map(|entry| entry.sign_in), server.credential()) {
        (Some(SignInOwner::Shared), _) => (
            "its entry says `\"signIn\": \"shared\"`: all use your sign-in".to_owned(),
            command_line("login", [name]),
        ),
        (_, EntryCredential::InEntry(what)) => {
            (format!("its requests use {what}, which is yours"), command_line("edit", [name]))
        }
        _ => return Ok(()),
    };
    let message = format!("no other principal signs in to `{name}`");
    let failure = Failure::plain(FailureKind::Failed, message).with_causes([why]);
    Err(failure.with_hint(format!("see `{hint}`")))
}

/// HTTP options for this server, with its `tls` settings.
pub(in crate::commands) fn pool_options(
    name: &str,
    desired: &Desired,
) -> Result<HttpPoolOptions, Failure> {
    let server = find_server(name, desired)?;
    let network = server
        .entry()
        .map(|entry| switchboard_hub::pool_options(server, entry, &HttpPoolOptions::default()))
        .transpose();
    let network = network.map_err(|error| {
        Failure::new(format!("cannot reach `{name}`"), error)
            .with_hint(format!("change `tls` with `{}`", command_line("edit", [name])))
    });
    Ok(network?.unwrap_or_default())
}

/// The server with this name, if it is one that people sign in to.
pub(in crate::commands) fn subject(name: &str, desired: &Desired) -> Result<SignInTarget, Failure> {
    let server = find_server(name, desired)?;
    let Some(entry) = server.entry() else {
        let message = format!("`{name}` is {}", server.state.name());
        return Err(Failure::plain(FailureKind::Failed, message)
            .with_hint(format!("`{}` shows it", command_line("get", [name]))));
    };
    switchboard_hub::sign_in_target(server, entry).ok_or_else(|| {
        let failure = Failure::plain(FailureKind::Failed, format!("`{name}` needs no sign-in"));
        failure
            .with_causes([
                "its entry says how it is reached, or it is not reached over HTTP".to_owned()
            ])
            .with_hint(hint::own_credentials(name))
    })
}

/// The server with this name.
pub(super) fn find_server<'a>(
    name: &'a str,
    desired: &'a Desired,
) -> Result<&'a DesiredServer, Failure> {
    desired.servers_named(name).next().ok_or_else(|| {
        let failure = Failure::plain(FailureKind::Failed, format!("there is no server `{name}`"));
        failure.with_hint(hint::no_server())
    })
}

fn nothing_to_do(name: &str, printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&json!({ "server": name, "signedIn": false, "needed": false }));
    }
    printer.done(format_args!("{BOLD}{}{BOLD:#} lets everybody in.", show::word(name)));
    Ok(())
}

fn print_signed_in(
    name: &str,
    account: &OAuthAccount,
    store: &FileSignInStore,
    printer: &Printer,
) -> Result<(), Failure> {
    let place =
        store.key_location().map_err(|error| Failure::new("cannot keep the sign-in", error))?;
    let issuer = sanitize::sanitize_line(&account.issuer);
    if printer.is_json() {
        return printer.json(&json!({
            "server": name, "signedIn": true, "needed": true, "issuer": issuer,
            "scopes": account.scopes, "expiresAt": account.expires_at,
            "renewable": account.refresh.is_some(),
            "key": match place { KeyLocation::Keychain => "keychain", _ => "file" },
        }));
    }
    printer.done(format_args!("Signed in to {BOLD}{}{BOLD:#} at {issuer}.", show::word(name)));
    if place == KeyLocation::NewFile {
        let notice =
            Notice::warning("there is no keychain, so the key to your sign-ins is in a file");
        printer
            .notices(&[notice.with_hint("only your own account can read it; a keychain is safer")]);
    }
    Ok(())
}

fn failure(name: &str, error: &Error) -> Failure {
    let failure = Failure::new(format!("cannot sign in to `{name}`"), error);
    match error.root_cause() {
        Error::NoIdentityProvider => failure.with_hint(hint::no_identity_provider()),
        Error::NoIdentity { .. } => failure.with_hint(format!(
            "register a client there, and put its id into `oauth` with `{}`",
            command_line("edit", [name])
        )),
        Error::OtherIssuer { .. } => failure.with_hint(format!(
            "run `{}` if that is right, and change the client with `{}`",
            command_line("logout", [name]),
            command_line("edit", [name])
        )),
        Error::NoCodes => {
            failure.with_hint(format!("run `{}` without `--device`", command_line("login", [name])))
        }
        Error::Listen { .. } => {
            failure.with_hint("stop the program that uses the port, or change `callbackPort`")
        }
        Error::Store(error) => match of_store(error, name) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        },
        _ if error.is_transient() => failure.with_hint(hint::down()),
        _ => failure,
    }
}

/// The hint for an error of the sign-in store, which is on this machine.
fn of_store(error: &SignInStoreError, name: &str) -> Option<String> {
    match error {
        // The error text contains the remedy.
        SignInStoreError::KeyExposed { .. } => None,
        SignInStoreError::Busy { .. } | SignInStoreError::Stuck { .. } => {
            Some("try again".to_owned())
        }
        _ => Some(format!(
            "correct that on this machine, then run `{}` again",
            command_line("login", [name])
        )),
    }
}

/// Renames a damaged key before a sign-in page is opened, and prints a notice. The sign-ins sealed with that key cannot
/// be opened any more either way.
pub(super) fn set_damaged_key_aside(
    store: &FileSignInStore,
    printer: &Printer,
) -> Result<(), Failure> {
    let aside = store
        .set_damaged_key_aside()
        .map_err(|error| Failure::new("cannot move the damaged key to your sign-ins", error))?;
    if let Some(aside) = aside {
        let place = printer.places.path(&aside);
        let notice = Notice::warning(format!(
            "the key to your sign-ins was damaged; a new key was created, and the damaged one is kept as `{place}`"
        ));
        let hint = "sign in again to every server that you were signed in to: `switchboard list` shows which";
        printer.notices(&[notice.with_hint(hint)]);
    }
    Ok(())
}

// === impl LocalBrowser ===

impl OpenSignInPage for LocalBrowser<'_> {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn StdError + Send + Sync>>> {
        let host = url.host_str().unwrap_or_default();
        let opened = open(url.as_str());
        let said = if opened { "Sign in in your browser" } else { "Open this page to sign in" };
        self.printer.raw(format_args!("{said}, at {BOLD}{host}{BOLD:#}:\n  {url}\n"));
        Box::pin(std::future::ready(Ok(SignInPageOutcome::BrowserOpened)))
    }
}

// === impl RemoteBrowser ===

impl OpenSignInPage for RemoteBrowser<'_> {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn StdError + Send + Sync>>> {
        self.printer.raw(format_args!(
            "Open this page in any browser:\n  {url}\nAfter you sign in, the browser cannot show the last page. Paste the address of that page here:\n"
        ));
        Box::pin(async {
            Ok(match self.keyboard.line().await {
                Some(address) => SignInPageOutcome::Pasted(address),
                // At the end of input the address cannot be pasted, but the port may be forwarded.
                None => SignInPageOutcome::BrowserOpened,
            })
        })
    }
}

impl ShowUserCode for RemoteBrowser<'_> {
    fn show(&self, code: &UserCode) {
        let UserCode { code, page, with_code, lasts } = code;
        let minutes = usize::try_from(lasts.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
        let minutes = show::count(minutes, "minute");
        self.printer.raw(format_args!(
            "Open this page in any browser, within {minutes}:\n  {page}\nand type this code:\n  {BOLD}{code}{BOLD:#}\n"
        ));
        if let Some(page) = with_code {
            self.printer
                .raw(format_args!("Or open this page, which contains the code:\n  {page}\n"));
        }
    }
}
