//! The principal of a call: the person or service that it is made for, and how that was established.
//!
//! Made by the gateway's access control, the hub's socket and the commands. Used by sessions, permission, credentials
//! and the audit log. It does not authenticate, and decides no permission.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

/// The id of the person who runs the engine.
pub const LOCAL_PRINCIPAL: &str = "local";
/// The id of every client of an address that asks for no identification.
pub const ANYONE_PRINCIPAL: &str = "anyone";

/// A person or service that calls are made for. Clones share it.
///
/// Two values are equal if everything about them is, groups included: a session that one of them opened does not
/// serve the other. Keys and stores take the [id](Self::id), which stays equal while groups change.
///
/// As JSON it goes from one replica to another that trusts it. No principal of a client is read from JSON.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "PrincipalInfo", into = "PrincipalInfo")]
pub struct Principal(Arc<PrincipalInfo>);

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct PrincipalInfo {
    #[serde(with = "shared_text")]
    id: Arc<str>,
    authentication: Authentication,
    issuer: Option<String>,
    subject: String,
    name: String,
    groups: BTreeSet<String>,
}

/// How a principal was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Authentication {
    /// The client runs as the user of this process: credentials of a socket or of a loopback connection, or the
    /// command itself.
    SameUser,
    /// Not at all: the address asks for no identification.
    None,
    /// A token that `switchboard token create` made.
    StoredToken,
    /// A token of a trusted issuer.
    IssuedToken,
}

// === impl Principal ===

impl Principal {
    /// Returns the person who runs the engine.
    pub fn local() -> Self {
        static LOCAL: LazyLock<Principal> = LazyLock::new(|| {
            Principal::new(LOCAL_PRINCIPAL, Authentication::SameUser, LOCAL_PRINCIPAL)
        });
        LOCAL.clone()
    }

    /// Returns the person who runs the engine, whose client showed a stored token made for them.
    pub fn local_by_token() -> Self {
        Self::new(LOCAL_PRINCIPAL, Authentication::StoredToken, LOCAL_PRINCIPAL)
    }

    /// Returns the principal of clients that were asked for no identification.
    pub fn anyone() -> Self {
        static ANYONE: LazyLock<Principal> = LazyLock::new(|| {
            Principal::new(ANYONE_PRINCIPAL, Authentication::None, ANYONE_PRINCIPAL)
        });
        ANYONE.clone()
    }

    /// Returns the service that a stored token without a user stands for. Services of different tokens differ, even
    /// if a name is used again.
    pub fn service(token_name: &str, token_id: &str) -> Self {
        let id = format!("{token_name}@{token_id}");
        let named = Self::new(&id, Authentication::StoredToken, token_name);
        named.change(|info| info.subject = id)
    }

    /// Returns the person whom stored tokens name. All tokens of one user are this principal.
    pub fn user(name: &str) -> Self {
        // A service's id has no colon before its `@`, since names of tokens have none.
        Self::new(&format!("user:{name}"), Authentication::StoredToken, name)
    }

    /// Returns the subject of a token that an issuer signed.
    pub fn issued(issuer: &str, subject: &str) -> Self {
        // No issuer contains a space, so subjects of two issuers cannot collide.
        let id = format!("{issuer} {subject}");
        let named = Self::new(&id, Authentication::IssuedToken, subject);
        named.change(|info| info.issuer = Some(issuer.to_owned()))
    }

    /// Returns this principal with another name for people.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.change(|info| info.name = name)
    }

    /// Returns this principal as a member of exactly these groups.
    #[must_use]
    pub fn with_groups(self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        self.change(|info| info.groups = groups)
    }

    /// Returns the id, which names the principal in keys, stores and rules: `local`, `anyone`, `user:NAME`,
    /// `TOKEN@ID` or `ISSUER SUBJECT`.
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Returns how the principal was established.
    pub fn authentication(&self) -> Authentication {
        self.0.authentication
    }

    /// Returns the issuer whose token named the principal.
    pub fn issuer(&self) -> Option<&str> {
        self.0.issuer.as_deref()
    }

    /// Returns the name that its issuer, or our own store of tokens, has for the principal.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Returns the name for people. It is not unique: people may choose it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.0.groups.iter().map(String::as_str)
    }

    /// Whether the principal is a member of a group.
    pub fn is_in_group(&self, group: &str) -> bool {
        self.0.groups.contains(group)
    }

    /// Whether this is the person who runs the engine.
    pub fn is_local(&self) -> bool {
        *self.0.id == *LOCAL_PRINCIPAL
    }

    fn new(id: &str, authentication: Authentication, name: &str) -> Self {
        Self(Arc::new(PrincipalInfo {
            id: id.into(),
            authentication,
            issuer: None,
            subject: name.to_owned(),
            name: name.to_owned(),
            groups: BTreeSet::new(),
        }))
    }

    fn change(self, change: impl FnOnce(&mut PrincipalInfo)) -> Self {
        let PrincipalInfo { id, authentication, issuer, subject, name, groups } = &*self.0;
        let mut info = PrincipalInfo {
            id: Arc::clone(id),
            authentication: *authentication,
            issuer: issuer.clone(),
            subject: subject.clone(),
            name: name.clone(),
            groups: groups.clone(),
        };
        change(&mut info);
        Self(Arc::new(info))
    }
}

impl From<PrincipalInfo> for Principal {
    fn from(info: PrincipalInfo) -> Self {
        Self(Arc::new(info))
    }
}

impl From<Principal> for PrincipalInfo {
    fn from(principal: Principal) -> Self {
        (*principal.0).clone()
    }
}

/// The id.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.id)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({}", self.0.id)?;
        for group in self.groups() {
            write!(f, " +{group}")?;
        }
        f.write_str(")")
    }
}

/// A shared text as JSON.
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_different_principals_differ() {
        let all = [
            Principal::local(),
            Principal::anyone(),
            Principal::user("local"),
            Principal::user("ada"),
            Principal::user("ada@1"),
            Principal::service("ada", "1"),
            Principal::service("ada", "2"),
            Principal::issued("https://as.example", "ada"),
            Principal::issued("https://as.example", "x ada"),
            Principal::issued("https://other.example", "ada"),
        ];
        let ids: BTreeSet<_> = all.iter().map(Principal::id).collect();
        assert_eq!(ids.len(), all.len(), "{ids:?}");
        assert_eq!(all.iter().filter(|one| one.is_local()).count(), 1);
    }

    #[test]
    fn another_replica_gets_an_equal_principal() {
        for principal in [
            Principal::local(),
            Principal::service("ada", "1"),
            Principal::issued("https://as.example", "ada").with_name("Ada").with_groups(["dev"]),
        ] {
            let text = serde_json::to_string(&principal).unwrap();
            assert_eq!(serde_json::from_str::<Principal>(&text).unwrap(), principal, "{text}");
        }
    }

    #[test]
    fn groups_tell_principals_apart_and_leave_the_id() {
        let plain = Principal::user("ada").with_name("Ada L.");
        let grouped = plain.clone().with_groups(["dev", "ops", "dev"]);
        assert_eq!(plain.id(), grouped.id());
        assert_ne!(plain, grouped);
        assert_eq!(grouped, plain.clone().with_groups(["ops", "dev"]));
        assert!(grouped.is_in_group("dev") && !plain.is_in_group("dev"));
        assert_eq!((grouped.name(), grouped.subject()), ("Ada L.", "ada"));
    }
}
