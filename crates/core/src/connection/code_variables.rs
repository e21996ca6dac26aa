//! Environment variables that decide which code a process runs: paths of programs and libraries, preloads of
//! interpreters, helpers of tools.
//!
//! Used by `connection::env_file`. A project's `envFile` must not set them: a person approves the entry, not the
//! file's content, so a changed file would choose the program. In the entry's `env` they are allowed, where the
//! person reads them.

/// Prefixes of these names.
const CODE_VARIABLE_PREFIXES: [&str; 9] = [
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "GIT_CONFIG",
    "NPM_CONFIG_",
    "YARN_",
    "COREHOST_",
    "CORECLR_",
    "COR_",
];

/// These names, in alphabetical order.
const CODE_VARIABLE_NAMES: [&str; 70] = [
    "AR",
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "BUNDLE_GEMFILE",
    "BUNDLE_PATH",
    "BUN_INSTALL",
    "BUN_OPTIONS",
    "CC",
    "CLASSPATH",
    "COMSPEC",
    "CXX",
    "DENO_DIR",
    "DENO_INSTALL_ROOT",
    "DOCKER_CONFIG",
    "DOTNET_STARTUP_HOOKS",
    "EDITOR",
    "ELECTRON_RUN_AS_NODE",
    "ENV",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GLIBC_TUNABLES",
    "GOFLAGS",
    "HOME",
    "IFS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSOPEN",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "VISUAL",
    "_JAVA_OPTIONS",
];

/// Whether a variable decides which code runs, in any case of letters: some tools ignore case.
pub(super) fn chooses_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CODE_VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || CODE_VARIABLE_NAMES.binary_search(&name.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{CODE_VARIABLE_NAMES, chooses_code};

    #[test]
    fn what_chooses_code_is_told_from_what_does_not() {
        assert!(CODE_VARIABLE_NAMES.is_sorted(), "binary search needs the order");
        for name in ["PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"] {
            assert!(chooses_code(name), "{name}");
        }
        for name in ["NODE_OPTIONS", "PYTHONPATH", "BASH_ENV", "npm_config_node_options", "GIT_SSH"]
        {
            assert!(chooses_code(name), "{name}");
        }
        for name in ["API_KEY", "NODE_ENV", "PYTHONUNBUFFERED", "GIT_TOKEN", "PATHS", "LDAP_URL"] {
            assert!(!chooses_code(name), "{name}");
        }
    }
}
