//! Sign-in links: how a person who uses this program from another machine gets to a sign-in page and back.
//!
//! Implemented by the program that has an address of its own (`hub::access`); used by `OAuthCredentials` of a principal
//! other than the local one (`UserPresence::Elsewhere`). It does not say how the program recognises a browser.

use crate::flow::OpenSignInPage;

/// Opens sign-in links at the program's own address.
pub trait SignInLinks: Send + Sync {
    /// Opens a link for one sign-in of `principal` to `server`. `None` where the program has no address at which it
    /// could recognise a browser of that principal.
    fn open_link(&self, principal: &str, server: &str) -> Option<Box<dyn SignInLink>>;
}

/// The link of one sign-in. Its `open_page` returns what the browser of the principal came back with, or who else used
/// the link. From the call of `open_page` on the link leads to the page; dropped, it leads nowhere.
pub trait SignInLink: OpenSignInPage {
    /// The address for the person.
    fn url(&self) -> &str;
}
