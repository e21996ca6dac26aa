//! What the start leaves in memory, given back by programs that stay.
//!
//! Most of the code that reads arguments and settings never runs again, and counts as memory of this process all the
//! same. Its pages are those of the program's file: whatever is used again is mapped again, at the price of one fault.

use std::ops::Range;
use std::time::Duration;

/// After this long nothing that the start began is under way.
const SETTLED: Duration = Duration::from_secs(1);

/// Gives back the program's own code and constants, as far as they are in memory: now, and once all has settled.
pub(crate) fn forget_start() {
    forget();
    tokio::spawn(async {
        tokio::time::sleep(SETTLED).await;
        forget();
    });
}

/// A debugger writes its breakpoints into the code, where they would be lost.
fn forget() {
    #[cfg(all(target_os = "linux", not(debug_assertions)))]
    linux::forget();
}

/// Where the program's code and constants are, among the mappings of a process in the words of the kernel.
///
/// What was written to as the program was loaded follows the code, and is left alone.
#[cfg_attr(not(all(target_os = "linux", not(debug_assertions))), allow(dead_code))]
fn unchanging(maps: &str, program: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| line.ends_with(program)) {
        let mut words = line.split(' ');
        let (Some(place), Some(rights)) = (words.next(), words.next()) else { break };
        let place = place.split_once('-').and_then(|(start, end)| {
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some(number(start)?..number(end)?)
        });
        match (place, rights) {
            (Some(place), "r--p") => found.push(place),
            (Some(place), "r-xp") => {
                found.push(place);
                return found;
            }
            _ => break,
        }
    }
    Vec::new()
}

#[cfg(target_os = "linux")]
#[cfg_attr(debug_assertions, allow(dead_code))]
mod linux {
    use std::ffi::c_void;
    use std::ptr::{NonNull, without_provenance_mut};

    use nix::sys::mman::{MmapAdvise, madvise};

    /// Nothing depends on it, so nobody hears of it if the kernel does not.
    pub(super) fn forget() {
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
        let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
        for place in
            program.to_str().map(|program| super::unchanging(&maps, program)).into_iter().flatten()
        {
            let start = NonNull::new(without_provenance_mut::<c_void>(place.start));
            #[allow(unsafe_code, reason = "the kernel is told about memory by its address")]
            // SAFETY: these are private mappings of a file that the kernel keeps as it is while it runs, and nothing was
            // ever written to them; a page of them that is read after this is the same page.
            let _ = start
                .map(|start| unsafe { madvise(start, place.len(), MmapAdvise::MADV_DONTNEED) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5600-5700 r--p 00000000 fe:00 24 /usr/bin/switchboard
5700-5900 r-xp 00100000 fe:00 24 /usr/bin/switchboard
5900-5a00 r--p 00300000 fe:00 24 /usr/bin/switchboard
5a00-5b00 rw-p 00400000 fe:00 24 /usr/bin/switchboard
6000-6100 rw-p 00000000 00:00 0 [heap]
7000-7100 r-xp 00000000 fe:00 25 /usr/lib/libc.so.6
";

    #[test]
    fn what_was_written_to_is_left_alone() {
        assert_eq!(unchanging(MAPS, "/usr/bin/switchboard"), [0x5600..0x5700, 0x5700..0x5900]);
    }

    #[test]
    fn what_is_unusual_is_left_alone() {
        let writable = MAPS.replace("5700-5900 r-xp", "5700-5900 rwxp");
        let no_code = MAPS.replace("r-xp", "r--p");
        for (maps, program) in [
            (&*writable, "/usr/bin/switchboard"),
            (&*no_code, "/usr/bin/switchboard"),
            (MAPS, "/usr/bin/other"),
            ("", ""),
        ] {
            assert!(unchanging(maps, program).is_empty(), "{program} in {maps}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_goes_on_without_what_it_has_forgotten() {
        let before = code_in_memory();
        linux::forget();
        let after = code_in_memory();
        assert!(after < before, "{after} KiB of {before}");
    }

    /// How much of this program's code is in memory, in KiB.
    #[cfg(target_os = "linux")]
    fn code_in_memory() -> u64 {
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let program = program.to_str().unwrap();
        let mut lines = mappings.lines();
        lines.find(|line| line.contains(" r-xp ") && line.ends_with(program)).unwrap();
        let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        resident.trim().trim_end_matches(" kB").parse().unwrap()
    }
}
