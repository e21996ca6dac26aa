//! Translation of other clients' variable references into `${VAR}`.
//!
//! Used by the readers in `import`. It does not look up variables (`expand`).

use crate::expand::{PROJECT_ROOT_VARIABLE, TemplatePiece, split_template};

/// The reference syntax of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceSyntax {
    /// Our own syntax.
    Ours,
    /// None: the client passes every text as it stands.
    Literal,
    /// `${env:NAME}`, `${input:id}`, `${userHome}`, `${workspaceFolder}`.
    Editor,
    /// `$NAME` and `${NAME}`.
    Shell,
    /// `${{ secrets.NAME }}`.
    Secrets,
}

impl ReferenceSyntax {
    /// Translates a text.
    pub(super) fn text(self, text: &str) -> String {
        match self {
            Self::Ours | Self::Literal => text.to_owned(),
            Self::Editor => editor(text),
            Self::Shell => shell(text),
            Self::Secrets => secrets(text),
        }
    }

    /// Why the translated text would mean something else in our entries than in the client's.
    pub(super) fn misread(self, text: &str) -> Option<String> {
        match self {
            Self::Literal => split_template(text).into_iter().find_map(|piece| {
                let TemplatePiece::Reference { written, .. } = piece else { return None };
                Some(format!(
                    "`{written}` is plain text for the client, and is replaced by a variable here"
                ))
            }),
            Self::Editor => split_template(&editor(text)).into_iter().find_map(|piece| {
                let TemplatePiece::Literal(literal) = piece else { return None };
                let foreign = foreign_reference(literal)?;
                Some(format!("`{foreign}` is not replaced here"))
            }),
            Self::Ours | Self::Shell | Self::Secrets => None,
        }
    }
}

/// The variable in place of an input that a client would ask the user for.
pub(super) fn input_variable(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

/// The first reference in a text that is not of our syntax.
fn foreign_reference(text: &str) -> Option<&str> {
    let start = text.find("${")?;
    let length = text[start..].find('}')?;
    Some(&text[start..=start + length])
}

fn editor(text: &str) -> String {
    replace_between(text, "${", "}", |body| {
        Some(match body.split_once(':') {
            Some(("env", name)) => format!("${{{name}}}"),
            Some(("input", id)) => format!("${{{}}}", input_variable(id)),
            None if body == "userHome" => "${HOME}".to_owned(),
            // The older name of that folder.
            None if body == "workspaceRoot" => format!("${{{PROJECT_ROOT_VARIABLE}}}"),
            None if body == "pathSeparator" || body == "/" => "/".to_owned(),
            _ => return None,
        })
    })
}

fn secrets(text: &str) -> String {
    replace_between(text, "${{", "}}", |body| {
        let name = body.trim();
        name.strip_prefix("secrets.").map(|name| format!("${{{name}}}"))
    })
}

fn shell(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        result.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &after[1..after[1..].find(|c| !is_name(c)).map_or(after.len(), |end| end + 1)];
        let is_reference = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_reference {
            result.push_str("${");
            result.push_str(name);
            result.push('}');
            rest = &after[1 + name.len()..];
        } else {
            result.push('$');
            rest = &after[1..];
        }
    }
    result + rest
}

/// Replaces the text between `open` and `close` if `with` returns a replacement.
pub(super) fn replace_between(
    text: &str,
    open: &str,
    close: &str,
    with: impl Fn(&str) -> Option<String>,
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let Some(length) = rest[start + open.len()..].find(close) else {
            break;
        };
        let end = start + open.len() + length + close.len();
        result.push_str(&rest[..start]);
        match with(&rest[start + open.len()..end - close.len()]) {
            Some(known) => result.push_str(&known),
            None => result.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    result + rest
}
