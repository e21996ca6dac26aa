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
            ("1 … 7, Tab, ← →", "switch the view"),
            ("↑ ↓, j k", "move; PgUp, PgDn, Home and End too"),
            ("Enter", "open the row"),
            ("Esc", "close the window, or reset marks, search and filter"),
            ("/", "find while you type; Enter keeps the search"),
            ("s f", "sort by the next column; show the next state only"),
            ("Space", "mark several rows"),
            ("y J", "copy the row or window; show it as JSON"),
            (":", "command line; Tab completes, ↑ goes back"),
            ("^L ^Z ^C q", "redraw, suspend, quit, quit"),
        ],
    ),
    (
        "Servers",
        &[
            ("e d r", "enable, disable, reconnect: one server or those marked"),
            ("a", "review what awaits approval"),
            ("i o", "sign in, sign out"),
            ("l t", "follow the log; show the tools"),
            ("c", "change the entry"),
            ("n x", "add a server, remove one"),
        ],
    ),
    (
        "Forms",
        &[
            ("Tab ↑ ↓", "go from field to field, and around"),
            ("← → Space", "choose; ^N completes"),
            ("^S", "submit; Enter on the button too"),
            ("^X ^Y", "cancel the call, copy its result"),
        ],
    ),
    (
        "Questions",
        &[
            ("o s p a", "allow once, for this session, in this project, always"),
            ("d n", "deny, always deny"),
            ("x", "forget a remembered answer, below the questions"),
        ],
    ),
    (
        "Commands",
        &[
            (":mcp enable", "NAME or all; disable too"),
            (":mcp reconnect", "NAME"),
            (":mcp__SERVER__…", "get a prompt, with its arguments in order"),
            ("@SERVER:URI", "read a resource"),
            (":servers", "switch the view by its name"),
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
    page.text("The mouse works too: tabs, rows, keys at the bottom, the wheel.", Tone::Faint);
    "help".to_owned()
}
