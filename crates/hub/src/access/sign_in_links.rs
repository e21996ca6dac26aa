//! Sign-in links: each leads the browser of one principal to the sign-in page of a server, and takes it back.
//!
//! A link is good for one sign-in, while that is under way. It serves browsers of its principal alone: when the browser
//! of anybody else opens the link or comes back from the page, the link ends, and both are told. Links live in memory.
//!
//! Used by `credentials`, where a sign-in begins, and by `sign_in_pages`, which shows the pages. It does not recognise
//! browsers (`browser_session`).

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};
use switchboard_auth::{OpenSignInPage, SignInLink, SignInPageOutcome};
use switchboard_core::principal::{ANYONE_PRINCIPAL, Principal};
use tokio::sync::oneshot;
use url::Url;

/// The path of links; the word of a link follows.
pub(crate) const LINK_PATH: &str = "/sign-in/link/";
/// The path that authorization servers send browsers back to.
pub(crate) const CALLBACK_PATH: &str = "/sign-in/callback";

const WORD_BYTES: usize = 32;

/// The links of a hub, and the addresses at which it has pages. Clones share them.
#[derive(Clone, Default)]
pub struct SignInLinkTable(Arc<Mutex<LinkTable>>);

#[derive(Default)]
struct LinkTable {
    /// Oldest first: a link leads to the address that has been served for the longest time.
    addresses: Vec<Arc<PageAddress>>,
    /// At most one for each principal and server: a second call joins the sign-in that is under way.
    links: HashMap<LinkKey, OpenLink>,
}

/// An address at which browsers are recognised.
struct PageAddress {
    /// The origin under which browsers know it.
    base: Url,
    /// The issuer whose tokens are accepted there.
    issuer: Option<String>,
}

/// The digest of a link's word: the table holds no word that could be read out of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LinkKey([u8; 32]);

struct OpenLink {
    principal: Arc<str>,
    server: String,
    /// The page, once the sign-in knows it.
    page: Option<OpenPage>,
}

/// A page that the sign-in waits for.
struct OpenPage {
    url: Url,
    /// The `state` of its authorization request, with which the browser comes back.
    state: String,
    answer: oneshot::Sender<SignInPageOutcome>,
}

/// Announces an address while it is held.
#[must_use = "dropped, no link leads to the address"]
pub(crate) struct PageAddressLease {
    table: SignInLinkTable,
    address: Arc<PageAddress>,
}

/// The page that a link leads its own principal to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkedPage {
    /// The server that the person signs in to.
    pub(crate) server: String,
    /// The page of the server's authorization server.
    pub(crate) url: Url,
}

/// Why a browser gets no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkRefusal {
    /// There is no such sign-in, or it has ended.
    Unknown,
    /// The sign-in is somebody else's. It has ended now.
    OfAnother,
}

/// The link that a sign-in holds.
struct IssuedLink {
    table: SignInLinkTable,
    key: LinkKey,
    url: String,
    redirect: String,
}

// === impl SignInLinkTable ===

impl SignInLinkTable {
    /// Announces that browsers are recognised at `base`, those of principals of `issuer` included.
    pub(crate) fn add_address(&self, base: Url, issuer: Option<String>) -> PageAddressLease {
        let address = Arc::new(PageAddress { base, issuer });
        self.lock().addresses.push(Arc::clone(&address));
        PageAddressLease { table: self.clone(), address }
    }

    /// Returns where the link with this word leads a browser of `visitor`.
    pub(crate) fn visit(&self, word: &str, visitor: &Principal) -> Result<LinkedPage, LinkRefusal> {
        let key = LinkKey::of_word(word);
        let mut table = self.lock();
        let link = table.links.get(&key).ok_or(LinkRefusal::Unknown)?;
        if link.principal != *visitor.id() {
            table.end_misused(key, Some(visitor));
            return Err(LinkRefusal::OfAnother);
        }
        let page = link.page.as_ref().ok_or(LinkRefusal::Unknown)?;
        Ok(LinkedPage { server: link.server.clone(), url: page.url.clone() })
    }

    /// Whether there is a link with this word.
    pub(crate) fn has_link(&self, word: &str) -> bool {
        self.lock().links.contains_key(&LinkKey::of_word(word))
    }

    /// Takes back a browser of `visitor` that was at the page whose request had this `state`, and passes on the
    /// `address` that it came to. Returns the name of the server.
    pub(crate) fn come_back(
        &self,
        state: &str,
        address: &Url,
        visitor: Option<&Principal>,
    ) -> Result<String, LinkRefusal> {
        let mut table = self.lock();
        let is_its = |link: &OpenLink| link.page.as_ref().is_some_and(|page| page.state == state);
        let found = table.links.iter().find(|(_, link)| is_its(link));
        let (key, principal) = found
            .map(|(key, link)| (*key, Arc::clone(&link.principal)))
            .ok_or(LinkRefusal::Unknown)?;
        if visitor.is_none_or(|visitor| *visitor.id() != principal) {
            table.end_misused(key, visitor);
            return Err(LinkRefusal::OfAnother);
        }
        let link = table.links.remove(&key).ok_or(LinkRefusal::Unknown)?;
        let page = link.page.ok_or(LinkRefusal::Unknown)?;
        let passed_on = page.answer.send(SignInPageOutcome::Pasted(address.to_string()));
        passed_on.map(|()| link.server).map_err(|_| LinkRefusal::Unknown)
    }

    fn lock(&self) -> MutexGuard<'_, LinkTable> {
        self.0.lock()
    }
}

impl fmt::Debug for SignInLinkTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInLinkTable").finish_non_exhaustive()
    }
}

impl switchboard_auth::SignInLinks for SignInLinkTable {
    fn open_link(&self, principal: &str, server: &str) -> Option<Box<dyn SignInLink>> {
        let word = random_word().ok()?;
        let mut table = self.lock();
        let address = table.addresses.iter().find(|address| address.recognises(principal))?;
        let page = |path: &str| Some(address.base.join(path).ok()?.to_string());
        let (url, redirect) = (page(&format!("{LINK_PATH}{word}"))?, page(CALLBACK_PATH)?);
        let key = LinkKey::of_word(&word);
        let link = OpenLink { principal: principal.into(), server: server.to_owned(), page: None };
        table.links.insert(key, link);
        Some(Box::new(IssuedLink { table: self.clone(), key, url, redirect }))
    }
}

// === impl LinkTable ===

impl LinkTable {
    /// Ends a link that a browser of `visitor` used, which is not its own. `None`: the browser is signed out.
    fn end_misused(&mut self, key: LinkKey, visitor: Option<&Principal>) {
        let Some(link) = self.links.remove(&key) else { return };
        let by = visitor
            .map_or("a browser that is not signed in here".to_owned(), |it| format!("`{it}`"));
        tracing::warn!(by, owner = %link.principal, server = link.server, "a sign-in link was misused");
        // A sign-in that has ended needs no word of it.
        let _ = link.page.map(|page| page.answer.send(SignInPageOutcome::Misused { by }));
    }
}

// === impl PageAddress ===

impl PageAddress {
    /// Whether a browser of the principal with this id can be recognised here: principals of an issuer have a space in
    /// their ids, after the issuer.
    fn recognises(&self, principal: &str) -> bool {
        match principal.split_once(' ') {
            Some((issuer, _)) => self.issuer.as_deref() == Some(issuer),
            None => principal != ANYONE_PRINCIPAL,
        }
    }
}

// === impl PageAddressLease ===

impl Drop for PageAddressLease {
    fn drop(&mut self) {
        self.table.lock().addresses.retain(|address| !Arc::ptr_eq(address, &self.address));
    }
}

// === impl LinkKey ===

impl LinkKey {
    fn of_word(word: &str) -> Self {
        Self(Sha256::digest(word).into())
    }
}

// === impl IssuedLink ===

impl SignInLink for IssuedLink {
    fn url(&self) -> &str {
        &self.url
    }
}

impl OpenSignInPage for IssuedLink {
    fn redirect(&self) -> Option<&str> {
        Some(&self.redirect)
    }

    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let (answer, coming) = oneshot::channel();
        let state = url.query_pairs().find(|(name, _)| name == "state");
        let state = state.map(|(_, state)| state.into_owned()).unwrap_or_default();
        if let Some(link) = self.table.lock().links.get_mut(&self.key) {
            link.page = Some(OpenPage { url: url.clone(), state, answer });
        }
        Box::pin(async move { Ok(coming.await?) })
    }
}

impl Drop for IssuedLink {
    fn drop(&mut self) {
        self.table.lock().links.remove(&self.key);
    }
}

fn random_word() -> io::Result<String> {
    let mut bytes = [0; WORD_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use switchboard_auth::SignInLinks as _;

    use super::*;

    const BASE: &str = "https://hub.example/";

    fn page() -> Url {
        "https://as.example/authorize?client_id=c&state=s1".parse().unwrap()
    }

    fn back(state: &str) -> (String, Url) {
        let url = format!("{BASE}sign-in/callback?code=c&state={state}");
        (state.to_owned(), url.parse().unwrap())
    }

    fn word(link: &dyn SignInLink) -> String {
        link.url().strip_prefix("https://hub.example/sign-in/link/").unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_link_leads_its_principal_to_the_page_and_back_once() {
        let table = SignInLinkTable::default();
        let _address = table.add_address(BASE.parse().unwrap(), None);
        let ada = Principal::user("ada");
        let link = table.open_link("user:ada", "web").unwrap();
        assert_eq!(link.redirect(), Some("https://hub.example/sign-in/callback"));
        let (word, page) = (word(&*link), page());
        assert_eq!(table.visit(&word, &ada), Err(LinkRefusal::Unknown), "there is no page yet");
        let coming = link.open_page(&page);
        let linked = LinkedPage { server: "web".to_owned(), url: page.clone() };
        assert_eq!(table.visit(&word, &ada), Ok(linked));
        let (state, address) = back("s2");
        assert_eq!(table.come_back(&state, &address, Some(&ada)), Err(LinkRefusal::Unknown));
        let (state, address) = back("s1");
        assert_eq!(table.come_back(&state, &address, Some(&ada)).as_deref(), Ok("web"));
        assert_eq!(coming.await.unwrap(), SignInPageOutcome::Pasted(address.to_string()));
        assert_eq!(table.come_back(&state, &address, Some(&ada)), Err(LinkRefusal::Unknown));
        assert_eq!(table.visit(&word, &ada), Err(LinkRefusal::Unknown));
    }

    #[tokio::test]
    async fn a_link_that_somebody_else_uses_ends_and_its_owner_is_told() {
        let (ada, bob) = (Principal::user("ada"), Principal::user("bob"));
        // Another opens it, another comes back from the page, and a browser that is signed out comes back.
        for (opens, comes_back) in
            [(Some(&bob), None), (None, Some(Some(&bob))), (None, Some(None))]
        {
            let table = SignInLinkTable::default();
            let _address = table.add_address(BASE.parse().unwrap(), None);
            let link = table.open_link("user:ada", "web").unwrap();
            let (word, page) = (word(&*link), page());
            let coming = link.open_page(&page);
            let (state, address) = back("s1");
            if let Some(visitor) = opens {
                assert_eq!(table.visit(&word, visitor), Err(LinkRefusal::OfAnother));
            }
            if let Some(visitor) = comes_back {
                let refused = table.come_back(&state, &address, visitor);
                assert_eq!(refused, Err(LinkRefusal::OfAnother));
            }
            assert!(matches!(coming.await.unwrap(), SignInPageOutcome::Misused { .. }));
            assert_eq!(table.visit(&word, &ada), Err(LinkRefusal::Unknown));
            let again = table.come_back(&state, &address, Some(&ada));
            assert_eq!(again, Err(LinkRefusal::Unknown), "its owner can finish it");
        }
    }

    #[test]
    fn links_are_for_principals_that_can_be_recognised_and_end_with_their_sign_in() {
        let table = SignInLinkTable::default();
        assert!(table.open_link("user:ada", "web").is_none(), "no address is served");
        let address =
            table.add_address(BASE.parse().unwrap(), Some("https://is.example".to_owned()));
        for (principal, expected) in [
            ("user:ada", true),
            ("nightly@1a2b", true),
            ("https://is.example 0a1b", true),
            ("https://other.example 0a1b", false),
            ("anyone", false),
        ] {
            assert_eq!(table.open_link(principal, "web").is_some(), expected, "{principal}");
        }
        let link = table.open_link("user:ada", "web").unwrap();
        let word = word(&*link);
        assert!(table.has_link(&word));
        drop(link);
        assert!(!table.has_link(&word), "a link outlives its sign-in");
        drop(address);
        assert!(table.open_link("user:ada", "web").is_none());
    }
}
