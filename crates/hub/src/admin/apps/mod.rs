//! MCP Apps in the console: the listener of their frames, the policy of each frame, and the calls of apps.
//!
//! An app is a page of a server. The console shows it in a frame with an opaque origin, inside a frame of another
//! origin than the console's: that one comes from a listener of its own, which has no cookies, no API and no other
//! page. `docs/console.md` describes it for people, `docs/reference/admin.md` for programs.
//!
//! Used by `access`, `call`, `lease`, `loopback` and `routes`. It does not speak the protocol of apps: the console's
//! `app-host.js` does.

mod call;
mod frames;
mod listener;
mod policy;

pub(super) use call::{capabilities, check_call, has_apps, servers_with_hidden_apps, session};
pub(super) use frames::{AppFrames, open_frame};
pub(super) use listener::AppsListener;
