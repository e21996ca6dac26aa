//! The system call filter of the sandbox (seccomp).
//!
//! Used by `worker::sandbox`. It is an allow list ([`allowed`]): a call that is not on it fails with `EPERM`.
//! Some calls are allowed only with arguments that stay within the process, for example a signal to itself. A
//! call through the 32-bit entry of a 64-bit kernel ends the process, since its numbers mean other calls.
//!
//! A second, small filter answers `ENOSYS` where programs have a fallback: calls with arguments in memory,
//! where no filter can read them, and calls newer than this list.

mod allowed;

use std::collections::BTreeMap;

use allowed::AllowedCalls;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Calls with arguments in memory and a fallback in every libc: `clone` and `openat` can be filtered. Their
/// numbers are equal on all architectures, as those of all later calls.
const CLONE3: u32 = 435;
const OPENAT2: u32 = 437;

/// The first call (`cachestat`, Linux 6.5) that programs still expect kernels to lack. The numbers of x86-64's x32
/// interface are larger as well.
const FIRST_UNKNOWN: u32 = 451;

/// Instructions of classic BPF: `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_JMP | BPF_JGE | BPF_K`,
/// `BPF_RET | BPF_K`.
const LOAD: u16 = 0x20;
const SKIP_IF_EQUAL: u16 = 0x15;
const SKIP_IF_NOT_LESS: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Why system calls were not restricted.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallsError {
    #[error("{0}")]
    Filter(#[from] seccompiler::BackendError),
    #[error("{0}")]
    Kernel(#[from] seccompiler::Error),
}

/// Restricts the calling thread and all threads that it will start.
pub(super) fn restrict() -> Result<(), CallsError> {
    seccompiler::apply_filter(&allow_list(std::process::id().cast_signed())?)?;
    // If two filters refuse a call, the error comes from the one that was installed last.
    Ok(seccompiler::apply_filter(&fallbacks())?)
}

fn allow_list(own_pid: i32) -> Result<BpfProgram, CallsError> {
    let mut rules = BTreeMap::new();
    for AllowedCalls { calls, when } in allowed::list(own_pid) {
        let when: Vec<_> = when.iter().map(|all| rule(all)).collect::<Result<_, _>>()?;
        rules.extend(calls.iter().map(|call| (*call, when.clone())));
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?;
    Ok(filter.try_into()?)
}

/// All argument rules must hold, on the low 32 bits under `mask`. The kernel reads no more of these
/// arguments.
fn rule(all: &[allowed::ArgumentRule]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = all.iter().map(|argument| {
        let compared = SeccompCmpOp::MaskedEq(argument.mask);
        SeccompCondition::new(argument.index, SeccompCmpArgLen::Dword, compared, argument.value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn fallbacks() -> BpfProgram {
    let step = |code: u16, jt, k| sock_filter { code, jt, jf: 0, k };
    let no_such_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    vec![
        // The number of the call is the first word of a filter's input.
        step(LOAD, 0, 0),
        step(SKIP_IF_EQUAL, 3, CLONE3),
        step(SKIP_IF_EQUAL, 2, OPENAT2),
        step(SKIP_IF_NOT_LESS, 1, FIRST_UNKNOWN),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, no_such_call),
    ]
}
