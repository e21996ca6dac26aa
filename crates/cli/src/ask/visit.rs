//! URL elicitations on the command line: shows the host of the page, and opens it if the person agrees.
//!
//! Used by `ask`, and by `commands::login`, `commands::xaa` and `ui` to open pages. It never opens a page without a
//! question or a command of the person.

use std::process::{Command, Stdio};

use switchboard_wire::sanitize;
use url::Url;

use super::keyboard::Keyboard;
use super::{PersonReply, as_sentence};
use crate::notice::Notice;
use crate::printer::{BOLD, CYAN, Printer};
use crate::{prompt, show, surroundings};

/// Asks whether to open the page. Without a terminal the link is printed, and the answer is *cancel*.
pub(super) async fn ask(
    server: &str,
    message: &str,
    url: &str,
    keyboard: &Keyboard,
    printer: &Printer,
) -> PersonReply {
    let Some(url) = page(url) else {
        let message =
            format!("`{server}` asks you to visit a page, but its link cannot be trusted");
        printer
            .notices(&[Notice::warning(message).with_hint("only http and https links are opened")]);
        return PersonReply::Cancel;
    };
    let (host, link) = (url.host_str().unwrap_or_default(), url.as_str());
    let message = sanitize::sanitize_block(message);
    if !prompt::is_possible(printer) {
        let message = as_sentence(&message);
        let said =
            format!("`{server}` asks you to visit {host}: {message} The question was cancelled");
        printer.notices(&[Notice::warning(said).with_hint(format!("the page is {link}"))]);
        // The call goes on, perhaps for long.
        printer.print_held();
        return PersonReply::Cancel;
    }
    printer.raw(format_args!(
        "{CYAN}{}{CYAN:#} asks you to visit {BOLD}{host}{BOLD:#}: {}\n  {link}\n",
        show::word(server),
        message.trim_end()
    ));
    match keyboard
        .choose(printer, "Open it in your browser?", &["y", "n", "q"], "n")
        .await
        .as_deref()
    {
        Some("y") => {
            if !open(link) {
                printer.raw("No browser could be opened; open the link above yourself.\n");
            }
            PersonReply::Visited
        }
        Some("n") => PersonReply::Decline,
        _ => PersonReply::Cancel,
    }
}

/// Parses a link that may be opened: http or https, with a host that is plain to see.
pub(crate) fn page(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    // User and password before an `@` can look like a host.
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_page && is_plain).then_some(url)
}

/// Opens a link with the first browser that can be started; does not wait for it.
#[expect(clippy::disallowed_methods, reason = "a browser outlives the command, so it has no guard")]
pub(crate) fn open(link: &str) -> bool {
    surroundings::browsers().iter().any(|browser| {
        let mut words = browser.split_whitespace();
        let Some(program) = words.next() else { return false };
        let mut command = Command::new(program);
        let mut is_placed = false;
        for word in words {
            is_placed |= word.contains("%s");
            command.arg(word.replace("%s", link));
        }
        if !is_placed {
            command.arg(link);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_pages_are_opened() {
        for (url, host) in [
            ("https://example.com/a?b=c", Some("example.com")),
            ("http://127.0.0.1:80/", Some("127.0.0.1")),
            ("https://bücher.example/", Some("xn--bcher-kva.example")),
            ("https://good.example@evil.example/", None),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("not a link", None),
        ] {
            let page = page(url);
            assert_eq!(page.as_ref().and_then(Url::host_str), host, "{url}");
        }
    }
}
