//! Helpers of benchmarks: the sections of the results page, and facts about the machine.
//!
//! Used by the benchmarks of `wire`, `core` and `cli`.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a benchmark that cannot write its page has nothing else to do"
)]

use std::path::PathBuf;
use std::process::Command;

/// The folder of the documentation.
pub fn documents() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}

/// Replaces the section with this second-level heading.
pub fn write_section(heading: &str, text: &str) {
    let path = documents().join("benchmarks.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    std::fs::write(&path, with_section(&page, heading, text)).expect("the page can be written");
}

fn with_section(page: &str, heading: &str, text: &str) -> String {
    let section = format!("{heading}\n\n{}\n", text.trim_end());
    let Some(start) = page.find(&format!("\n{heading}\n")).map(|at| at + 1) else {
        return format!("{}\n\n{section}", page.trim_end());
    };
    let after = &page[start + heading.len()..];
    let rest = after.find("\n## ").map_or("", |at| &after[at..]);
    format!("{}{section}{rest}", &page[..start])
}

/// Today's date, as people write it.
pub fn date() -> String {
    let said = Command::new("date").args(["-u", "+%F"]).output();
    said.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

/// The build of the measured program, to follow its name.
pub fn made(is_shipped: bool) -> &'static str {
    if is_shipped { " as it is shipped (`cargo xtask dist`)" } else { "" }
}

/// The name of the processor.
pub fn processor() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find_map(|line| {
        let (name, model) = line.split_once(':')?;
        (name.trim() == "model name").then(|| model.trim().to_owned())
    });
    model.unwrap_or_else(|| "an unnamed processor".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_its_older_self() {
        for (page, expected) in [
            ("# All\n", "# All\n\n## B\n\nnew\n"),
            ("# All\n\nfirst\n\n## A\n\na\n", "# All\n\nfirst\n\n## A\n\na\n\n## B\n\nnew\n"),
            ("# All\n\n## B\n\nold\n\n## C\n\nc\n", "# All\n\n## B\n\nnew\n\n## C\n\nc\n"),
            ("# All\n\n## B\n\nold\n", "# All\n\n## B\n\nnew\n"),
            ("# All\n\n## Bees\n\nb\n", "# All\n\n## Bees\n\nb\n\n## B\n\nnew\n"),
        ] {
            assert_eq!(with_section(page, "## B", "new"), expected);
        }
    }
}
