//! The help window: keys by view.
//!
//! Used by `view`. The text is written by hand; `app::act` has the real actions.

use super::page::Page;
use super::text::Tone;

/// Keys with their actions, by section.
const KEYS: [(&str, &[(&str, &str)]); 5] = [
    (
        "Everywhere",
        &[
            ("1 … 7, Tab", "the views; ← and → too"),
            ("↑ ↓, j k", "up and down; PgUp, PgDn, Home, End"),
            ("Enter", "opens what is chosen"),
            ("Esc", "closes the window, or forgets what is looked for"),
            ("f", "finds while you type; Enter keeps it"),
            (": /", "the command line; Tab completes, ↑ goes back"),
            ("^L ^Z ^C", "draws anew, goes to the background, quits; q quits too"),
        ],
    ),
    (
        "Servers",
        &[
            ("e d", "enable, disable"),
            ("r", "connect anew"),
            ("a", "look at what awaits approval, and decide"),
            ("i o", "sign in, sign out"),
            ("l t", "its log, live; its tools"),
            ("c", "change its entry"),
            ("n x", "new, remove"),
        ],
    ),
    (
        "Forms",
        &[
            ("Tab ↑ ↓", "from field to field"),
            ("← → Space", "choose; ^N takes what the server offers"),
            ("^S", "does it; Enter does on the button"),
            ("^X", "cancels the call"),
        ],
    ),
    (
        "Questions",
        &[
            ("o s p a", "allow once, for the session, in the project, always"),
            ("d n", "deny, never allow"),
            ("x", "forgets an answer that is remembered, below the questions"),
        ],
    ),
    (
        "Commands",
        &[
            ("/mcp", "the servers"),
            ("/mcp enable", "[NAME|all], and disable"),
            ("/mcp reconnect", "NAME"),
            ("/mcp__SERVER__…", "a prompt, with its arguments in order"),
            ("@SERVER:URI", "reads a resource"),
        ],
    ),
];

pub(super) fn page(page: &mut Page) -> String {
    for (title, keys) in KEYS {
        page.heading(title);
        for (key, what) in keys {
            page.fact(key, what);
        }
    }
    page.gap();
    page.text("The mouse works too: tabs, rows, the bar at the bottom, the wheel.", Tone::Faint);
    "help".to_owned()
}
