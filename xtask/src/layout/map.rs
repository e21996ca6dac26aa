//! What the linker says it made the program of: a section of its own for each function.

/// A function's code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The function, as a profiler finds it in the program.
    pub(super) symbol: String,
    /// The files in which it is looked for, and its name there: both as patterns, without what changes from build to build.
    pub(super) files: String,
    pub(super) name: String,
    /// The same with its hash, which tells versions of a generic function apart.
    pub(super) exact: String,
    pub(super) size: u64,
}

/// Every function in a map of the linker, in its order.
pub(super) fn sections(map: &str) -> Vec<Section> {
    map.lines().filter_map(section).collect()
}

/// A line is an address, the same again, a size, an alignment, and `file:(section)`.
fn section(line: &str) -> Option<Section> {
    let mut words = line.split_ascii_whitespace();
    let size = u64::from_str_radix(words.nth(2)?, 16).ok()?;
    let (file, name) = words.nth(1)?.strip_suffix(')')?.rsplit_once(":(")?;
    let symbol = name.strip_prefix(".text.")?;
    let symbol = symbol.strip_prefix("unlikely.").unwrap_or(symbol).to_owned();
    let files = if is_of_the_toolchain(&symbol) { "*".to_owned() } else { files(file)? };
    let (name, exact) = patterns(name);
    Some(Section { symbol, files, name, exact, size })
}

/// Those have the same name wherever they are.
fn is_of_the_toolchain(symbol: &str) -> bool {
    symbol.starts_with("_R")
}

/// A pattern for the files of one crate, or of one library in C.
fn files(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    if let Some((library, _)) = name.split_once(".rlib") {
        let library = library.rsplit_once('-').map_or(library, |(library, _)| library);
        return Some(format!("*{library}*"));
    }
    // The program's name, then the crate's, each with a hash.
    let of_crate = name.split('.').nth(1)?;
    let of_crate = of_crate.split_once('-').map_or(of_crate, |(of_crate, _)| of_crate);
    Some(format!("*.{of_crate}[-.]*"))
}

/// The name up to its hash, and with it.
fn patterns(name: &str) -> (String, String) {
    let hash = name.match_indices("17h").find(|(at, _)| {
        let hash = name.get(at + 3..at + 20);
        hash.is_some_and(|hash| {
            hash.ends_with('E') && hash[..16].bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    if let Some((at, _)) = hash {
        return (format!("{}17h*", &name[..at]), format!("{}*", &name[..at + 20]));
    }
    let pattern = match name.split_once(".llvm.") {
        Some((name, _)) => format!("{name}.llvm.*"),
        None => name.to_owned(),
    };
    (pattern.clone(), pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_patterns() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol
          7d1e50           7d1e50 18181818    16 .text
          7d1e50           7d1e50      139    16         /t/deps/switchboard-901e.switchboard_wire-c493.switchboard_wire.bf48-cgu.0.rcgu.o.rcgu.o:(.text._ZN16switchboard_wire4json4find17h0123456789abcdefE)
          7d1e50           7d1e50      139    16                 _ZN16switchboard_wire4json4find17h0123456789abcdefE
          7d1e90           7d1e90       10    16         /t/deps/switchboard-901e.switchboard.1836-cgu.0.rcgu.o:(.text.unlikely._ZN4core4grow17h0123456789abcdefE.llvm.12)
          7d1f00           7d1f00       20    16         /t/rustcX/libtikv_jemalloc_sys-e98.rlib(jemalloc.pic.o):(.text._rjem_malloc)
          7d1f20           7d1f20       27    16         /t/deps/switchboard-901e.std-a79a.std.39b0-cgu.0.rcgu.o:(.text._RNvNtCsX_3std4time3now.llvm.77)
          7d1f50           7d1f50       27    16         /t/crt1.o:(.text)
";
        let row = |files: &str, name: &str, symbol: &str, size| Section {
            symbol: symbol.to_owned(),
            files: files.to_owned(),
            name: name.to_owned(),
            exact: name.replace("17h*", "17h0123456789abcdefE*"),
            size,
        };
        assert_eq!(
            sections(map),
            [
                row(
                    "*.switchboard_wire[-.]*",
                    ".text._ZN16switchboard_wire4json4find17h*",
                    "_ZN16switchboard_wire4json4find17h0123456789abcdefE",
                    0x139
                ),
                row(
                    "*.switchboard[-.]*",
                    ".text.unlikely._ZN4core4grow17h*",
                    "_ZN4core4grow17h0123456789abcdefE.llvm.12",
                    0x10
                ),
                row("*libtikv_jemalloc_sys*", ".text._rjem_malloc", "_rjem_malloc", 0x20),
                row(
                    "*",
                    ".text._RNvNtCsX_3std4time3now.llvm.*",
                    "_RNvNtCsX_3std4time3now.llvm.77",
                    0x27
                ),
            ]
        );
    }
}
