//! Parser for the front matter of a `SKILL.md`: YAML between two `---` lines, converted to JSON.
//!
//! Used by `skills` to compare a skill with its announcement. It reads YAML events one by one, to
//! bound hostile input: aliases are refused, nesting is limited, and the result is never larger
//! than the text. Scalars follow the core schema of YAML 1.2.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is accepted.
const MAX_FRONT_MATTER_DEPTH: usize = 32;

/// Parses the front matter of a file. The error names the fault.
pub(super) fn read(file: &str) -> Result<Map<String, Value>, String> {
    let yaml = block(file).ok_or("there is none between two `---` lines at its beginning")?;
    let mut reader = YamlReader { parser: Parser::new_from_str(yaml) };
    match reader.document()? {
        Value::Object(fields) => Ok(fields),
        _ => Err("it is no mapping".into()),
    }
}

/// The text between the first line, which must be `---`, and the next `---` line.
fn block(file: &str) -> Option<&str> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let mut lines = file.split_inclusive('\n');
    let first = lines.next().filter(|line| is_rule(line))?;
    let mut end = first.len();
    for line in lines {
        if is_rule(line) {
            return file.get(first.len()..end);
        }
        end += line.len();
    }
    None
}

fn is_rule(line: &str) -> bool {
    line.trim_end() == "---"
}

struct YamlReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

// === impl YamlReader ===

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("it ends too early".into()),
        }
    }

    /// The first document. Later documents are not front matter.
    fn document(&mut self) -> Result<Value, String> {
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
                event => return self.value(event, 0),
            }
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > MAX_FRONT_MATTER_DEPTH {
            return Err("it is nested too deeply".into());
        }
        match event {
            Event::Scalar(text, ScalarStyle::Plain, _, None) => Ok(plain(&text)),
            Event::Scalar(text, _, _, _) => Ok(Value::String(text.into_owned())),
            Event::SequenceStart(..) => self.sequence(depth),
            Event::MappingStart(..) => self.mapping(depth),
            Event::Alias(_) => Err("it uses an alias".into()),
            other => Err(format!("{other:?} was not expected in it")),
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.value(event, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(fields)),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err("one of its keys is no text".into()),
            };
            let event = self.next()?;
            let value = self.value(event, depth + 1)?;
            // A duplicate key is refused: two readers could disagree about its value.
            if fields.insert(key.clone(), value).is_some() {
                return Err(format!("`{key}` stands in it twice"));
            }
        }
    }
}

/// Converts a scalar without quotes.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix, radix| {
        let digits = text.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix).ok()
    };
    let whole = text.parse::<i64>().ok();
    if let Some(whole) = whole.or_else(|| radix("0o", 8)).or_else(|| radix("0x", 16)) {
        return Some(whole.into());
    }
    let looks_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let decimal = text.parse::<f64>().ok().filter(|_| looks_decimal)?;
    Number::from_f64(decimal)
}

/// Whether two values are equal. Numbers are compared by value: some JSON writers treat `1` and
/// `1.0` as one number.
pub(super) fn is_same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => different_field(a, b).is_none(),
        _ => a == b,
    }
}

/// The first field that differs; a missing field equals `null`.
pub(super) fn different_field(a: &Map<String, Value>, b: &Map<String, Value>) -> Option<String> {
    let value = |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
    let mut keys = a.keys().chain(b.keys());
    keys.find(|key| !is_same_value(&value(a, key), &value(b, key))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(file: &str, expected: &Value) {
        let read = read(file).map(Value::Object);
        assert!(
            read.as_ref().is_ok_and(|read| is_same_value(read, expected)),
            "{read:?} instead of {expected}"
        );
    }

    #[test]
    fn yaml_becomes_the_json_it_stands_for() {
        check(
            "---\nname: a\ndescription: >\n  two\n  lines\n---\nbody",
            &json!({"name": "a", "description": "two lines\n"}),
        );
        check(
            "\u{feff}---\r\nname: 'x: y'\r\nlist: [1, 2.50, 0x10, on, null]\r\n---\r\n",
            &json!({"name": "x: y", "list": [1, 2.5, 16, "on", null]}),
        );
        check(
            "---\nmetadata:\n  version: \"1.0\"\n  since: 2026-07-28\n  ok: true\n---",
            &json!({"metadata": {"version": "1.0", "since": "2026-07-28", "ok": true}}),
        );
        check("---\nempty:\n---\n", &json!({}));
    }

    #[test]
    fn what_is_no_front_matter() {
        for file in [
            "",
            "name: a\n",
            "---\nname: a\n",
            " ---\nname: a\n---\n",
            "---\n- a\n---\n",
            "---\n---\n",
            "---\na: &x 1\nb: *x\n---\n",
            "---\na: 1\na: 2\n---\n",
            "---\n[a]: 1\n---\n",
            "---\na: [1\n---\n",
        ] {
            assert!(read(file).is_err(), "{file:?}");
        }
        let deep = format!("---\na: {}{}\n---\n", "[".repeat(40), "]".repeat(40));
        assert!(read(&deep).is_err());
    }

    #[test]
    fn fields_are_compared_by_meaning() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let differs = |a, b| different_field(&map(a), &map(b));
        assert_eq!(differs(json!({"a": 1, "b": null}), json!({"a": 1.0})), None);
        assert_eq!(differs(json!({"a": "1"}), json!({"a": 1})).as_deref(), Some("a"));
        assert_eq!(differs(json!({}), json!({"c": [1]})).as_deref(), Some("c"));
    }
}
