//! [`ConfigNode`]: one tree for all formats.
//!
//! Used by every decoder of this crate.

use std::fmt;

use serde_json::{Map, Number};

use super::SourceLocation;

/// A value of any format, with its location.
#[derive(Clone, PartialEq)]
pub struct ConfigNode {
    /// The value.
    pub value: ConfigValue,
    /// Where the value starts.
    pub at: SourceLocation,
}

/// The value of a [`ConfigNode`].
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    List(Vec<ConfigNode>),
    /// Members in written order; a name may occur twice.
    Object(Vec<ConfigMember>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigMember {
    /// The member's name.
    pub key: String,
    /// Where the name stands.
    pub at: SourceLocation,
    /// The member's value.
    pub value: ConfigNode,
}

impl ConfigNode {
    /// The member `key`. Of two, the later one is used, as in all other JSON readers.
    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members of an object; empty for any other value.
    pub fn members(&self) -> &[ConfigMember] {
        match &self.value {
            ConfigValue::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of a list; empty for any other value.
    pub fn elements(&self) -> &[ConfigNode] {
        match &self.value {
            ConfigValue::List(elements) => elements,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            ConfigValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            ConfigValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The type of the value, for messages.
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

    /// The value without locations.
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

    /// A tree from a JSON value, with one location for all of its nodes.
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

// Debug output ends up in logs, so it is redacted.
impl fmt::Debug for ConfigNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", crate::redact::redact_entry(&self.to_json()), self.at)
    }
}
