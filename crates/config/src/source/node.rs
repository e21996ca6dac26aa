//! One tree for every format.

use std::fmt;

use serde_json::{Map, Number};

use super::Location;

/// A value of any of the formats, with its place.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it starts.
    pub at: Location,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// Members in the order they are written; a name may stand there twice.
    Object(Vec<Member>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub key: String,
    /// Where the name stands.
    pub at: Location,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// The member called `key`. Of two, the later one counts, as everywhere else JSON is read.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members, of an object.
    pub fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements, of a list.
    pub fn elements(&self) -> &[Node] {
        match &self.value {
            Value::List(elements) => elements,
            _ => &[],
        }
    }

    /// The text, of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// The same value without places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::String(text) => text.clone().into(),
            Value::List(elements) => elements.iter().map(Node::to_json).collect(),
            Value::Object(members) => members
                .iter()
                .map(|member| (member.key.clone(), member.value.to_json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// A tree made of a JSON value, all of it at one place.
    pub fn from_json(json: &serde_json::Value, at: &Location) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => Value::Number(number.clone()),
            serde_json::Value::String(text) => Value::String(text.clone()),
            serde_json::Value::Array(elements) => {
                Value::List(elements.iter().map(|element| Self::from_json(element, at)).collect())
            }
            serde_json::Value::Object(members) => {
                let member = |(key, value): (&String, &serde_json::Value)| Member {
                    key: key.clone(),
                    at: at.clone(),
                    value: Self::from_json(value, at),
                };
                Value::Object(members.iter().map(member).collect())
            }
        };
        Self { value, at: at.clone() }
    }
}

// What is printed for debugging ends in logs, so secrets stay out of it.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", crate::mask::masked(&self.to_json()), self.at)
    }
}
