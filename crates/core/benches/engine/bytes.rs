//! How much memory this process has.

/// Bytes of this process that are in memory now.
pub(crate) fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages
        * nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
            .unwrap()
            .map_or(4096, |size| usize::try_from(size).unwrap())
}
