//! Commands a person runs around calls.
