//! A real Secret Service on a bus of its own: what a desktop session has, for as long as one script runs in it.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without it cannot go on"
)]

use std::path::Path;
use std::process::Command;

/// A bus that starts nothing by itself, least of all a window that asks for a password.
const BUS: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>
</busconfig>"#;

/// For a script: a keychain that a person has typed their password into, once it is on the bus. It ends with the bus.
pub const UNLOCKED: &str = "printf password | gnome-keyring-daemon --unlock --components=secrets
for _ in $(seq 1000); do
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner \
    string:org.freedesktop.secrets | grep -q 'boolean true' && break
done";

/// For a script: it is locked again.
pub const LOCKED: &str = "dbus-send --session --print-reply --dest=org.freedesktop.secrets \
    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \
    array:objpath:/org/freedesktop/secrets/collection/login";

/// A shell that runs `script` in a session of its own, whose keychain is kept in `home`.
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
