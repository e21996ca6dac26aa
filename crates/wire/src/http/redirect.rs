//! Redirect rules: an unchanged origin, an unchanged method, five redirects at most.
//!
//! Used by `send` and `endpoint`. It sends no request.

use http::header::LOCATION;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::{HttpError, RedirectRefusal, RequestSummary, redact_url};

/// The most redirects in a row that are followed.
const MAX_REDIRECTS: usize = 5;

/// How a request treats redirects, and how many it has followed.
pub(super) enum RedirectMode {
    Follow { seen: usize },
    Refuse,
}

impl RedirectMode {
    /// Returns the next URL after `from`, for a response that is a redirect.
    pub(super) fn next(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        method: &Method,
        from: &Url,
    ) -> Result<Url, HttpError> {
        let target = headers
            .get(LOCATION)
            .and_then(|location| location.to_str().ok())
            .and_then(|location| from.join(location).ok());
        match self.refusal(status, target.as_ref(), method, from) {
            None => Ok(target.unwrap_or_else(|| from.clone())),
            Some(reason) => Err(HttpError::Redirect {
                doing: RequestSummary::new(method.clone(), from),
                to: target.as_ref().map(redact_url).unwrap_or_default(),
                reason,
            }),
        }
    }

    fn refusal(
        &mut self,
        status: StatusCode,
        target: Option<&Url>,
        method: &Method,
        from: &Url,
    ) -> Option<RedirectRefusal> {
        let Some(target) = target else {
            return Some(RedirectRefusal::NoLocation);
        };
        let Self::Follow { seen } = self else {
            return Some(RedirectRefusal::NotFollowed);
        };
        if target.origin() != from.origin() {
            return Some(RedirectRefusal::OtherOrigin);
        }
        if *method != Method::GET && !keeps_method(status) {
            return Some(RedirectRefusal::MethodWouldChange);
        }
        *seen += 1;
        (*seen > MAX_REDIRECTS).then_some(RedirectRefusal::TooMany)
    }
}

/// Whether the status is a redirect. 300 and 304 are not: they ask for a choice or a cache.
pub(super) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn keeps_method(status: StatusCode) -> bool {
    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}
