//! Estimates the effort of a schema check before it runs.
//!
//! Used by `schema`. A small schema can take exponential time: each definition refers twice to the next, or a
//! schema refers twice to itself one level down. This walk takes the steps of the check, without the checking, and
//! gives up at a limit.

use serde_json::Value;

use super::graph::{SchemaGraph, SchemaNode};

/// How many pairs of schema and value one check may visit; about a tenth of a second.
const MAX_CHECK_STEPS: usize = 200_000;
/// How many more pairs for each byte of arguments: long lists are legitimate.
const STEPS_PER_BYTE: usize = 10;
/// How deep the check may recurse. Each level costs stack.
const MAX_CHECK_LEVELS: usize = 320;

/// The check would take too long or too much stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuchWork;

/// Checks that validating `value`, written in `bytes`, stays within the limits.
pub(super) fn check_effort(
    graph: &SchemaGraph,
    value: &Value,
    bytes: usize,
) -> Result<(), TooMuchWork> {
    // A schema without references visits each value at most once.
    if !graph.unfolds {
        return Ok(());
    }
    let left = MAX_CHECK_STEPS + STEPS_PER_BYTE * bytes;
    EffortWalk { graph, left, level: 0, path: Vec::new() }.meet(0, value)
}

struct EffortWalk<'g> {
    graph: &'g SchemaGraph,
    left: usize,
    level: usize,
    /// The schemas and values on the current path.
    path: Vec<(usize, usize)>,
}

// === impl EffortWalk ===

impl EffortWalk<'_> {
    fn meet(&mut self, schema: usize, value: &Value) -> Result<(), TooMuchWork> {
        let identity = std::ptr::from_ref(value).addr();
        let mut same_value = self.path.iter().rev().take_while(|(_, at)| *at == identity);
        if same_value.any(|(at, _)| *at == schema) {
            return Ok(());
        }
        if self.left == 0 || self.level == MAX_CHECK_LEVELS {
            return Err(TooMuchWork);
        }
        self.left -= 1;
        self.level += 1;
        self.path.push((schema, identity));
        let met = self.descend(&self.graph.nodes[schema], value);
        self.path.pop();
        self.level -= 1;
        met
    }

    fn descend(&mut self, node: &SchemaNode, value: &Value) -> Result<(), TooMuchWork> {
        // The validator visits the schemas once to check, once to find the matching branches, and once to collect
        // the evaluated members.
        let rounds = if node.asks_again { 3 } else { 1 };
        for _ in 0..rounds {
            self.all(&node.here, value)?;
        }
        match value {
            Value::Object(map) => map.iter().try_for_each(|(name, member)| {
                self.all(node.members.get(name).map_or(&[][..], Vec::as_slice), member)?;
                self.all(&node.every_member, member)
            }),
            Value::Array(list) => list.iter().try_for_each(|item| self.all(&node.every_item, item)),
            _ => Ok(()),
        }
    }

    fn all(&mut self, schemas: &[usize], value: &Value) -> Result<(), TooMuchWork> {
        schemas.iter().try_for_each(|schema| self.meet(*schema, value))
    }
}
