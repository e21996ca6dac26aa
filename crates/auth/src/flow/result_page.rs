//! The HTML page that the browser shows at the end of a sign-in.
//!
//! Used by `flow::callback`. It is no page of the console (`switchboard_hub`).

/// The kinds of result page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultPage {
    Done,
    Denied,
    Failed,
    /// The response belongs to another or an old sign-in.
    Stray,
    /// The path is not the callback path.
    Elsewhere,
}

// === impl ResultPage ===

impl ResultPage {
    fn status(self) -> &'static str {
        match self {
            Self::Done | Self::Denied | Self::Failed => "200 OK",
            Self::Stray => "400 Bad Request",
            Self::Elsewhere => "404 Not Found",
        }
    }

    fn title_and_text(self) -> (&'static str, &'static str) {
        match self {
            Self::Done => {
                ("You are signed in", "You can close this window and go on where you were.")
            }
            Self::Denied => {
                ("You did not sign in", "Access was denied. You can close this window.")
            }
            Self::Failed => (
                "Signing in failed",
                "The reason is shown where you began. You can close this window.",
            ),
            Self::Stray => {
                ("Nothing to do here", "This is not the answer to the sign-in under way.")
            }
            Self::Elsewhere => ("Nothing to do here", "There is no such page."),
        }
    }

    /// The whole HTTP response. The page runs no script, loads nothing and sends no referrer, because its
    /// address holds the code.
    pub(super) fn response(self, subject: &str) -> String {
        let (title, text) = self.title_and_text();
        let subject = escape_html(subject);
        let body = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
             <style>body{{font:16px system-ui;margin:20vh auto;max-width:32em;text-align:center}}</style>\
             <h1>{title}</h1><p>{subject}</p><p>{text}</p></html>\n"
        );
        format!(
            "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n\
             Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Connection: close\r\n\r\n{body}",
            self.status(),
            body.len()
        )
    }
}

fn escape_html(text: &str) -> String {
    let text = switchboard_wire::sanitize::sanitize_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_text() {
        let page = ResultPage::Done.response("<script>alert(1)</script>");
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
        let (head, body) = page.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    }
}
