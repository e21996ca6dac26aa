//! Command lines of this program for hints, quoted for a shell, so that no part of a name can become an
//! option, another command or a file.
//!
//! Used by the hints of every front. It runs nothing.

/// `switchboard <command> <arguments>`.
pub fn command_line<A: AsRef<str>>(
    command: &str,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    format!("switchboard {command} {}", quote_arguments(arguments))
}

/// Quotes words as arguments of a command line: in quotes if a shell would not read them as one word, and
/// after `--` if the command would read them as options.
pub fn quote_arguments<A: AsRef<str>>(arguments: impl IntoIterator<Item = A>) -> String {
    let mut words = Vec::new();
    let mut has_option = false;
    for argument in arguments {
        has_option |= argument.as_ref().starts_with('-');
        words.push(quote_for_shell(argument.as_ref()));
    }
    let words = words.join(" ");
    if has_option { format!("-- {words}") } else { words }
}

/// Quotes a word for a shell. Invisible characters are escaped.
fn quote_for_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    // Some shells expand a word that begins with `=` to the path of a command.
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if text.chars().all(is_visible) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let escaped: String = text.chars().map(escape).collect();
    format!("$'{escaped}'")
}

/// Whether a character is visible and cannot be taken for another.
fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || c == ' ' || (!c.is_ascii() && c.is_alphanumeric())
}

/// Escapes a character between `$'` and `'`.
fn escape(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_visible(c) => c.to_string(),
        c if u32::from(c) <= 0xffff => format!("\\u{:04x}", u32::from(c)),
        c => format!("\\U{:08x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_name_stays_one_argument() {
        for (name, expected) in [
            ("github", "switchboard login github"),
            ("plugin:a:b", "switchboard login plugin:a:b"),
            ("--all", "switchboard login -- --all"),
            ("-s", "switchboard login -- -s"),
            ("- x", "switchboard login -- '- x'"),
            ("", "switchboard login ''"),
            ("two words", "switchboard login 'two words'"),
            ("$HOME", "switchboard login '$HOME'"),
            ("*", "switchboard login '*'"),
            ("=ls", "switchboard login '=ls'"),
            ("a;touch b", "switchboard login 'a;touch b'"),
            ("`id`", "switchboard login '`id`'"),
            ("it's", r"switchboard login 'it'\''s'"),
            ("größe", "switchboard login 'größe'"),
            ("a\nb'\\", r"switchboard login $'a\u000ab\'\\'"),
            ("a\u{202e}b", r"switchboard login $'a\u202eb'"),
            ("\u{e0041}", r"switchboard login $'\U000e0041'"),
        ] {
            assert_eq!(command_line("login", [name]), expected);
        }
        let call = command_line("call", ["one/tool", "--all=yes"]);
        assert_eq!(call, "switchboard call -- one/tool --all=yes");
    }

    /// A shell reads the quoted name back unchanged.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a program")]
    fn a_shell_reads_the_name_back() {
        for name in
            ["--all", "a b", "$(id)", "it's `x`", "a\nb\t\\'", "a\u{202e}b\u{e0041}", "*", "~"]
        {
            let script = format!("printf %s {}", super::quote_for_shell(name));
            let mut bash = std::process::Command::new("bash");
            let said = bash.args(["-c", &script]).env("LC_ALL", "C.UTF-8").output().unwrap().stdout;
            assert_eq!(String::from_utf8(said).unwrap(), name, "{script}");
        }
    }
}
