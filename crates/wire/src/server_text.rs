//! Texts of a failing server, printed or answered, cut to the part that explains the failure.
//!
//! Used by the texts of `Error`. The whole text is in the error and in the server's log; it decides nothing.

/// The line of standard error that names the error, if the text is a stack trace; else the whole text.
pub(crate) fn failure_text(stderr: &str) -> &str {
    if !stderr.lines().any(is_frame) {
        return stderr;
    }
    // Python prints the error below its trace, and the last one is the one that ended the program.
    let mut lines = stderr.lines().filter(|line| names_error(line));
    let is_python = stderr.contains("Traceback (most recent call last)");
    let line = if is_python { lines.next_back() } else { lines.next() };
    line.unwrap_or(stderr)
}

/// The title of a page of HTML; any other body as it is.
pub(crate) fn body_text(body: &str) -> &str {
    if !body.trim_start().starts_with('<') {
        return body;
    }
    let after = body.split_once("<title>").map(|(_, after)| after);
    after.and_then(|after| after.split_once("</title>")).map_or("", |(title, _)| title)
}

/// Whether a line is a frame of a trace: of JavaScript and Java, or of Python.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    text.len() < line.len() && (text.starts_with("at ") || text.starts_with("File \""))
}

/// Whether a line begins with the name of an error: `Error: …`, `TypeError [CODE]: …`, `java.io.IOException: …`.
fn names_error(line: &str) -> bool {
    let head = line.split_once(": ").map_or(line, |(head, _)| head).trim_end();
    let head = head.split_once(" [").map_or(head, |(name, _)| name);
    let name = head.rsplit([' ', '.']).next().unwrap_or_default();
    !line.starts_with(' ') && (name.ends_with("Error") || name.ends_with("Exception"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_error_explains_a_trace() {
        for (stderr, expected) in [
            ("no key\nset KEY\n", "no key\nset KEY\n"),
            ("Error: no key\n", "Error: no key\n"),
            (
                "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module './x'\nRequire stack:\n- /srv/a.js\n    at Module._load (node:internal:1091:12) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n",
                "Error: Cannot find module './x'",
            ),
            (
                "TypeError [ERR_X]: bad argument\n    at main (/srv/a.js:1:1)\n",
                "TypeError [ERR_X]: bad argument",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'A'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\napp.errors.ConfigError: A is missing\n",
                "app.errors.ConfigError: A is missing",
            ),
            (
                "Exception in thread \"main\" java.lang.IllegalStateException: no key\n\tat a.Main.main(Main.java:3)\n",
                "Exception in thread \"main\" java.lang.IllegalStateException: no key",
            ),
            ("odd\n    at once\n", "odd\n    at once\n"),
            ("", ""),
        ] {
            assert_eq!(failure_text(stderr), expected, "{stderr}");
        }
    }

    #[test]
    fn the_title_explains_a_page() {
        for (body, expected) in [
            ("no such path", "no such path"),
            ("\n<!DOCTYPE html><html><head><title>Not found</title></head>", "Not found"),
            ("<html><body>x</body></html>", ""),
        ] {
            assert_eq!(body_text(body), expected, "{body}");
        }
    }
}
