//! Browser sessions: which principal the browser of a person belongs to, at one address of the hub.
//!
//! A session is a sealed cookie. It begins when the person proved who they are (`sign_in_pages`), at the page of the issuer
//! or with a one-time code for a token, of ours or of the issuer. It belongs to one principal and to one address, and ends after a fixed time, when
//! the person signs the browser out, and with the token that it began with: a revoked token has no session at the next
//! request. Browsers send the cookie with a navigation from another site, because the way back from an authorization
//! server is one (`SameSite=Lax`); so a page that changes something asks for [`BrowserSessions::is_own_page`], too.
//!
//! Used by `sign_in_pages`, and by whatever else the hub shows to people in a browser. It does not establish who
//! somebody is, and decides nothing about servers and tools.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_core::principal::Principal;
use switchboard_core::principal_share::{PoolSpace, find_room};
use switchboard_core::sealing::{HandleBinding, HandleKind, HandleSealer, JsonDigest, SealError};
use switchboard_gateway::tokens::StoredTokenVerifier;
use url::Url;

/// How long a session lasts that began with a token of ours. The token is looked up with every request.
pub(crate) const TOKEN_SESSION_LIFETIME: Duration = Duration::from_secs(8 * 3600);
/// How long a session lasts that began with the issuer, which does not tell us when it locks somebody out.
pub(crate) const ISSUER_SESSION_LIFETIME: Duration = Duration::from_secs(3600);
/// The most sessions of all principals that were ended early and are remembered until they would have ended.
const MAX_ENDED_SESSIONS: usize = 4096;
const SESSION_SECRET_BYTES: usize = 32;
/// The longest name and value of a cookie; browsers drop longer ones without a word.
const MAX_COOKIE_BYTES: usize = 4096;

/// The sessions of the browsers that come to one address.
pub(crate) struct BrowserSessions {
    sealer: Arc<dyn HandleSealer>,
    tokens: StoredTokenVerifier,
    /// The origin under which browsers know the address, such as `https://hub.example:7420`.
    base: Url,
    /// Sessions that were ended early, the oldest first, each with the id of its principal.
    ended: Mutex<VecDeque<(Arc<str>, SessionKey)>>,
}

/// The session of one browser. Has no `Serialize`, and its `Debug` names only the principal.
#[derive(Clone)]
pub(crate) struct BrowserSession {
    principal: Principal,
    key: SessionKey,
}

/// What tells a session from all others, also from others of its principal: a digest of its secret, which is in its
/// sealed cookie alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionKey([u8; 32]);

/// How a person proved who they are, with what a session needs to tell for how long that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SessionProof {
    /// A token of ours, by its id. The session ends with it.
    Token {
        /// The id of the token.
        id: String,
    },
    /// The issuer, which named this person.
    Issuer {
        /// The issuer.
        issuer: String,
        /// The person, as the issuer calls them.
        subject: String,
        /// The person's name for people.
        name: String,
        /// The person's groups.
        groups: Vec<String>,
    },
}

/// Why no session begins.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginSessionError {
    /// Nothing could be sealed.
    #[error("the hub has no random numbers")]
    Seal(#[from] SealError),
    /// The cookie would be too long for browsers.
    #[error(
        "its cookie would be longer than browsers take, perhaps because the issuer lists too many groups"
    )]
    TooLarge,
}

/// The content of a cookie.
#[derive(Serialize, Deserialize)]
struct SessionCookie {
    secret: String,
    proof: SessionProof,
}

// === impl BrowserSessions ===

impl BrowserSessions {
    /// The sessions at the address that browsers know as `base`, a URL without a path.
    pub(crate) fn new(
        sealer: Arc<dyn HandleSealer>,
        tokens: StoredTokenVerifier,
        base: Url,
    ) -> Self {
        Self { sealer, tokens, base, ended: Mutex::default() }
    }

    /// The origin under which browsers know the address.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the session of a request; `None` where there is none, or where it has ended. Reads the file of tokens
    /// if that has changed.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        let cookie: SessionCookie =
            self.open_cookie(SESSION_COOKIE, HandleKind::BrowserSession, headers)?;
        let key = SessionKey::of_secret(&cookie.secret);
        if self.ended.lock().iter().any(|(_, ended)| *ended == key) {
            return None;
        }
        Some(BrowserSession { principal: self.principal(&cookie.proof)?, key })
    }

    /// How the client of this request, which `principal` was admitted as, proved who it is. `None` without a token.
    pub(crate) fn proof(&self, principal: &Principal, headers: &HeaderMap) -> Option<SessionProof> {
        if principal.issuer().is_some() {
            return SessionProof::of_issued(principal);
        }
        let (_, secret) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        self.tokens.token(secret.trim()).map(|token| SessionProof::Token { id: token.id })
    }

    /// Begins a session. Returns the value of the `Set-Cookie` header that gives it to the browser.
    pub(crate) fn begin(&self, proof: SessionProof) -> Result<HeaderValue, BeginSessionError> {
        let lasts = match proof {
            SessionProof::Token { .. } => TOKEN_SESSION_LIFETIME,
            SessionProof::Issuer { .. } => ISSUER_SESSION_LIFETIME,
        };
        let mut secret = [0; SESSION_SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|_| SealError)?;
        let cookie = SessionCookie { secret: URL_SAFE_NO_PAD.encode(secret), proof };
        self.seal_cookie(SESSION_COOKIE, HandleKind::BrowserSession, &cookie, lasts)
    }

    /// Ends a session before its time. Returns the value of the `Set-Cookie` header that takes it from the browser.
    pub(crate) fn end(&self, session: &BrowserSession) -> HeaderValue {
        let (principal, mut ended) = (session.principal.id(), self.ended.lock());
        let holders = ended.iter().map(|(holder, _)| &**holder);
        let oldest = match find_room(MAX_ENDED_SESSIONS, holders, principal) {
            PoolSpace::Free => None,
            PoolSpace::EvictCaller => ended.iter().position(|(holder, _)| holder == principal),
            PoolSpace::Other(other) => ended.iter().position(|(holder, _)| **holder == *other),
        };
        if let Some(oldest) = oldest {
            ended.remove(oldest);
        }
        ended.push_back((Arc::clone(principal), session.key));
        drop(ended);
        self.clear_cookie(SESSION_COOKIE)
    }

    /// Whether a page of this address sent the request, and no page of another site, by its `Origin`. Browsers send it
    /// with every request that may change something, and pages cannot forge it.
    pub(crate) fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
        origin.to_str().is_ok_and(|origin| origin == self.base.origin().ascii_serialization())
    }

    /// Seals `content` into the cookie of this short name.
    pub(super) fn seal_cookie(
        &self,
        name: &str,
        kind: HandleKind,
        content: &impl Serialize,
        lasts: Duration,
    ) -> Result<HeaderValue, BeginSessionError> {
        let text = serde_json::to_vec(content).map_err(|_| SealError)?;
        let sealed = self.sealer.seal(&self.binding(kind), &text, lasts)?;
        if self.cookie_name(name).len() + sealed.len() > MAX_COOKIE_BYTES {
            return Err(BeginSessionError::TooLarge);
        }
        Ok(self.cookie_header(name, &sealed, lasts).ok_or(SealError)?)
    }

    /// Opens the cookie of this short name.
    pub(super) fn open_cookie<T: for<'a> Deserialize<'a>>(
        &self,
        name: &str,
        kind: HandleKind,
        headers: &HeaderMap,
    ) -> Option<T> {
        let sealed = find_cookie(headers, &self.cookie_name(name))?;
        let text = self.sealer.open(&self.binding(kind), sealed).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The value of the `Set-Cookie` header that takes the cookie of this short name from the browser.
    pub(super) fn clear_cookie(&self, name: &str) -> HeaderValue {
        let header = self.cookie_header(name, "", Duration::ZERO);
        header.unwrap_or(HeaderValue::from_static(""))
    }

    fn principal(&self, proof: &SessionProof) -> Option<Principal> {
        match proof {
            SessionProof::Token { id } => self.tokens.principal_of_id(id),
            SessionProof::Issuer { issuer, subject, name, groups } => {
                let principal = Principal::issued(issuer, subject).with_name(name);
                Some(principal.with_groups(groups))
            }
        }
    }

    /// A session of one address is none at another.
    fn binding(&self, kind: HandleKind) -> HandleBinding<'_> {
        let place = self.base.as_str();
        let (principal, method, name) = ("", "", "");
        HandleBinding { kind, place, principal, method, name, arguments: JsonDigest::NONE }
    }

    /// The full name of a cookie. Browsers share the cookies of a host between its ports, so each port has its own
    /// name. With TLS no other host and no connection without TLS can set one of this name (`__Host-`).
    fn cookie_name(&self, name: &str) -> String {
        let prefix = if self.base.scheme() == "https" { "__Host-" } else { "" };
        let port = self.base.port_or_known_default().unwrap_or_default();
        format!("{prefix}{name}-{port}")
    }

    fn cookie_header(&self, name: &str, value: &str, lasts: Duration) -> Option<HeaderValue> {
        let secure = if self.base.scheme() == "https" { "; Secure" } else { "" };
        let (name, seconds) = (self.cookie_name(name), lasts.as_secs());
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

const SESSION_COOKIE: &str = "switchboard-session";

// === impl BrowserSession ===

impl BrowserSession {
    /// The principal that the browser belongs to, with its present groups.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// What tells this session from all others.
    #[cfg(test)]
    fn key(&self) -> SessionKey {
        self.key
    }
}

impl fmt::Debug for BrowserSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserSession").field("principal", &self.principal).finish_non_exhaustive()
    }
}

// === impl SessionKey ===

impl SessionKey {
    fn of_secret(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

// === impl SessionProof ===

impl SessionProof {
    /// The proof of a principal that a token of the issuer named; `None` for any other principal.
    pub(crate) fn of_issued(principal: &Principal) -> Option<Self> {
        Some(Self::Issuer {
            issuer: principal.issuer()?.to_owned(),
            subject: principal.subject().to_owned(),
            name: principal.name().to_owned(),
            groups: principal.groups().map(str::to_owned).collect(),
        })
    }
}

/// The value of a cookie. A name that stands twice is none: another page may have set one of the two.
fn find_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs =
        lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(named, _)| *named == name).map(|(_, value)| value);
    let only = found.next();
    only.filter(|value| found.next().is_none() && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use switchboard_core::sealing::LocalSealer;
    use switchboard_gateway::tokens::{NewToken, TokenStore};

    use super::*;

    struct Scene {
        _state: tempfile::TempDir,
        store: TokenStore,
        sealer: Arc<dyn HandleSealer>,
    }

    impl Scene {
        fn new() -> Self {
            let state = tempfile::tempdir().unwrap();
            let store = TokenStore::new(state.path());
            Self { _state: state, store, sealer: Arc::new(LocalSealer::ephemeral()) }
        }

        fn sessions(&self, base: &str) -> BrowserSessions {
            let tokens = StoredTokenVerifier::new(self.store.clone());
            BrowserSessions::new(Arc::clone(&self.sealer), tokens, base.parse().unwrap())
        }

        fn token(&self, user: &str) -> String {
            let new = NewToken { user: Some(user.to_owned()), ..NewToken::default() };
            self.store.create(new, 0).unwrap().token.id
        }
    }

    /// The headers of the next request of a browser that got `set`.
    fn request(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(pair).unwrap())])
    }

    #[test]
    fn a_session_is_of_one_principal_and_ends_with_its_token() {
        let scene = Scene::new();
        let sessions = scene.sessions("https://hub.example");
        let begin = |id: String| request(&sessions.begin(SessionProof::Token { id }).unwrap());
        let ada = scene.token("ada");
        let (of_ada, of_bob) = (begin(ada.clone()), begin(scene.token("bob")));
        assert_eq!(&**sessions.find(&of_ada).unwrap().principal().id(), "user:ada");
        assert_eq!(&**sessions.find(&of_bob).unwrap().principal().id(), "user:bob");
        let again = begin(ada.clone());
        let keys = [&of_ada, &again].map(|one| sessions.find(one).unwrap().key());
        assert_ne!(keys[0], keys[1], "two browsers of one person have one session");
        scene.store.revoke(&ada).unwrap();
        assert!(sessions.find(&of_ada).is_none(), "a session outlives its token");
        assert!(sessions.find(&of_bob).is_some());
        sessions.end(&sessions.find(&of_bob).unwrap());
        assert!(sessions.find(&of_bob).is_none(), "a session that was ended is good");
    }

    #[test]
    fn a_session_stays_ended_however_many_another_principal_ends() {
        let scene = Scene::new();
        let sessions = scene.sessions("https://hub.example");
        let id = scene.token("bob");
        let of_bob = request(&sessions.begin(SessionProof::Token { id }).unwrap());
        sessions.end(&sessions.find(&of_bob).unwrap());
        for number in 0..=MAX_ENDED_SESSIONS {
            let key = SessionKey::of_secret(&number.to_string());
            sessions.end(&BrowserSession { principal: Principal::user("ada"), key });
        }
        assert!(sessions.find(&of_bob).is_none(), "a session that was ended is good again");
    }

    #[test]
    fn a_cookie_is_sealed_for_its_address_and_its_purpose() {
        let scene = Scene::new();
        let (sessions, id) = (scene.sessions("https://hub.example"), scene.token("ada"));
        let set = sessions.begin(SessionProof::Token { id: id.clone() }).unwrap();
        let text = set.to_str().unwrap();
        assert!(text.starts_with("__Host-switchboard-session-443="), "{text}");
        assert!(
            text.ends_with("; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax; Secure"),
            "{text}"
        );
        assert!(!text.contains(&id) && !text.contains("ada"), "{text}");
        assert!(scene.sessions("https://other.example").find(&request(&set)).is_none());
        let mut twice = request(&set);
        twice.append(header::COOKIE, twice[header::COOKIE].clone());
        assert!(sessions.find(&twice).is_none(), "which of two cookies is ours cannot be told");
        // What was sealed for another purpose is no session.
        let proof = SessionProof::Token { id };
        let content = SessionCookie { secret: String::new(), proof };
        let lasts = Duration::from_secs(9);
        let kind = HandleKind::IssuerVisit;
        let other = sessions.seal_cookie(SESSION_COOKIE, kind, &content, lasts).unwrap();
        assert!(sessions.find(&request(&other)).is_none());
        let plain = scene.sessions("http://127.0.0.1:7420");
        let set = plain.begin(SessionProof::Token { id: scene.token("bob") }).unwrap();
        assert!(set.to_str().unwrap().starts_with("switchboard-session-7420="));
        assert!(plain.find(&request(&set)).is_some());
    }

    #[test]
    fn a_session_that_browsers_would_drop_does_not_begin() {
        let sessions = Scene::new().sessions("https://hub.example");
        let ada = |groups: usize| {
            let groups = (0..groups).map(|number| format!("a-group-of-the-company-{number}"));
            Principal::issued("https://is.example", "ada").with_groups(groups)
        };
        let begin = |groups| sessions.begin(SessionProof::of_issued(&ada(groups)).unwrap());
        let cookie = request(&begin(20).unwrap());
        assert_eq!(sessions.find(&cookie).unwrap().principal(), &ada(20));
        assert!(matches!(begin(200), Err(BeginSessionError::TooLarge)));
    }

    #[test]
    fn only_pages_of_this_address_change_something() {
        let sessions = Scene::new().sessions("https://hub.example:7420");
        for (origins, expected) in [
            (&["https://hub.example:7420"][..], true),
            (&[], false),
            (&["null"], false),
            (&["https://hub.example"], false),
            (&["http://hub.example:7420"], false),
            (&["https://hub.example:7420", "https://hub.example:7420"], false),
        ] {
            let mut sent = HeaderMap::new();
            for origin in origins {
                sent.append(header::ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(sessions.is_own_page(&sent), expected, "{sent:?}");
        }
    }
}
