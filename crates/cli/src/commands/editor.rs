//! The person's editor (`VISUAL`, `EDITOR`), on a private temporary file.
//!
//! Used by `edit`. It does not parse the text.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

/// The editor if neither `VISUAL` nor `EDITOR` is set.
const FALLBACK_EDITOR: &str = "vi";

/// A text while it is being edited.
pub(super) struct Draft {
    folder: tempfile::TempDir,
    editor: String,
}

impl Draft {
    /// Creates a private file with this text.
    pub(super) fn new(text: &str, caller: &Caller) -> Result<Self, Failure> {
        let editor = caller
            .variable("VISUAL")
            .or_else(|| caller.variable("EDITOR"))
            .unwrap_or(FALLBACK_EDITOR);
        // The folder is private too: editors put copies beside the file, and those hold its secrets.
        let folder = tempfile::Builder::new()
            .prefix("switchboard-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir();
        let folder = folder.map_err(|error| Failure::new("cannot create a file to edit", error))?;
        let draft = Self { editor: editor.to_owned(), folder };
        let mut private = OpenOptions::new();
        private.write(true).create_new(true).mode(0o600);
        let written =
            private.open(draft.path()).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Failure::new("cannot create a file to edit", error))?;
        Ok(draft)
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("entry.jsonc")
    }

    /// Opens the editor, waits for it, and returns the edited text.
    pub(super) fn edit(&self) -> Result<String, Failure> {
        let failed = |kind: &str| format!("the editor `{}` {kind}", self.editor);
        let hint = "set `VISUAL` or `EDITOR` to the editor you want; nothing was changed";
        let status = run(&self.editor, &self.path())
            .map_err(|error| Failure::new(failed("cannot be started"), error).with_hint(hint))?;
        if !status.success() {
            let message = failed(&format!("ended with {status}"));
            return Err(Failure::plain(FailureKind::Failed, message).with_hint(hint));
        }
        std::fs::read_to_string(self.path())
            .map_err(|error| Failure::new("cannot read the edited file", error))
    }
}

/// Runs the editor through a shell, since the variable may hold arguments.
#[expect(
    clippy::disallowed_methods,
    reason = "the editor takes the terminal, as the shell's own child would"
)]
fn run(editor: &str, path: &Path) -> std::io::Result<std::process::ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(path).status()
}
