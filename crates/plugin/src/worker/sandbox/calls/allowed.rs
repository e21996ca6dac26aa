//! The allow list of system calls: those a program needs to compute, wait, read files that Landlock permits,
//! and use the network.
//!
//! Used by `sandbox::calls`. Not on it, whatever a kernel offers: starting programs and processes, other
//! processes in any way, `AF_UNIX` beyond a pair of connected ends, modes, owners, times and attributes of
//! files, changes to folders, terminals, namespaces, mounts, keys, clocks, `io_uring` (which makes calls past
//! every filter), memory shared with other processes.

use libc::{
    SYS_accept, SYS_accept4, SYS_bind, SYS_brk, SYS_capget, SYS_chdir, SYS_clock_getres,
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_clone, SYS_close, SYS_close_range, SYS_connect,
    SYS_copy_file_range, SYS_dup, SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_eventfd2, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_faccessat2,
    SYS_fadvise64, SYS_fallocate, SYS_fchdir, SYS_fcntl, SYS_fdatasync, SYS_fgetxattr,
    SYS_flistxattr, SYS_flock, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex,
    SYS_futex_waitv, SYS_get_mempolicy, SYS_get_robust_list, SYS_getcpu, SYS_getcwd,
    SYS_getdents64, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getgroups, SYS_getitimer,
    SYS_getpeername, SYS_getpgid, SYS_getpid, SYS_getppid, SYS_getpriority, SYS_getrandom,
    SYS_getresgid, SYS_getresuid, SYS_getrlimit, SYS_getrusage, SYS_getsid, SYS_getsockname,
    SYS_getsockopt, SYS_gettid, SYS_gettimeofday, SYS_getuid, SYS_getxattr, SYS_ioctl,
    SYS_ioprio_get, SYS_kill, SYS_lgetxattr, SYS_listen, SYS_listxattr, SYS_llistxattr, SYS_lseek,
    SYS_madvise, SYS_mbind, SYS_membarrier, SYS_memfd_create, SYS_mincore, SYS_mlock, SYS_mlock2,
    SYS_mlockall, SYS_mmap, SYS_mprotect, SYS_mremap, SYS_msync, SYS_munlock, SYS_munlockall,
    SYS_munmap, SYS_nanosleep, SYS_newfstatat, SYS_openat, SYS_pipe2, SYS_pkey_alloc,
    SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_prctl, SYS_pread64, SYS_preadv, SYS_preadv2,
    SYS_prlimit64, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_read, SYS_readahead,
    SYS_readlinkat, SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg, SYS_restart_syscall,
    SYS_rseq, SYS_rt_sigaction, SYS_rt_sigpending, SYS_rt_sigprocmask, SYS_rt_sigqueueinfo,
    SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_tgsigqueueinfo,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_getaffinity,
    SYS_sched_getattr, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_rr_get_interval,
    SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler,
    SYS_sched_yield, SYS_seccomp, SYS_sendfile, SYS_sendmmsg, SYS_sendmsg, SYS_sendto,
    SYS_set_mempolicy, SYS_set_robust_list, SYS_set_tid_address, SYS_setitimer, SYS_setpriority,
    SYS_setrlimit, SYS_setsockopt, SYS_shutdown, SYS_sigaltstack, SYS_signalfd4, SYS_socket,
    SYS_socketpair, SYS_splice, SYS_statfs, SYS_statx, SYS_sysinfo, SYS_tee, SYS_tgkill,
    SYS_timer_create, SYS_timer_delete, SYS_timer_getoverrun, SYS_timer_gettime, SYS_timer_settime,
    SYS_timerfd_create, SYS_timerfd_gettime, SYS_timerfd_settime, SYS_times, SYS_umask, SYS_uname,
    SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
};

/// Some system calls, and the condition under which they are allowed.
pub(super) struct AllowedCalls {
    pub(super) calls: &'static [i64],
    /// The alternatives, one of which must hold; in each, all argument rules must hold. Empty: always
    /// allowed.
    pub(super) when: Vec<Vec<ArgumentRule>>,
}

/// The value that the bits of `mask` in an argument must have.
pub(super) struct ArgumentRule {
    pub(super) index: u8,
    pub(super) mask: u64,
    pub(super) value: u64,
}

const FILES: &[i64] = &[
    SYS_chdir,
    SYS_close,
    SYS_close_range,
    SYS_copy_file_range,
    SYS_dup,
    SYS_dup3,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fadvise64,
    SYS_fallocate,
    SYS_fchdir,
    SYS_fdatasync,
    SYS_fgetxattr,
    SYS_flistxattr,
    SYS_flock,
    SYS_fstat,
    SYS_fstatfs,
    SYS_fsync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_getdents64,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_lseek,
    SYS_newfstatat,
    SYS_pipe2,
    SYS_pread64,
    SYS_preadv,
    SYS_preadv2,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_read,
    SYS_readahead,
    SYS_readlinkat,
    SYS_readv,
    SYS_sendfile,
    SYS_splice,
    SYS_statfs,
    SYS_statx,
    SYS_tee,
    SYS_umask,
    SYS_vmsplice,
    SYS_write,
    SYS_writev,
];

const MEMORY: &[i64] = &[
    SYS_brk,
    SYS_get_mempolicy,
    SYS_madvise,
    SYS_mbind,
    SYS_membarrier,
    SYS_memfd_create,
    SYS_mincore,
    SYS_mlock,
    SYS_mlock2,
    SYS_mlockall,
    SYS_mmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_msync,
    SYS_munlock,
    SYS_munlockall,
    SYS_munmap,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
    SYS_set_mempolicy,
];

const THREADS: &[i64] = &[
    SYS_exit,
    SYS_exit_group,
    SYS_futex,
    SYS_futex_waitv,
    SYS_get_robust_list,
    SYS_gettid,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_wait4,
    SYS_waitid,
];

const QUERIES: &[i64] = &[
    SYS_capget,
    SYS_getcpu,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getpid,
    SYS_getppid,
    SYS_getpriority,
    SYS_getrandom,
    SYS_getresgid,
    SYS_getresuid,
    SYS_getrlimit,
    SYS_getrusage,
    SYS_getsid,
    SYS_getuid,
    SYS_ioprio_get,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_getaffinity,
    SYS_sched_getattr,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_rr_get_interval,
    SYS_sysinfo,
    SYS_times,
    SYS_uname,
];

/// Calls about the process itself, which cannot name another. A further filter can only refuse more.
const OWN_SETTINGS: &[i64] = &[SYS_prctl, SYS_seccomp, SYS_setrlimit];

const TIME_AND_EVENTS: &[i64] = &[
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_getitimer,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_ppoll,
    SYS_pselect6,
    SYS_rt_sigaction,
    SYS_rt_sigpending,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_setitimer,
    SYS_sigaltstack,
    SYS_signalfd4,
    SYS_timer_create,
    SYS_timer_delete,
    SYS_timer_getoverrun,
    SYS_timer_gettime,
    SYS_timer_settime,
    SYS_timerfd_create,
    SYS_timerfd_gettime,
    SYS_timerfd_settime,
];

const SOCKETS: &[i64] = &[
    SYS_accept,
    SYS_accept4,
    SYS_bind,
    SYS_connect,
    SYS_getpeername,
    SYS_getsockname,
    SYS_getsockopt,
    SYS_listen,
    SYS_recvfrom,
    SYS_recvmmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_sendmsg,
    SYS_sendto,
    SYS_setsockopt,
    SYS_shutdown,
];

/// Calls that only x86-64 has; their successors on other architectures are above.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[i64] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_lstat,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_signalfd,
    libc::SYS_stat,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[i64] = &[];

/// Signals and their queues, with the process as the first argument.
const SIGNALS: &[i64] = &[SYS_kill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_tgkill];

/// Limits and scheduling, with the process or thread as the first argument; 0 is the caller.
const SCHEDULING: &[i64] = &[
    SYS_prlimit64,
    SYS_sched_setaffinity,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
];

/// As the first argument of `setpriority`: the second is a process, and 0 the caller.
const PRIO_PROCESS: i32 = 0;

/// The flags of a thread without a namespace of its own. Without `CLONE_THREAD` it would be a process.
const CLONE_MASK: i32 = libc::CLONE_THREAD
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;

/// The type of a socket, without its flags.
const SOCKET_TYPE_MASK: i32 = 0xf;

/// Without `F_SETOWN` and `F_SETSIG`, which make the kernel signal another process.
const FCNTL_COMMANDS: [i32; 16] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_GETPIPE_SZ,
    libc::F_SETPIPE_SZ,
    libc::F_ADD_SEALS,
    libc::F_GET_SEALS,
];

/// Queries about descriptors, terminals and network interfaces. Not on the list: typing into a terminal
/// (`TIOCSTI`), changing attributes of a file (`FS_IOC_SETFLAGS`), and making the kernel signal another
/// process (`FIOSETOWN`).
const IOCTL_COMMANDS: [u64; 15] = [
    libc::FIOCLEX,
    libc::FIONCLEX,
    libc::FIONBIO,
    libc::FIONREAD,
    libc::TCGETS,
    libc::TCGETS2,
    libc::TIOCGWINSZ,
    libc::SIOCGIFNAME,
    libc::SIOCGIFCONF,
    libc::SIOCGIFFLAGS,
    libc::SIOCGIFADDR,
    libc::SIOCGIFNETMASK,
    libc::SIOCGIFMTU,
    libc::SIOCGIFHWADDR,
    libc::SIOCGIFINDEX,
];

/// The whole list, for the process `own_pid`.
pub(super) fn list(own_pid: i32) -> Vec<AllowedCalls> {
    let always = [FILES, MEMORY, THREADS, QUERIES, OWN_SETTINGS, TIME_AND_EVENTS, SOCKETS, LEGACY];
    let mut list: Vec<_> = always.into_iter().map(|calls| allow(calls, Vec::new())).collect();
    list.extend([
        allow(SIGNALS, vec![vec![equal(0, own_pid)]]),
        allow(SCHEDULING, vec![vec![equal(0, 0)]]),
        allow(&[SYS_setpriority], vec![vec![equal(0, PRIO_PROCESS), equal(1, 0)]]),
        allow(&[SYS_clone], vec![vec![masked(0, CLONE_MASK, libc::CLONE_THREAD)]]),
        allow(&[SYS_fcntl], FCNTL_COMMANDS.map(|command| vec![equal(1, command)]).into()),
        allow(&[SYS_ioctl], IOCTL_COMMANDS.map(|command| vec![whole(1, command)]).into()),
        allow(&[SYS_openat], opening(2)),
        allow(&[SYS_socket], families()),
        allow(&[SYS_socketpair], connected_pair()),
    ]);
    #[cfg(target_arch = "x86_64")]
    list.push(allow(&[libc::SYS_open], opening(1)));
    list
}

/// Opening without `O_TRUNC`: Landlock before Linux 6.2 does not stop a file that is opened for reading from
/// being truncated.
fn opening(flags: u8) -> Vec<Vec<ArgumentRule>> {
    vec![
        vec![masked(flags, libc::O_TRUNC, 0)],
        vec![masked(flags, libc::O_ACCMODE, libc::O_WRONLY)],
        vec![masked(flags, libc::O_ACCMODE, libc::O_RDWR)],
    ]
}

/// The internet families, and netlink for queries about network interfaces.
fn families() -> Vec<Vec<ArgumentRule>> {
    vec![
        vec![equal(0, libc::AF_INET)],
        vec![equal(0, libc::AF_INET6)],
        vec![equal(0, libc::AF_NETLINK), equal(2, libc::NETLINK_ROUTE)],
    ]
}

/// Runtimes wake themselves through a socket pair. A stream pair stays connected; a datagram pair could send
/// elsewhere.
fn connected_pair() -> Vec<Vec<ArgumentRule>> {
    vec![vec![equal(0, libc::AF_UNIX), masked(1, SOCKET_TYPE_MASK, libc::SOCK_STREAM)]]
}

fn allow(calls: &'static [i64], when: Vec<Vec<ArgumentRule>>) -> AllowedCalls {
    AllowedCalls { calls, when }
}

fn equal(index: u8, value: i32) -> ArgumentRule {
    masked(index, -1, value)
}

fn whole(index: u8, value: u64) -> ArgumentRule {
    ArgumentRule { index, mask: u64::from(u32::MAX), value }
}

/// Compares as unsigned 32-bit values, as the kernel does.
fn masked(index: u8, mask: i32, value: i32) -> ArgumentRule {
    let [mask, value] = [mask, value].map(|bits| u64::from(bits.cast_unsigned()));
    ArgumentRule { index, mask, value }
}
