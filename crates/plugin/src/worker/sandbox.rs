//! A worker closed in, where that is asked for: it reads what a program needs to run and its own plugin, writes
//! nothing, and starts nothing. The network stays open; plugins are asked for what is out there.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
    path_beneath_rules,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::Load;

/// What programs read to run: libraries, certificates, names of hosts, the time zone, themselves.
const READ: [&str; 8] =
    ["/usr", "/lib", "/lib64", "/etc", "/run/systemd/resolve", "/proc/self", "/sys", "/dev"];
/// What a program may write to without anything coming of it.
const WRITTEN: [&str; 2] = ["/dev/null", "/dev/tty"];

/// Calls that no plugin needs: other programs, other processes, the system itself.
const REFUSED: [i64; 14] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
];

/// Closes this process in. Threads that it starts are closed in with it.
pub(super) fn close_in(load: &Load) -> Result<(), String> {
    files(load)?;
    calls().map_err(|error| format!("calls cannot be filtered: {error}"))
}

fn files(load: &Load) -> Result<(), String> {
    let failed = |error: landlock::RulesetError| format!("files cannot be closed off: {error}");
    let abi = ABI::V3;
    let own = match load {
        Load::File(path) => path.parent().map(Path::to_owned),
        Load::Builtin(_) => None,
    };
    let readable: Vec<PathBuf> = READ.iter().map(PathBuf::from).chain(own).collect();
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, AccessFs::from_read(abi))))
        .and_then(|rules| rules.add_rules(path_beneath_rules(WRITTEN, AccessFs::from_file(abi))))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(failed)?;
    match restricted.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock to close files off".into()),
        _ => Ok(()),
    }
}

fn calls() -> Result<(), Box<dyn std::error::Error>> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let refused = REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    let errno = u32::from_ne_bytes(libc::EPERM.to_ne_bytes());
    let filter = SeccompFilter::new(
        refused,
        SeccompAction::Allow,
        SeccompAction::Errno(errno),
        architecture,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
