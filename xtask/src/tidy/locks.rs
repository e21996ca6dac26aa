//! The check of locks: product code takes those of `parking_lot`, whose `lock()` has no error to ignore.
//!
//! Used by `cargo xtask tidy`. It does not judge `xtask`, tests and the testkit, nor the locks of tokio.

/// The error of the standard library's locks; two words, so that this file does not hold it.
const POISON: &str = concat!("Poison", "Error");
/// The locks that the standard library and `parking_lot` both have.
const LOCKS: [&str; 3] = ["Condvar", "Mutex", "RwLock"];

/// Returns the problems of a source file.
pub(super) fn check(file: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.contains(POISON) {
        problems.push(format!("{file}: `parking_lot` has the locks; there is no poison to ignore"));
    }
    let paths = text.split("std::sync::").skip(1);
    let by_path = paths.filter_map(lock_at);
    let imported = text.split("use std::{").skip(1).filter_map(|rest| {
        let list = rest.split_once(';').map_or(rest, |(list, _)| list);
        list.split("sync::").skip(1).find_map(lock_at)
    });
    problems.extend(by_path.chain(imported).map(|lock| {
        format!("{file}: `std::sync::{lock}`; use `parking_lot::{lock}`, which is never poisoned")
    }));
    problems
}

/// The lock that a path or a list in braces begins with or holds.
fn lock_at(rest: &str) -> Option<&'static str> {
    let end = if rest.starts_with('{') {
        rest.find('}')
    } else {
        rest.find(|c: char| !c.is_alphanumeric())
    };
    let mut words = rest[..end.unwrap_or(rest.len())].split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| LOCKS.into_iter().find(|lock| *lock == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_the_standard_library_are_refused() {
        let check = |text: &str, problems: usize| {
            assert_eq!(check("a.rs", text).len(), problems, "{text}");
        };
        check(&format!("use std::sync::{POISON};\n"), 1);
        check("use std::sync::Mutex;\n", 1);
        check("use std::sync::{Arc, RwLock};\n", 1);
        check("use std::{\n    fmt,\n    sync::{\n        Arc, Mutex,\n    },\n};\n", 1);
        check("static A: std::sync::Mutex<u8> = x;\n", 1);
        check("use std::sync::{Arc, OnceLock};\nuse parking_lot::Mutex;\n", 0);
        check("use std::{fmt, sync::Arc};\nuse tokio::{sync::Mutex};\n", 0);
        check("use std::sync::MutexGuard;\n", 0);
    }
}
