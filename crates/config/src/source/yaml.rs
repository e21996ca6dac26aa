//! The parser of YAML, as far as configuration needs it: one document, no aliases.
//!
//! Used by `import` and `agent`. Aliases are refused, because a few lines with aliases can expand to gigabytes and
//! these files come from strangers.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{ConfigMember, ConfigNode, ConfigValue, SourceLocation, SourceOrigin, saturating_u32};
use crate::problem::{ConfigProblem, ConfigProblemKind};

/// Deeper than any configuration; bounds the recursion.
const MAX_DEPTH: usize = 64;

/// Parses `text`, whose first line is line `first_line + 1` of `origin`.
pub(crate) fn parse(
    origin: &SourceOrigin,
    text: &str,
    first_line: usize,
) -> Result<ConfigNode, ConfigProblem> {
    let mut builder = YamlBuilder { events: Parser::new_from_str(text), origin, first_line };
    builder.document()
}

struct YamlBuilder<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    origin: &'a SourceOrigin,
    first_line: usize,
}

impl<'a> YamlBuilder<'a> {
    fn document(&mut self) -> Result<ConfigNode, ConfigProblem> {
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) => {}
                Event::StreamEnd | Event::DocumentEnd => {
                    return Ok(ConfigNode { value: ConfigValue::Object(Vec::new()), at });
                }
                event => return self.node(event, at, 0),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, SourceLocation), ConfigProblem> {
        match self.events.next() {
            Some(Ok((event, span))) => Ok((event, self.at(span))),
            Some(Err(error)) => {
                let at = self.at(Span::empty(*error.marker()));
                Err(self.malformed(error.info(), at))
            }
            None => Err(self.malformed("it ends too early", self.origin.start())),
        }
    }

    fn at(&self, span: Span) -> SourceLocation {
        let line = saturating_u32(span.start.line() + self.first_line);
        let column = saturating_u32(span.start.col() + 1);
        SourceLocation { origin: self.origin.clone(), line, column }
    }

    fn malformed(&self, why: &str, at: SourceLocation) -> ConfigProblem {
        let message = format!("cannot read {} as YAML: {why}", self.origin);
        ConfigProblem::error(ConfigProblemKind::Malformed, message).at(at)
    }

    fn node(
        &mut self,
        event: Event<'a>,
        at: SourceLocation,
        depth: usize,
    ) -> Result<ConfigNode, ConfigProblem> {
        if depth > MAX_DEPTH {
            return Err(self.malformed("it is nested too deeply", at));
        }
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, _, None) => plain(&text),
            Event::Scalar(text, ..) => ConfigValue::String(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.object(depth)?,
            Event::Alias(_) => return Err(self.malformed("aliases are not supported", at)),
            _ => return Err(self.malformed("a value was expected", at)),
        };
        Ok(ConfigNode { value, at })
    }

    fn list(&mut self, depth: usize) -> Result<ConfigValue, ConfigProblem> {
        let mut elements = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(ConfigValue::List(elements)),
                (event, at) => elements.push(self.node(event, at, depth + 1)?),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<ConfigValue, ConfigProblem> {
        let mut members = Vec::new();
        loop {
            let (key, at) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(ConfigValue::Object(members)),
                (Event::Scalar(key, ..), at) => (key.into_owned(), at),
                (_, at) => return Err(self.malformed("a name was expected", at)),
            };
            let (event, value_at) = self.next()?;
            let value = self.node(event, value_at, depth + 1)?;
            members.push(ConfigMember { key, at, value });
        }
    }
}

/// Parses a scalar by the core schema of YAML 1.2, without octal and hexadecimal numbers.
fn plain(text: &str) -> ConfigValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ConfigValue::Null,
        "true" | "True" | "TRUE" => ConfigValue::Bool(true),
        "false" | "False" | "FALSE" => ConfigValue::Bool(false),
        _ => {
            text.parse().map_or_else(|_| ConfigValue::String(text.to_owned()), ConfigValue::Number)
        }
    }
}
