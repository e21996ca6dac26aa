//! Reads `envFile`: files of environment variables, `KEY=VALUE` on each line.
//!
//! Used by `connection::target`; the parser also by `switchboard secret import`. Which variables a project's file must not set is in `connection::code_variables`.

use std::{ffi::OsString, path::Path, sync::Arc};

use switchboard_config::Scope;

use super::{ConnectionError, code_variables::chooses_code};

/// The largest file that is read; a longer file is not an env file.
const MAX_ENV_FILE_BYTES: u64 = 1 << 20;

/// Reads an env file. A project's file must not set variables that decide which code runs.
pub(super) fn read(
    path: &Path,
    scope: Scope,
) -> Result<Vec<(OsString, OsString)>, ConnectionError> {
    let text = text(path).map_err(|source| ConnectionError::EnvFile {
        path: path.to_owned(),
        source: Arc::new(source),
    })?;
    let variables = parse_env_text(&text)
        .map_err(|line| ConnectionError::EnvLine { path: path.to_owned(), line })?;
    let is_refused = |name: &str| !scope.is_trusted() && chooses_code(name);
    match variables.iter().find(|(name, _)| is_refused(name)) {
        Some((name, _)) => {
            Err(ConnectionError::EnvVariable { path: path.to_owned(), name: name.clone() })
        }
        None => {
            Ok(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
        }
    }
}

/// Reads plain files only: opening a pipe would block.
fn text(path: &Path) -> std::io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() || about.len() > MAX_ENV_FILE_BYTES {
        return Err(std::io::Error::other("it is not a small plain file"));
    }
    std::fs::read_to_string(path)
}

/// Parses lines `KEY=VALUE` as shells write them; the error is the number of the invalid line.
pub fn parse_env_text(text: &str) -> Result<Vec<(String, String)>, usize> {
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| variable(line).ok_or(index + 1))
        .collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let sound = !name.is_empty() && name.chars().all(is_name);
    sound.then(|| (name.into(), unquote(value.trim()).into()))
}

/// Removes quotes from a value; without quotes ` #` begins a comment.
fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
        {
            return inside;
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

#[cfg(test)]
mod tests {
    use super::parse_env_text;

    #[test]
    fn variables_are_read_as_shells_write_them() {
        let check = |text: &str, found: Result<&str, usize>| {
            let read = parse_env_text(text).map(|variables| {
                let shown = variables.iter().map(|(n, v)| format!("{n}={v}"));
                shown.collect::<Vec<_>>().join("|")
            });
            assert_eq!(read, found.map(str::to_owned), "{text}");
        };
        check("", Ok(""));
        check("# only words\n\nA=1\nexport B = two words # why\n", Ok("A=1|B=two words"));
        check("A=\"x # y\"\nB='z' # w\nC=a#b\nD=", Ok("A=x # y|B=z|C=a#b|D="));
        check("A=1\nnonsense", Err(2));
        check("A B=1", Err(1));
    }
}
