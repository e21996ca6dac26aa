//! The access of guests, the principals other than the local one, to servers: they use nothing of the local
//! principal's unless the entry says so.
//!
//! Used by `supervisor::apply`, `workspace::principal` and `permission::explain`. What counts as a credential of an entry is decided in
//! `config`.

use std::sync::Arc;

use switchboard_config::{
    Desired, DesiredServer, Entry, EntryCredential, NotReadyReason, ServerReadiness, SignInOwner,
};

use crate::connection::ConnectionSpec;
use crate::engine::CredentialSource;

/// What other principals than the local one reach a server with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GuestAccess {
    /// The credential of the local principal: nothing that belongs to a person, or something that the entry lends.
    Same,
    /// A sign-in of their own.
    SeparateSignIn,
    /// Nothing: the entry holds something of the local principal's, which the text names.
    Refused(String),
}

/// Another principal than the local one, and the source of its sign-ins.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Guest<'a> {
    pub(in crate::engine) principal: &'a Arc<str>,
    pub(in crate::engine) credentials: &'a dyn CredentialSource,
}

// === impl GuestAccess ===

impl GuestAccess {
    pub(crate) fn of_server(server: &DesiredServer, entry: &Entry) -> Self {
        match (entry.sign_in, server.credential()) {
            (SignInOwner::Shared, _) | (SignInOwner::EachPrincipal, EntryCredential::None) => {
                Self::Same
            }
            (SignInOwner::EachPrincipal, EntryCredential::SignIn) => Self::SeparateSignIn,
            (SignInOwner::EachPrincipal, EntryCredential::InEntry(what)) => Self::Refused(what),
        }
    }

    /// Why the server is refused, if it is.
    pub(crate) fn refusal(&self) -> Option<String> {
        let Self::Refused(what) = self else { return None };
        Some(format!(
            "it is reached with {what} of the person who runs this switchboard; `\"signIn\": \"shared\"` in its entry \
             would let others use it"
        ))
    }
}

// === impl Guest ===

impl Guest<'_> {
    /// Returns the spec of this principal's connection to a server, from the local principal's; `None` if it gets none.
    pub(in crate::engine) fn spec(
        self,
        access: &GuestAccess,
        desired: &Desired,
        local: &ConnectionSpec,
    ) -> Option<ConnectionSpec> {
        let mut spec =
            ConnectionSpec { principal: Some(Arc::clone(self.principal)), ..local.clone() };
        match access {
            GuestAccess::Same => {}
            GuestAccess::Refused(_) => return None,
            GuestAccess::SeparateSignIn => {
                let (server, entry) =
                    desired.ready_servers().find(|(server, _)| server.name == local.server)?;
                (spec.credentials, spec.credential_id) =
                    self.credentials.credentials(self.principal, server, entry, &spec.environment);
            }
        }
        Some(spec)
    }
}

/// Returns the desired state as other principals see it: servers that they are refused are blocked, with the reason.
pub(in crate::engine) fn desired_for_guests<'a>(
    desired: &Arc<Desired>,
    servers: impl Iterator<Item = (&'a str, &'a GuestAccess)>,
) -> Arc<Desired> {
    let refused: Vec<(&str, String)> =
        servers.filter_map(|(name, access)| Some((name, access.refusal()?))).collect();
    if refused.is_empty() {
        return Arc::clone(desired);
    }
    let mut theirs = Desired::clone(desired);
    for server in theirs.servers.iter_mut().filter(|server| server.entry().is_some()) {
        if let Some((_, why)) = refused.iter().find(|(name, _)| *name == server.name) {
            let reason = NotReadyReason { why: why.clone(), by: None };
            server.state = ServerReadiness::Blocked(reason);
        }
    }
    Arc::new(theirs)
}
