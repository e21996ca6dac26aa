//! Finding tools by words (BM25 over weighted fields).
//!
//! The same catalog and the same query give the same answer: words are summed up in one order, and tools that fit
//! equally well are ordered by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{ListedTool, NameStyle, word_split::words};

/// How much a repeated word adds.
const SATURATION: f64 = 1.2;

/// How much a long text is held against its words.
const LENGTH_WEIGHT: f64 = 0.75;

/// A tool that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolHit {
    /// Its full name.
    pub name: String,
    /// How well it fits; comparable within one answer only.
    pub score: f64,
}

/// What words stand where.
#[derive(Debug)]
pub(super) struct SearchIndex {
    /// For each word the tools that have it, and its weight there.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// How long each tool's text is, compared with all.
    lengths: Vec<f64>,
    /// The names by which a tool is meant exactly.
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
        // Who knows a tool's name wants that tool.
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

    /// A word that few tools have says more.
    fn rarity(&self, having: usize) -> f64 {
        let (all, having) = (count(self.lengths.len()), count(having));
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }
}

/// The words of a tool, and how much each counts.
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
