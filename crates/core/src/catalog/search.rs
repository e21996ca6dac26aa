//! Search for tools by words (BM25 over weighted fields).
//!
//! Used by `Catalog::search`, for the gateway's search tool, agent loops and the commands. Results are
//! deterministic: words are summed up in a fixed order, and tools with equal scores are ordered by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{ListedTool, NameStyle, word_split::words};

/// BM25's k1: how much a repeated word adds.
const SATURATION: f64 = 1.2;

/// BM25's b: how much a long text lowers the weight of its words.
const LENGTH_WEIGHT: f64 = 0.75;

/// A tool that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolHit {
    /// The full name.
    pub name: String,
    /// The score; comparable within one result only.
    pub score: f64,
}

/// The inverted index of a catalog's tools.
#[derive(Debug)]
pub(super) struct SearchIndex {
    /// For each word, the tools that contain it and its weight there.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// The length of each tool's text, relative to the average.
    lengths: Vec<f64>,
    /// The names that mean a tool exactly.
    exact: HashMap<String, Vec<usize>>,
}

// === impl SearchIndex ===

impl SearchIndex {
    pub(super) fn of(tools: &[Arc<ListedTool>]) -> Self {
        let mut index =
            Self { postings: HashMap::new(), lengths: Vec::new(), exact: HashMap::new() };
        for (place, listed) in tools.iter().enumerate() {
            let weights = weights(listed);
            index.lengths.push(weights.values().sum());
            for (word, weight) in weights {
                index.postings.entry(word).or_default().push((place, weight));
            }
            let gateway = listed.label.name(NameStyle::Gateway);
            for name in BTreeSet::from([listed.name.clone(), gateway, listed.tool.name.clone()]) {
                index.exact.entry(name).or_default().push(place);
            }
        }
        let average = index.lengths.iter().sum::<f64>() / count(index.lengths.len().max(1));
        index.lengths.iter_mut().for_each(|length| *length /= average.max(f64::MIN_POSITIVE));
        index
    }

    pub(super) fn search(
        &self,
        tools: &[Arc<ListedTool>],
        query: &str,
        limit: usize,
    ) -> Vec<ToolHit> {
        let mut scores = self.scores(query);
        let best = scores.values().copied().fold(0.0, f64::max);
        // A query that is a tool's exact name ranks that tool first.
        for place in self.exact.get(query.trim()).into_iter().flatten() {
            *scores.entry(*place).or_default() += best + 1.0;
        }
        let hit = |(place, score): (usize, f64)| ToolHit { name: tools[place].name.clone(), score };
        let mut hits: Vec<_> = scores.into_iter().map(hit).collect();
        hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
        hits.truncate(limit);
        hits
    }

    fn scores(&self, query: &str) -> BTreeMap<usize, f64> {
        let mut scores = BTreeMap::new();
        for word in words(query).into_iter().collect::<BTreeSet<_>>() {
            let postings = self.postings.get(&word).map_or(&[][..], Vec::as_slice);
            let rarity = self.rarity(postings.len());
            for (place, weight) in postings {
                let pressure =
                    SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * self.lengths[*place]);
                let fit = weight * (SATURATION + 1.0) / (weight + pressure);
                *scores.entry(*place).or_default() += rarity * fit;
            }
        }
        scores
    }

    /// The inverse document frequency: a word that few tools have counts more.
    fn rarity(&self, having: usize) -> f64 {
        let (all, having) = (count(self.lengths.len()), count(having));
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }
}

/// The words of a tool, and their weights.
fn weights(listed: &ListedTool) -> BTreeMap<String, f64> {
    let tool = &*listed.tool;
    let parameters = tool.parameters().join(" ");
    let fields = [
        (&*tool.name, 4.0),
        (listed.server(), 2.0),
        (tool.title.as_deref().unwrap_or_default(), 3.0),
        (tool.meta.search_hint.as_deref().unwrap_or_default(), 3.0),
        (tool.description.as_deref().unwrap_or_default(), 1.0),
        (&*parameters, 0.5),
    ];
    let mut weights = BTreeMap::new();
    for (text, weight) in fields {
        for word in words(text) {
            *weights.entry(word).or_default() += weight;
        }
    }
    weights
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 tools")]
fn count(tools: usize) -> f64 {
    tools as f64
}
