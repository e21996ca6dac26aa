//! A result that is sent many times, for example a long list, rendered once for each era.
//!
//! Used by `gateway::bridge::lists`. It does not decide when a list is out of date: the handler makes a new value.

use std::sync::{Arc, OnceLock};

use bytestring::ByteString;

use super::render;
use crate::{Era, envelope::RpcError, json::Raw};

/// A result to be sent many times, always for one method of one server. Clones share it.
#[derive(Debug, Clone)]
pub struct PrerenderedResult(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    result: Raw,
    legacy: OnceLock<ByteString>,
    modern: OnceLock<ByteString>,
}

// === impl PrerenderedResult ===

impl PrerenderedResult {
    /// A result that is rendered when it is first sent.
    pub fn new(result: Raw) -> Self {
        Self(Arc::new(Inner { result, legacy: OnceLock::new(), modern: OnceLock::new() }))
    }

    /// Returns the text for an era. A failed rendering is tried again each time.
    pub(super) fn render(
        &self,
        era: Era,
        asked: &str,
        info: impl FnOnce() -> Raw,
    ) -> Result<ByteString, RpcError> {
        let rendered = match era {
            Era::Legacy => &self.0.legacy,
            Era::Modern => &self.0.modern,
        };
        if let Some(rendered) = rendered.get() {
            return Ok(rendered.clone());
        }
        let made = render::result(era, asked, &self.0.result, info)?.into_text();
        Ok(rendered.get_or_init(|| made).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::method;

    #[test]
    fn each_era_has_its_own_and_has_it_once() {
        let given = Raw::parse(r#"{"tools":[],"ttlMs":5}"#.to_owned()).unwrap();
        let repeated = PrerenderedResult::new(given);
        let info = || Raw::parse(r#"{"name":"s"}"#.to_owned()).unwrap();
        for (era, expected) in [
            (Era::Legacy, r#"{"tools":[]}"#),
            (
                Era::Modern,
                concat!(
                    r#"{"tools":[],"ttlMs":5,"resultType":"complete","cacheScope":"private","#,
                    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#
                ),
            ),
        ] {
            let [one, other] =
                [(); 2].map(|()| repeated.clone().render(era, method::TOOLS_LIST, info).unwrap());
            assert_eq!(one, expected);
            assert_eq!(one.as_ptr(), other.as_ptr(), "rendered once");
        }
    }
}
