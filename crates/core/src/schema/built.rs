//! An arguments object that is put together word by word. It refuses to know what a schema is.

use switchboard_wire::json::{Member, Members, Raw, decode_string};

/// An object under construction. Values are JSON texts, so that a number keeps its spelling.
#[derive(Default)]
pub(super) struct Built {
    members: Vec<(String, Slot)>,
}

enum Slot {
    Json(String),
    List(Vec<String>),
    Object(Built),
}

// === impl Built ===

impl Built {
    pub(super) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    fn find(&mut self, key: &str) -> Option<&mut Slot> {
        self.members.iter_mut().find(|(name, _)| name == key).map(|(_, slot)| slot)
    }

    /// Puts a value under a name that is not taken.
    pub(super) fn put(&mut self, key: &str, json: String) -> Option<()> {
        if self.find(key).is_some() {
            return None;
        }
        self.members.push((key.to_owned(), Slot::Json(json)));
        Some(())
    }

    /// Adds to the list under `key`.
    pub(super) fn extend(&mut self, key: &str, items: Vec<String>) -> Option<()> {
        match self.find(key) {
            Some(Slot::List(list)) => list.extend(items),
            Some(_) => return None,
            None => self.members.push((key.to_owned(), Slot::List(items))),
        }
        Some(())
    }

    /// The object under `key`, begun if it is not there. One given as JSON can be added to as well.
    pub(super) fn object(&mut self, key: &str) -> Option<&mut Built> {
        if self.find(key).is_none() {
            self.members.push((key.to_owned(), Slot::Object(Self::default())));
        }
        let slot = self.find(key)?;
        if let Slot::Json(json) = slot {
            *slot = Slot::Object(Self::of(json)?);
        }
        match slot {
            Slot::Object(object) => Some(object),
            _ => None,
        }
    }

    fn of(json: &str) -> Option<Self> {
        let member = |member: Member<'_>| {
            let key = decode_string(member.key)?.into_owned();
            Some((key, Slot::Json(member.value.to_owned())))
        };
        let members = Members::of(json).map(member).collect::<Option<_>>()?;
        json.starts_with('{').then_some(Self { members })
    }

    pub(super) fn text(&self) -> String {
        let members = self.members.iter().map(|(key, slot)| {
            let value = match slot {
                Slot::Json(json) => json.clone(),
                Slot::List(items) => format!("[{}]", items.join(",")),
                Slot::Object(object) => object.text(),
            };
            format!("{}:{value}", Raw::string(key))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}
