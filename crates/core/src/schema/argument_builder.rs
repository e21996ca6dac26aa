//! Builds the JSON object of arguments, one argument at a time.
//!
//! Used by `schema::coerce`. It does not know schemas.

use switchboard_wire::json::{JsonMember, JsonMembers, Raw, decode_string};

/// An object under construction. Values are JSON texts, so that a number keeps its spelling.
#[derive(Default)]
pub(super) struct ArgumentBuilder {
    members: Vec<(String, BuilderValue)>,
}

enum BuilderValue {
    Json(String),
    List(Vec<String>),
    Object(ArgumentBuilder),
}

// === impl ArgumentBuilder ===

impl ArgumentBuilder {
    pub(super) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    fn find(&mut self, key: &str) -> Option<&mut BuilderValue> {
        self.members.iter_mut().find(|(name, _)| name == key).map(|(_, slot)| slot)
    }

    /// Adds a value under `key`; `None` if the key is taken.
    pub(super) fn put(&mut self, key: &str, json: String) -> Option<()> {
        if self.find(key).is_some() {
            return None;
        }
        self.members.push((key.to_owned(), BuilderValue::Json(json)));
        Some(())
    }

    /// Adds items to the list under `key`.
    pub(super) fn extend(&mut self, key: &str, items: Vec<String>) -> Option<()> {
        match self.find(key) {
            Some(BuilderValue::List(list)) => list.extend(items),
            Some(_) => return None,
            None => self.members.push((key.to_owned(), BuilderValue::List(items))),
        }
        Some(())
    }

    /// Returns the object under `key`, created if it is missing. An object given as JSON can be extended too.
    pub(super) fn object(&mut self, key: &str) -> Option<&mut ArgumentBuilder> {
        if self.find(key).is_none() {
            self.members.push((key.to_owned(), BuilderValue::Object(Self::default())));
        }
        let slot = self.find(key)?;
        if let BuilderValue::Json(json) = slot {
            *slot = BuilderValue::Object(Self::of(json)?);
        }
        match slot {
            BuilderValue::Object(object) => Some(object),
            _ => None,
        }
    }

    fn of(json: &str) -> Option<Self> {
        let member = |member: JsonMember<'_>| {
            let key = decode_string(member.key)?.into_owned();
            Some((key, BuilderValue::Json(member.value.to_owned())))
        };
        let members = JsonMembers::of(json).map(member).collect::<Option<_>>()?;
        json.starts_with('{').then_some(Self { members })
    }

    pub(super) fn text(&self) -> String {
        let members = self.members.iter().map(|(key, slot)| {
            let value = match slot {
                BuilderValue::Json(json) => json.clone(),
                BuilderValue::List(items) => format!("[{}]", items.join(",")),
                BuilderValue::Object(object) => object.text(),
            };
            format!("{}:{value}", Raw::string(key))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}
