//! Arguments as they are typed: words, one JSON object, a file, or standard input.

use std::io::Read as _;

use switchboard_core::schema::{Argument, Invalid, arguments_from};
use switchboard_wire::json::{JsonKind, Raw};

use crate::report::Failure;

/// What was typed after the name of a tool.
pub(in crate::commands) enum Typed {
    /// `key=value` and `key:=json`, which the tool's schema explains.
    Words(Vec<Argument>),
    /// The whole object.
    Object(Raw),
}

const ALSO: &str = "one JSON object, `@FILE` and `-` are taken too";
const HOW: &str = "write `key=value`, `key:=json`, one JSON object, `@FILE`, or `-`";

// === impl Typed ===

impl Typed {
    /// Reads what needs no tool to be understood.
    pub(in crate::commands) fn read(words: &[String]) -> Result<Self, Failure> {
        match words {
            [only] if only == "-" => object(&input()?, "standard input"),
            [only] if only.starts_with('@') => object(&file(&only[1..])?, &only[1..]),
            [only] if only.trim_start().starts_with('{') => object(only, "the argument"),
            words => words
                .iter()
                .map(|word| {
                    Argument::parse(word).map_err(|mistake| Failure::usage(mistake.message, ALSO))
                })
                .collect::<Result<_, _>>()
                .map(Self::Words),
        }
    }

    /// The arguments, by what the tool takes.
    pub(in crate::commands) fn arguments(&self, schema: &Raw) -> Result<Raw, Invalid> {
        match self {
            Self::Words(words) => arguments_from(words, schema),
            Self::Object(object) => Ok(object.clone()),
        }
    }
}

fn object(text: &str, source: &str) -> Result<Typed, Failure> {
    let raw = Raw::parse(text.to_owned()).map_err(|error| {
        Failure::usage(format!("{source} is not JSON: {error}"), "quote it for your shell")
    })?;
    match raw.kind() {
        JsonKind::Object => Ok(Typed::Object(raw)),
        _ => Err(Failure::usage(format!("{source} is not a JSON object"), HOW)),
    }
}

fn input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::new("cannot read standard input", error))?;
    Ok(text)
}

fn file(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {path}"), error))
}
