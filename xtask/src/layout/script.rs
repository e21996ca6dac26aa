//! The script for the linker: functions by their names, or whole modules where nearly all of one is wanted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::map::Section;

/// A module is taken whole if at least this much of it is wanted, in percent of its size.
const DENSE: u64 = 70;

const HEAD: &str = "\
/* What runs once clients come, and what runs at the start, each laid side by side: it is found in few pages, and the\n\
   rest of the program need not be in memory. Made by `cargo xtask layout`; nothing but speed and memory depends on it. */\n";

/// Sizes below one prefix of names.
#[derive(Default, Clone, Copy)]
struct Below {
    wanted: u64,
    all: u64,
    /// Names that are wanted.
    names: usize,
}

/// The script for groups of functions, each by the name of what they are for, and how much code it gathers.
///
/// A pattern may match what another group wants; the first that does has it.
pub(super) fn write(sections: &[Section], groups: &[(&str, BTreeSet<String>)]) -> (String, u64) {
    let (mut text, mut size) = (format!("{HEAD}SECTIONS {{\n"), 0);
    for (group, wanted) in groups {
        let _ = writeln!(text, "  .text.{group} : {{");
        for (files, names) in by_files(sections, wanted) {
            let patterns = patterns(&names);
            if patterns.is_empty() {
                continue;
            }
            let _ = writeln!(text, "    {files}(");
            for (pattern, matched) in patterns {
                size += matched;
                let _ = writeln!(text, "      {pattern}");
            }
            text.push_str("    )\n");
        }
        text.push_str("  }\n");
    }
    text.push_str("} INSERT BEFORE .text;\n");
    (text, size)
}

/// What there is under each name, and how much of it is wanted.
fn by_files<'a>(
    sections: &'a [Section],
    wanted: &BTreeSet<String>,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Below>> {
    let mut files: BTreeMap<&str, BTreeMap<&str, Below>> = BTreeMap::new();
    for section in sections {
        let below = files.entry(&section.files).or_default().entry(&section.name).or_default();
        below.all += section.size;
        below.names = 1;
        if wanted.contains(&section.symbol) {
            below.wanted += section.size;
        }
    }
    files
}

/// The fewest patterns that match what is wanted and little else, each with the size it matches.
fn patterns(names: &BTreeMap<&str, Below>) -> BTreeMap<String, u64> {
    let mut below: HashMap<&str, Below> = HashMap::new();
    for (name, own) in names {
        // A name of which any part is wanted is wanted: there is no telling its versions apart.
        let wanted = if own.wanted > 0 { own.all } else { 0 };
        for end in ends(name) {
            let sum = below.entry(&name[..end]).or_default();
            sum.all += own.all;
            sum.wanted += wanted;
            sum.names += usize::from(wanted > 0);
        }
    }
    let mut patterns = BTreeMap::new();
    for (name, _) in names.iter().filter(|(_, own)| own.wanted > 0) {
        let modules = ends(name).map(|end| &name[..end]);
        let dense = |module: &&str| {
            let Below { wanted, all, names } = below[module];
            names > 1 && wanted * 100 >= all * DENSE
        };
        let whole = modules.clone().filter(|module| module.len() < name.len()).find(dense);
        match whole {
            Some(module) => patterns.insert(format!("{module}*"), below[module].all),
            None => patterns.insert((*name).to_owned(), names[name].all),
        };
    }
    patterns
}

/// Where the parts of a mangled name end: each is its length in digits, and so many letters. The last end is the name's.
fn ends(name: &str) -> impl Iterator<Item = usize> + Clone {
    let start = name.find("_ZN").map(|at| at + 3);
    let inner = std::iter::successors(start, move |at| {
        let rest = &name[*at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let end = at + digits + length;
        // The hash has no letters of its own here.
        (end < name.len()).then_some(end)
    });
    inner.skip(1).chain([name.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, size: u64) -> Section {
        let symbol = name.replace("17h*", "17h0123456789abcdefE");
        let symbol = symbol.trim_start_matches(".text.").to_owned();
        Section { symbol, files: "*.wire[-.]*".to_owned(), name: name.to_owned(), size }
    }

    #[test]
    fn a_dense_module_is_taken_whole_and_a_sparse_one_by_name() {
        let sections = [
            section(".text._ZN4wire4json4find17h*", 50),
            section(".text._ZN4wire4json4scan17h*", 40),
            section(".text._ZN4wire4json4oops17h*", 10),
            section(".text._ZN4wire4link4read17h*", 10),
            section(".text._ZN4wire4link4open17h*", 90),
            section(".text.memchr", 5),
        ];
        let started = [sections[4].symbol.clone()].into();
        let wanted = [0, 1, 3, 5].map(|at: usize| sections[at].symbol.clone());
        let (script, size) = write(&sections, &[("served", wanted.into()), ("started", started)]);
        let body = script.strip_prefix(HEAD).unwrap();
        assert_eq!(
            body,
            "\
SECTIONS {
  .text.served : {
    *.wire[-.]*(
      .text._ZN4wire4json*
      .text._ZN4wire4link4read17h*
      .text.memchr
    )
  }
  .text.started : {
    *.wire[-.]*(
      .text._ZN4wire4link4open17h*
    )
  }
} INSERT BEFORE .text;
"
        );
        assert_eq!(size, 205);
    }

    #[test]
    fn nothing_that_is_not_wanted_is_named() {
        let (script, size) =
            write(&[section(".text._ZN4wire4a17h*", 1)], &[("served", BTreeSet::new())]);
        assert!(!script.contains("wire"), "{script}");
        assert_eq!(size, 0);
    }
}
