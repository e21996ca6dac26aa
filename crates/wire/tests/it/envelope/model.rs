//! A slow model of splicing: lists both objects member by member and compares them.
//!
//! Used by `laws` and by the fuzz target.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use switchboard_wire::json::{JsonEdit, JsonMembers};

/// An edit with owned strings.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) path: Vec<String>,
    /// The new value; `None` removes the member.
    pub(crate) value: Option<String>,
}

impl Change {
    pub(crate) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    fn inner(&self) -> Option<Self> {
        let (_, path) = self.path.split_first()?;
        (!path.is_empty()).then(|| Self { path: path.to_vec(), value: self.value.clone() })
    }
}

/// Converts the changes to [`JsonEdit`]s.
pub(crate) fn edits<'a>(changes: &'a [Change], paths: &'a [Vec<&'a str>]) -> Vec<JsonEdit<'a>> {
    changes
        .iter()
        .zip(paths)
        .map(|(change, path)| match &change.value {
            Some(value) => JsonEdit::set(path, value),
            None => JsonEdit::remove(path),
        })
        .collect()
}

/// Whether no path begins another: otherwise the order of edits would matter.
pub(crate) fn are_apart(changes: &[Change]) -> bool {
    changes.iter().enumerate().all(|(index, one)| {
        let others = changes.iter().enumerate().filter(|(i, _)| *i != index);
        others.map(|(_, other)| other).all(|other| !other.path.starts_with(&one.path))
    })
}

/// The members of an object, with decoded keys and values as written. `None` if it is no object, or
/// has keys without a text.
fn list(object: &str) -> Option<Vec<(String, String)>> {
    struct Listed(Vec<(String, String)>);

    struct Listing;

    impl<'de> Visitor<'de> for Listing {
        type Value = Listed;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Listed, A::Error> {
            let mut members = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((key, value.get().to_owned()));
            }
            Ok(Listed(members))
        }
    }

    impl<'de> Deserialize<'de> for Listed {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Listing)
        }
    }

    serde_json::from_str::<Listed>(object).ok().map(|listed| listed.0)
}

/// Whether the model can read `object`.
pub(crate) fn can_tell(object: &str) -> bool {
    list(object).is_some_and(|members| {
        members.iter().all(|(_, value)| !value.starts_with('{') || can_tell(value))
    })
}

/// Whether splicing must refuse: a member to change occurs twice, or is no object.
pub(crate) fn refuses(object: &str, changes: &[Change]) -> bool {
    let Some(members) = list(object) else {
        return true;
    };
    changes.iter().any(|change| {
        let values: Vec<_> = members
            .iter()
            .filter(|(key, _)| *key == change.path[0])
            .map(|(_, value)| value.as_str())
            .collect();
        match (values.as_slice(), change.inner()) {
            ([], _) | ([_], None) | (["null"], Some(_)) => false,
            ([value], Some(inner)) if value.starts_with('{') => refuses(value, &[inner]),
            ([_], Some(inner)) => inner.value.is_some(),
            _ => true,
        }
    })
}

/// Panics unless `new` is `old` with `changes` made and nothing else different.
pub(crate) fn check(old: &str, new: &str, changes: &[Change]) {
    let before = list(old).expect("the old object can be listed");
    let mut after = list(new).expect("the new object can be listed").into_iter();
    for (key, value) in &before {
        expect_kept(key, value, &about(key, changes), &mut after);
    }
    let mut added: Vec<&str> = Vec::new();
    for change in changes.iter().filter(|change| change.value.is_some()) {
        let key = change.path[0].as_str();
        if added.contains(&key) || before.iter().any(|(other, _)| other == key) {
            continue;
        }
        added.push(key);
        expect_kept(key, "null", &about(key, changes), &mut after);
    }
    assert_eq!(after.next(), None, "more came out than went in: {new}");
    check_spelling(old, new, changes);
}

fn about(key: &str, changes: &[Change]) -> Vec<Change> {
    let mine = changes.iter().filter(|change| change.path[0] == key);
    mine.cloned().collect()
}

fn expect_kept(
    key: &str,
    value: &str,
    changes: &[Change],
    after: &mut impl Iterator<Item = (String, String)>,
) {
    let inner: Vec<_> = changes.iter().filter_map(Change::inner).collect();
    let expected = match (changes.first(), inner.is_empty()) {
        (None, _) => value,
        (Some(change), true) => match &change.value {
            Some(new) => new.as_str(),
            None => return,
        },
        (Some(_), false) => {
            let untouched = inner.iter().all(|change| change.value.is_none());
            let (name, new) = after.next().expect("the member is still there");
            assert_eq!(name, key);
            return match value.starts_with('{') {
                true => check(value, &new, &inner),
                false if untouched => assert_eq!(new, value),
                false => check("{}", &new, &inner),
            };
        }
    };
    assert_eq!(after.next(), Some((key.to_owned(), expected.to_owned())));
}

/// Checks that remaining keys keep their spelling.
fn check_spelling(old: &str, new: &str, changes: &[Change]) {
    let gone = |key: &str| changes.iter().any(|c| c.path == [key] && c.value.is_none());
    let mut after = JsonMembers::of(new);
    for member in JsonMembers::of(old) {
        let name = switchboard_wire::json::decode_string(member.key);
        if name.is_some_and(|name| gone(&name)) {
            continue;
        }
        assert_eq!(after.next().map(|kept| kept.key), Some(member.key));
    }
}
