//! Which addresses the name of a host may stand for.
//!
//! Names are judged when they are resolved, for the very connection that is made: a name that is harmless when looked at
//! and means something else a moment later gains nothing. An address written in a URL is not resolved, so whoever
//! restricts the reach looks at those.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Which addresses are connected to.
#[derive(Clone, Default)]
pub enum Reach {
    /// All of them.
    #[default]
    Anywhere,
    /// Those that this says yes to.
    Only(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>),
}

struct Judging(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

// === impl Reach ===

impl Reach {
    pub(super) fn apply(&self, builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        match self {
            Self::Anywhere => builder,
            Self::Only(allowed) => builder.dns_resolver(Arc::new(Judging(allowed.clone()))),
        }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anywhere => "Anywhere",
            Self::Only(_) => "Only(..)",
        })
    }
}

// === impl Judging ===

impl Resolve for Judging {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let kept: Vec<SocketAddr> = found.filter(|found| allowed(found.ip())).collect();
            if kept.is_empty() {
                let why = format!("`{}` has no address that may be reached", name.as_str());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why).into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}
