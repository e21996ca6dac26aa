//! The URI of a spilled result, `switchboard://results/<id>`, for clients that cannot read files of this machine.
//!
//! Used by `results::note`, which writes it into results, and by `gateway::bridge::gateway_tools`, which parses it.
//! It does not read the file (`results::store` does).

use std::fmt;

use url::Url;

use super::SearchPattern;

/// The address of a spilled result, or of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultAddress {
    /// The id of the result.
    pub id: String,
    /// The part that is asked for.
    pub want: ResultQuery,
}

/// The part of a spilled result that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultQuery {
    /// The whole result, as far as it fits.
    Whole,
    /// A range of bytes.
    Part {
        /// The first byte.
        offset: u64,
        /// The length in bytes.
        length: usize,
    },
    /// The lines that match a pattern.
    Search(SearchPattern),
}

// === impl ResultAddress ===

impl ResultAddress {
    /// Makes the address of the whole result `id`.
    pub fn whole(id: &str) -> Self {
        Self { id: id.to_owned(), want: ResultQuery::Whole }
    }

    /// Parses a URI; `None` if it does not name a result.
    pub fn parse(uri: &str) -> Option<Self> {
        let url = Url::parse(uri).ok()?;
        if url.scheme() != "switchboard" || url.host_str() != Some("results") {
            return None;
        }
        let id = url.path().strip_prefix('/')?.to_owned();
        let value = |key: &str| url.query_pairs().find(|(name, _)| name == key);
        let number = |key: &str| value(key).map(|(_, text)| text.parse::<u64>());
        let want = if let Some((_, text)) = value("search") {
            ResultQuery::Search(SearchPattern::Text(text.into_owned()))
        } else if let Some((_, regex)) = value("regex") {
            ResultQuery::Search(SearchPattern::Regex(regex.into_owned()))
        } else {
            match (number("offset").transpose().ok()?, number("length").transpose().ok()?) {
                (None, None) => ResultQuery::Whole,
                (offset, length) => ResultQuery::Part {
                    offset: offset.unwrap_or(0),
                    length: usize::try_from(length.unwrap_or(u64::MAX)).unwrap_or(usize::MAX),
                },
            }
        };
        Some(Self { id, want })
    }

    pub(super) fn part(&self, offset: u64, length: usize) -> String {
        format!("{self}?offset={offset}&length={length}")
    }

    pub(super) fn search(&self, text: &str) -> String {
        format!("{self}?search={text}")
    }
}

/// The URI without the query.
impl fmt::Display for ResultAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switchboard://results/{}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let address = ResultAddress::whole("abc");
        let want = |uri: &str| ResultAddress::parse(uri).map(|address| address.want);
        assert_eq!(ResultAddress::parse(&address.to_string()), Some(address.clone()));
        assert_eq!(want(&address.part(5, 7)), Some(ResultQuery::Part { offset: 5, length: 7 }));
        let text = SearchPattern::Text("a b".into());
        assert_eq!(want(&address.search("a%20b")), Some(ResultQuery::Search(text)));
        for other in ["switchboard://other/x", "file:///x", "switchboard://results/x?offset=-1"] {
            assert_eq!(ResultAddress::parse(other), None, "{other}");
        }
    }
}
