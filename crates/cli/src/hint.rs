//! What a person can do about an error. The one place that gives advice.

use switchboard_wire::{Error, Remedy, process::SpawnError};

/// Advice, where there is any to give.
pub(crate) fn of(error: &Error) -> Option<String> {
    let advice = match error {
        Error::Spawn(error) => return of_spawn(error),
        Error::Exited { .. } => {
            "the lines above are the server's own; run the command by hand to see all of them"
        }
        Error::Timeout { .. } => {
            "a first start through npx or uvx can be slow; allow more with `--timeout`"
        }
        Error::NoCommonVersion { .. } => {
            "the server is too new or too old; `switchboard --version` tells which this is"
        }
        Error::Status {
            status: 404 | 405, ..
        } => "the path of the URL may be wrong; many servers use `/mcp`",
        other => match other.remedy() {
            Remedy::SignIn => {
                "the server wants credentials; pass them with `-H 'Authorization: …'`"
            }
            Remedy::Reconfigure => "check the URL and its certificate",
            Remedy::Retry => "the server may be down; try again",
            Remedy::AskUser | Remedy::GiveUp => return None,
        },
    };
    Some(advice.to_owned())
}

fn of_spawn(error: &SpawnError) -> Option<String> {
    match error {
        SpawnError::NotFound { program, .. } => Some(match program.to_str() {
            Some("npx" | "node" | "npm") => {
                "install Node.js, or give the command's full path".into()
            }
            Some("uvx" | "uv") => "install uv, or give the command's full path".into(),
            _ => "check the spelling, or give the command's full path".into(),
        }),
        SpawnError::IsDirectory { .. } => Some("name a program inside it".into()),
        SpawnError::NotExecutable { path } => Some(format!(
            "`chmod +x {}`, or name the program that runs it",
            path.display()
        )),
        _ => None,
    }
}
