//! A real Secret Service on its own session bus, as in a desktop session, for the run of one script.
//!
//! Used by tests of `auth` and `cli`. It needs `dbus-daemon` and `gnome-keyring-daemon`.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without it cannot go on"
)]

use std::path::Path;
use std::process::Command;

/// The configuration of a bus that starts no services, in particular no password dialog.
const BUS: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>
</busconfig>"#;

/// A script part: unlocks a keychain with a password and waits until it is on the bus. It ends with the bus.
pub const UNLOCKED: &str = "printf password | gnome-keyring-daemon --unlock --components=secrets
for _ in $(seq 1000); do
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner \
    string:org.freedesktop.secrets | grep -q 'boolean true' && break
done";

/// A script part: locks the keychain again.
pub const LOCKED: &str = "dbus-send --session --print-reply --dest=org.freedesktop.secrets \
    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \
    array:objpath:/org/freedesktop/secrets/collection/login";

/// A shell that runs `script` in its own session, with a keychain kept in `home`.
pub fn session(home: &Path, script: &str) -> Command {
    let config = home.join("bus.conf");
    std::fs::write(&config, BUS).expect("the home can be written to");
    let mut command = Command::new("timeout");
    command
        .args(["60", "dbus-run-session", "--config-file"])
        .arg(&config)
        .args(["--", "sh", "-c", &format!("set -eu\n{script}")])
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("DISPLAY");
    command
}
