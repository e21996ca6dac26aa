//! Tool arguments from the command line: `key=value` words, one JSON object, a file, or standard input.
//!
//! Used by `call` and `answer`. It does not validate them (`core::schema` does).

use std::io::Read as _;

use switchboard_core::schema::{InvalidArguments, TypedArgument, build_arguments};
use switchboard_wire::json::{JsonKind, Raw};

use crate::report::Failure;

/// The typed arguments.
pub(in crate::commands) enum TypedArguments {
    /// `key=value` and `key:=json`, which are converted with the tool's schema.
    Words(Vec<TypedArgument>),
    /// The whole object.
    Object(Raw),
}

const OTHER_FORMS_HINT: &str = "one JSON object, `@FILE` and `-` are accepted, too";
const ARGUMENT_FORMS_HINT: &str =
    "write `key=value`, `key:=json`, one JSON object, `@FILE`, or `-`";

// === impl TypedArguments ===

impl TypedArguments {
    /// Parses as far as possible without the tool's schema.
    pub(in crate::commands) fn read(words: &[String]) -> Result<Self, Failure> {
        match words {
            [only] if only == "-" => object(&input()?, "standard input"),
            [only] if only.starts_with('@') => object(&file(&only[1..])?, &only[1..]),
            [only] if only.trim_start().starts_with('{') => object(only, "the argument"),
            words => words
                .iter()
                .map(|word| {
                    TypedArgument::parse(word)
                        .map_err(|mistake| Failure::usage(mistake.message, OTHER_FORMS_HINT))
                })
                .collect::<Result<_, _>>()
                .map(Self::Words),
        }
    }

    /// The arguments as an object, converted with the tool's schema.
    pub(in crate::commands) fn arguments(&self, schema: &Raw) -> Result<Raw, InvalidArguments> {
        match self {
            Self::Words(words) => build_arguments(words, schema),
            Self::Object(object) => Ok(object.clone()),
        }
    }
}

fn object(text: &str, source: &str) -> Result<TypedArguments, Failure> {
    let raw = Raw::parse(text.to_owned()).map_err(|error| {
        Failure::usage(format!("{source} is not JSON: {error}"), "quote it for your shell")
    })?;
    match raw.kind() {
        JsonKind::Object => Ok(TypedArguments::Object(raw)),
        _ => Err(Failure::usage(format!("{source} is not a JSON object"), ARGUMENT_FORMS_HINT)),
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
