//! The script for the linker: functions by their names, or whole modules where nearly all of one is wanted. Where few
//! versions of a generic function are, these are named with their hashes, which last as long as the toolchain and the
//! dependencies do; everything else lasts longer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::map::Section;

/// A module, or a name with all its versions, is taken whole if at least this much of it is wanted, in percent of its size.
const DENSE: u64 = 70;

const HEAD: &str = "\
/* What runs once clients come, and what runs at the start, each laid side by side: it is found in few pages, and the\n\
   rest of the program need not be in memory. Made by `cargo xtask layout`; nothing but speed and memory depends on it. */\n";

/// Sizes below one prefix of names.
#[derive(Default)]
struct Below {
    wanted: u64,
    all: u64,
    /// Names that are wanted.
    names: usize,
}

/// What stands under one name.
#[derive(Default)]
struct Versions<'a> {
    sizes: Below,
    /// Those that are wanted.
    wanted: Vec<&'a Section>,
}

// === impl Below ===

impl Below {
    fn is_dense(&self) -> bool {
        self.wanted * 100 >= self.all * DENSE
    }
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
) -> BTreeMap<&'a str, BTreeMap<&'a str, Versions<'a>>> {
    let mut files: BTreeMap<&str, BTreeMap<&str, Versions<'_>>> = BTreeMap::new();
    for section in sections {
        let versions = files.entry(&section.files).or_default().entry(&section.name).or_default();
        versions.sizes.all += section.size;
        if wanted.contains(&section.symbol) {
            versions.sizes.wanted += section.size;
            versions.wanted.push(section);
        }
    }
    files
}

/// The fewest patterns that match what is wanted and little else, each with the size it matches.
fn patterns(names: &BTreeMap<&str, Versions<'_>>) -> BTreeMap<String, u64> {
    let mut below: HashMap<&str, Below> = HashMap::new();
    for (name, versions) in names {
        for end in ends(name) {
            let sum = below.entry(&name[..end]).or_default();
            sum.all += versions.sizes.all;
            sum.wanted += versions.sizes.wanted;
            sum.names += usize::from(versions.sizes.wanted > 0);
        }
    }
    let mut patterns = BTreeMap::new();
    for (name, versions) in names.iter().filter(|(_, versions)| versions.sizes.wanted > 0) {
        let modules = ends(name).map(|end| &name[..end]).filter(|module| module.len() < name.len());
        let whole = |module: &&str| below[module].names > 1 && below[module].is_dense();
        if let Some(module) = modules.clone().find(whole) {
            patterns.insert(format!("{module}*"), below[module].all);
        } else if versions.sizes.is_dense() {
            patterns.insert((*name).to_owned(), versions.sizes.all);
        } else {
            let exact = versions.wanted.iter().map(|one| (one.exact.clone(), one.size));
            patterns.extend(exact);
        }
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
        let (files, exact) = ("*.wire[-.]*".to_owned(), format!(".text.{symbol}*"));
        Section { symbol, files, name: name.to_owned(), exact, size }
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
    fn one_version_of_many_is_named_with_its_hash() {
        let name = ".text._ZN4core4poll17h*";
        let version = |hash: &str, size| {
            let symbol = name.replace("17h*", &format!("17h{hash}E")).replace(".text.", "");
            Section { exact: format!(".text.{symbol}*"), symbol, ..section(name, size) }
        };
        let sections = [version("0123456789abcdef", 10), version("fedcba9876543210", 90)];
        let (script, size) = write(&sections, &[("served", [sections[0].symbol.clone()].into())]);
        assert!(script.contains("      .text._ZN4core4poll17h0123456789abcdefE*\n"), "{script}");
        assert_eq!(size, 10);
    }

    #[test]
    fn nothing_that_is_not_wanted_is_named() {
        let (script, size) =
            write(&[section(".text._ZN4wire4a17h*", 1)], &[("served", BTreeSet::new())]);
        assert!(!script.contains("wire"), "{script}");
        assert_eq!(size, 0);
    }
}
