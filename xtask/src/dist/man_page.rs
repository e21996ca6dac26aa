//! Man pages, made from the program's `--help`: one for the program and one for each command.
//!
//! Used by `package_tree`. The help is the one text about options; this gives it the form of a man page.

use std::process::Command;

use super::Release;
use crate::command::output;
use crate::failure::Result;

/// Returns the name and the text of every page.
pub(super) fn pages(release: &Release) -> Result<Vec<(String, String)>> {
    let help = |words: &[&str]| {
        output(Command::new(&release.program).args(words).args(["--help", "--color", "never"]))
    };
    let about_program = help(&[])?;
    let mut pages = vec![("switchboard".to_owned(), page("switchboard", &about_program, release))];
    for command in commands(&about_program) {
        let name = format!("switchboard-{command}");
        let text = page(&name, &help(&[command])?, release);
        pages.push((name, text));
    }
    Ok(pages)
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<&str> {
    // The groups of commands stand between the usage and the options.
    let listed = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let listed = listed.take_while(|line| *line != "Options:");
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    names.filter(|name| *name != "help").collect()
}

fn page(name: &str, help: &str, release: &Release) -> String {
    let mut lines = help.lines();
    let summary = roff(lines.next().unwrap_or_default());
    let (title, version) = (quote(&name.to_uppercase()), &release.version);
    let mut page = vec![
        format!(".TH {title} 1 \"\" \"switchboard {version}\""),
        format!(".SH NAME\n{} \\- {summary}", roff(name)),
    ];
    let (mut about, mut sections) = (Vec::new(), Vec::new());
    for line in lines {
        if let Some(usage) = line.strip_prefix("Usage: ") {
            page.push(format!(".SH SYNOPSIS\n{}", roff(usage)));
        } else if let Some(title) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            let end = if sections.is_empty() { "" } else { ".fi\n" };
            sections.push(format!("{end}.SH {}\n.nf", quote(&title.to_uppercase())));
        } else if sections.is_empty() {
            about.push(roff(line));
        } else {
            sections.push(roff(line));
        }
    }
    let about = about.join("\n");
    if !about.trim().is_empty() {
        page.push(format!(".SH DESCRIPTION\n{}", about.trim().replace("\n\n", "\n.PP\n")));
    }
    if !sections.is_empty() {
        sections.push(".fi".to_owned());
    }
    page.extend(sections);
    page.push(".SH SEE ALSO\n.BR switchboard (1)\n".to_owned());
    page.join("\n")
}

/// Escapes what roff would read as an instruction.
fn roff(line: &str) -> String {
    let line = line.trim_end().replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

fn quote(title: &str) -> String {
    format!("\"{}\"", title.replace('"', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_becomes_a_page() {
        let release = Release {
            version: "1.2.3".to_owned(),
            target: String::new(),
            epoch: 0,
            program: "x".into(),
        };
        let help = "Stop it\n\nAll of it.\n\n.hidden\n\nUsage: it stop [--now]\n\nOptions:\n  --now  At \\once\n";
        let expected = "\
.TH \"IT-STOP\" 1 \"\" \"switchboard 1.2.3\"
.SH NAME
it\\-stop \\- Stop it
.SH SYNOPSIS
it stop [\\-\\-now]
.SH DESCRIPTION
All of it.
.PP
\\&.hidden
.SH \"OPTIONS\"
.nf
  \\-\\-now  At \\eonce
.fi
.SH SEE ALSO
.BR switchboard (1)
";
        assert_eq!(page("it-stop", help, &release), expected);
        assert_eq!(
            commands("x\n\nUsage: x\n\nA:\n  a, b  c\n\nB:\n  d  e\n  help\n\nOptions:\n  f\n"),
            ["a", "d"]
        );
    }
}
