//! One tree for every format.

use std::fmt;

use serde_json::{Map, Number};

use super::SourceLocation;

/// A value of any of the formats, with its place.
#[derive(Clone, PartialEq)]
pub struct ConfigNode {
    /// The value.
    pub value: ConfigValue,
    /// Where it starts.
    pub at: SourceLocation,
}

/// What a [`ConfigNode`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    List(Vec<ConfigNode>),
    /// Members in the order they are written; a name may stand there twice.
    Object(Vec<ConfigMember>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigMember {
    /// Its name.
    pub key: String,
    /// Where the name stands.
    pub at: SourceLocation,
    /// Its value.
    pub value: ConfigNode,
}

impl ConfigNode {
    /// The member called `key`. Of two, the later one counts, as everywhere else JSON is read.
    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members, of an object.
    pub fn members(&self) -> &[ConfigMember] {
        match &self.value {
            ConfigValue::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements, of a list.
    pub fn elements(&self) -> &[ConfigNode] {
        match &self.value {
            ConfigValue::List(elements) => elements,
            _ => &[],
        }
    }

    /// The text, of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            ConfigValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            ConfigValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            ConfigValue::Null => "null",
            ConfigValue::Bool(_) => "a boolean",
            ConfigValue::Number(_) => "a number",
            ConfigValue::String(_) => "a string",
            ConfigValue::List(_) => "a list",
            ConfigValue::Object(_) => "an object",
        }
    }

    /// The same value without places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            ConfigValue::Null => serde_json::Value::Null,
            ConfigValue::Bool(value) => (*value).into(),
            ConfigValue::Number(number) => serde_json::Value::Number(number.clone()),
            ConfigValue::String(text) => text.clone().into(),
            ConfigValue::List(elements) => elements.iter().map(ConfigNode::to_json).collect(),
            ConfigValue::Object(members) => members
                .iter()
                .map(|member| (member.key.clone(), member.value.to_json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// A tree made of a JSON value, all of it at one place.
    pub fn from_json(json: &serde_json::Value, at: &SourceLocation) -> Self {
        let value = match json {
            serde_json::Value::Null => ConfigValue::Null,
            serde_json::Value::Bool(value) => ConfigValue::Bool(*value),
            serde_json::Value::Number(number) => ConfigValue::Number(number.clone()),
            serde_json::Value::String(text) => ConfigValue::String(text.clone()),
            serde_json::Value::Array(elements) => ConfigValue::List(
                elements.iter().map(|element| Self::from_json(element, at)).collect(),
            ),
            serde_json::Value::Object(members) => {
                let member = |(key, value): (&String, &serde_json::Value)| ConfigMember {
                    key: key.clone(),
                    at: at.clone(),
                    value: Self::from_json(value, at),
                };
                ConfigValue::Object(members.iter().map(member).collect())
            }
        };
        Self { value, at: at.clone() }
    }
}

// What is printed for debugging ends in logs, so secrets stay out of it.
impl fmt::Debug for ConfigNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", crate::redact::redact_entry(&self.to_json()), self.at)
    }
}
