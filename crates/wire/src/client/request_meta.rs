//! The sender's `_meta` of modern requests (version, client, capabilities, log level), cached as
//! text.
//!
//! Used by `request` and `request_text`. One cached value is enough: most calls of a session have
//! equal metadata. It does not insert the metadata into a request (`request_text`).

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    Version,
    json::{Raw, quote},
    meta,
};

/// The metadata that a call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestMetaParts<'a> {
    pub(crate) version: Version,
    /// The client behind the call.
    pub(crate) info: &'a Raw,
    /// The capabilities of that client.
    pub(crate) capabilities: &'a Raw,
    /// Whether the capabilities declare tasks.
    pub(crate) tasks: bool,
    pub(crate) log_level: Option<&'a str>,
}

/// The metadata as JSON text.
#[derive(Debug)]
pub(crate) struct RequestMeta {
    wanted: RequestMetaKey,
    pub(crate) version: String,
    pub(crate) capabilities: Raw,
    pub(crate) log_level: Option<String>,
    /// All metadata as one object.
    pub(crate) whole: Raw,
}

/// The parts that a cached value was built from, to compare with.
#[derive(Debug)]
struct RequestMetaKey {
    version: Version,
    info: Raw,
    capabilities: Raw,
    tasks: bool,
    log_level: Option<String>,
}

/// The metadata of the last call, reused while its parts are equal.
#[derive(Debug, Default)]
pub(crate) struct RequestMetaCache(Mutex<Option<Arc<RequestMeta>>>);

// === impl RequestMetaCache ===

impl RequestMetaCache {
    /// Returns the metadata for `wanted`. `dress` completes its capabilities.
    pub(crate) fn get_or_build(
        &self,
        wanted: RequestMetaParts<'_>,
        dress: impl FnOnce(Raw) -> Raw,
    ) -> Arc<RequestMeta> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.wanted.matches(&wanted)) {
            return Arc::clone(known);
        }
        let made = Arc::new(RequestMeta::new(wanted, dress));
        *last = Some(Arc::clone(&made));
        made
    }
}

// === impl RequestMeta ===

impl RequestMeta {
    fn new(wanted: RequestMetaParts<'_>, dress: impl FnOnce(Raw) -> Raw) -> Self {
        let wanted = RequestMetaKey::from(wanted);
        let version = quote(wanted.version.as_str());
        let capabilities = dress(wanted.capabilities.clone());
        let log_level = wanted.log_level.as_deref().map(quote);
        let mut whole = format!(
            r#"{{"{}":{version},"{}":{},"{}":{capabilities}"#,
            meta::PROTOCOL_VERSION,
            meta::CLIENT_INFO,
            wanted.info,
            meta::CLIENT_CAPABILITIES,
        );
        if let Some(level) = &log_level {
            whole.extend([r#",""#, meta::LOG_LEVEL, r#"":"#, level]);
        }
        whole.push('}');
        Self { wanted, version, capabilities, log_level, whole: Raw::from_trusted(whole.into()) }
    }

    pub(crate) fn info(&self) -> &str {
        self.wanted.info.as_str()
    }
}

// === impl RequestMetaKey ===

impl RequestMetaKey {
    fn matches(&self, wanted: &RequestMetaParts<'_>) -> bool {
        self.version == wanted.version
            && self.tasks == wanted.tasks
            && self.log_level.as_deref() == wanted.log_level
            && self.capabilities.as_str() == wanted.capabilities.as_str()
            && self.info.as_str() == wanted.info.as_str()
    }
}

impl From<RequestMetaParts<'_>> for RequestMetaKey {
    fn from(wanted: RequestMetaParts<'_>) -> Self {
        Self {
            version: wanted.version,
            // Copied, so that the cache does not keep the whole message alive.
            info: wanted.info.to_detached(),
            capabilities: wanted.capabilities.to_detached(),
            tasks: wanted.tasks,
            log_level: wanted.log_level.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_declare_different_things_are_not_mixed_up() {
        let raw = |text: &str| Raw::parse(text.to_owned()).unwrap();
        let infos = [r#"{"name":"a"}"#, r#"{"name":"b"}"#].map(raw);
        let capabilities = [r#"{"roots":{}}"#, "{}"].map(raw);
        let last = RequestMetaCache::default();
        let mut seen = std::collections::HashSet::new();
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            for (info, capabilities) in
                infos.iter().flat_map(|info| capabilities.each_ref().map(|can| (info, can)))
            {
                for (tasks, log_level) in
                    [(false, None), (true, None), (true, Some("info")), (true, Some("debug"))]
                {
                    let wanted = RequestMetaParts { version, info, capabilities, tasks, log_level };
                    let dress = |given: Raw| {
                        if tasks { raw(&format!(r#"{{"given":{given}}}"#)) } else { given }
                    };
                    let sent = last.get_or_build(wanted, dress);
                    let again = last.get_or_build(wanted, |_| panic!("it is known"));
                    assert_eq!(sent.whole.as_str(), again.whole.as_str());
                    assert_eq!(sent.info(), info.as_str());
                    let member = |name| sent.whole.get(name).unwrap();
                    let text = |name| member(name).map(|found| found.as_str().to_owned());
                    assert_eq!(text(meta::PROTOCOL_VERSION).as_ref(), Some(&sent.version));
                    assert_eq!(text(meta::CLIENT_INFO).as_deref(), Some(info.as_str()));
                    assert_eq!(
                        text(meta::CLIENT_CAPABILITIES).as_deref(),
                        Some(dress(capabilities.clone()).as_str())
                    );
                    assert_eq!(text(meta::LOG_LEVEL), log_level.map(quote));
                    assert!(seen.insert(sent.whole.as_str().to_owned()), "{}", sent.whole);
                }
            }
        }
    }
}
