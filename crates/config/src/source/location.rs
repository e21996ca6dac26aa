//! Source locations: the file, line and column of a value.
//!
//! Used by every problem and every decoded value.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceOrigin {
    /// A file.
    File(Arc<Path>),
    /// A text from elsewhere: an argument, a fetched connector catalog.
    Text(Arc<str>),
}

impl SourceOrigin {
    /// A file at `path`.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self::File(path.as_ref().into())
    }

    /// Text that came from no file, named `label` in messages.
    pub fn text(label: impl AsRef<str>) -> Self {
        Self::Text(label.as_ref().into())
    }

    /// The path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Text(_) => None,
        }
    }

    /// The location at the start.
    pub fn start(&self) -> SourceLocation {
        SourceLocation { origin: self.clone(), line: 1, column: 1 }
    }
}

impl fmt::Display for SourceOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Text(label) => label.fmt(f),
        }
    }
}

impl Serialize for SourceOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SourceOrigin {
    /// The serialized form is a label for people: an absolute path was a file, any other label a text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let label = String::deserialize(deserializer)?;
        let is_file = Path::new(&label).is_absolute();
        Ok(if is_file { Self::file(label) } else { Self::text(label) })
    }
}

/// A location in a text; lines and columns count from one, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLocation {
    /// The source.
    pub origin: SourceOrigin,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.origin, self.line, self.column)
    }
}

/// A value with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedValue<T> {
    /// The value.
    pub value: T,
    /// The location.
    pub at: SourceLocation,
}

impl<T> LocatedValue<T> {
    /// A value at the location `at`.
    pub fn new(value: T, at: SourceLocation) -> Self {
        Self { value, at }
    }

    /// Maps the value, and keeps the location.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> LocatedValue<U> {
        LocatedValue { value: f(self.value), at: self.at }
    }
}

// The schema describes files, and a file holds only the value.
impl<T: JsonSchema> JsonSchema for LocatedValue<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// Converts byte offsets of one text into locations.
pub(crate) struct LineIndex<'a> {
    origin: SourceOrigin,
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(crate) fn new(origin: &SourceOrigin, text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { origin: origin.clone(), text, starts }
    }

    pub(crate) fn at(&self, offset: usize) -> SourceLocation {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let before = self.text.get(self.starts[line - 1]..offset).unwrap_or_default();
        let (line, column) = (saturating_u32(line), saturating_u32(before.chars().count() + 1));
        SourceLocation { origin: self.origin.clone(), line, column }
    }

    pub(crate) fn origin(&self) -> &SourceOrigin {
        &self.origin
    }
}

/// Files are far smaller than this; a location beyond it is shown as the last one.
pub(crate) fn saturating_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
