//! `switchboard completions`: the script that makes a shell ask this program for completions.
//!
//! Used by `commands::run`. The script asks `shell_completion`, so it completes what this program knows at that moment.

use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::shell_completion::COMPLETE_VARIABLE;

const PROGRAM: &str = "switchboard";

/// A shell that loads the script as a completion function runs it at the first request, which must be answered, too.
const FIRST_ZSH_REQUEST: &str = r#"if [[ "${funcstack[1]}" == _switchboard ]]; then
    _clap_dynamic_completer_switchboard "$@"
fi
"#;

pub(super) fn run(shell: Shell, printer: &Printer) -> Result<(), Failure> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let Some(adapter) = shells.completer(&name) else {
        let message = format!("there are no completions for {name}");
        return Err(Failure::plain(FailureKind::Usage, message));
    };
    let mut script = Vec::new();
    adapter
        .write_registration(COMPLETE_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| Failure::new("cannot write the script", error))?;
    if shell == Shell::Zsh {
        script.extend_from_slice(b"\n");
        script.extend_from_slice(FIRST_ZSH_REQUEST.as_bytes());
    }
    printer.data(&script);
    Ok(())
}
