//! The callback listener: a port on this machine that receives the browser's redirect, for one sign-in and
//! one response.
//!
//! Used by `flow`, `sign_in` and `organisation`. It does not check the response
//! (`flow::authorization_response`).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::authorization_response::{ExpectedResponse, parse_query};
use super::result_page::ResultPage;
use crate::error::Error;

const CALLBACK_PATH: &str = "/callback";
/// Connections read at once; further ones wait.
const MAX_OPEN_CONNECTIONS: usize = 32;
/// The timeout for one request. A browser sends its request in one piece.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_HEAD_BYTES: usize = 16 << 10;

/// A bound callback port.
#[derive(Debug)]
pub(crate) struct CallbackListener {
    four: TcpListener,
    /// The IPv6 listener, since `localhost` may resolve to `::1` first. Not every machine has IPv6.
    six: Option<TcpListener>,
    port: u16,
}

// === impl CallbackListener ===

impl CallbackListener {
    /// Binds `port`, or any free port for 0.
    pub(crate) async fn bind(port: u16) -> Result<Self, Error> {
        let listen = |source: io::Error| Error::Listen { port, source };
        let four = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await;
        let four = four.map_err(listen)?;
        let port = four.local_addr().map_err(listen)?.port();
        let six = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await.ok();
        Ok(Self { four, six, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The redirect URI. It uses `localhost` because many authorization servers accept no other name.
    pub(crate) fn redirect(&self) -> String {
        format!("http://localhost:{}{CALLBACK_PATH}", self.port)
    }

    /// Waits for the expected response and returns its code. Any other request gets an error page and does
    /// not end the wait.
    pub(super) async fn wait(
        &self,
        expected: &ExpectedResponse,
        subject: &str,
    ) -> Result<String, Error> {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.accept(), if open.len() < MAX_OPEN_CONNECTIONS => match accepted {
                    Ok(stream) => open.push(timeout(REQUEST_TIMEOUT, serve(stream, expected, subject))),
                    Err(source) => return Err(Error::Listen { port: self.port, source }),
                },
                Some(served) = open.next(), if !open.is_empty() => {
                    if let Ok(Some(outcome)) = served {
                        return outcome;
                    }
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let six = async {
            match &self.six {
                Some(six) => six.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.four.accept() => Ok(accepted?.0),
            accepted = six => Ok(accepted?.0),
        }
    }
}

/// Answers one request. Returns the outcome if the request is the expected response.
async fn serve(
    mut stream: TcpStream,
    expected: &ExpectedResponse,
    subject: &str,
) -> Option<Result<String, Error>> {
    let target = read_target(&mut stream).await?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = parse_query(query);
    let (ending, outcome) = match path {
        CALLBACK_PATH if expected.matches_state(&query) => {
            let outcome = expected.read_code(&query);
            (result_page(&outcome), Some(outcome))
        }
        CALLBACK_PATH => (ResultPage::Stray, None),
        _ => (ResultPage::Elsewhere, None),
    };
    let written = async {
        stream.write_all(ending.response(subject).as_bytes()).await?;
        stream.shutdown().await
    };
    // The outcome does not depend on the page arriving, but the page gets a second to arrive.
    let _ = timeout(Duration::from_secs(1), written).await;
    outcome
}

fn result_page(outcome: &Result<String, Error>) -> ResultPage {
    match outcome {
        Ok(_) => ResultPage::Done,
        Err(error) if error.is_refusal("access_denied") => ResultPage::Denied,
        Err(_) => ResultPage::Failed,
    }
}

/// Reads the target of a GET; `None` for any other request.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&part[..read]);
        if head.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let is_get = words.next() == Some("GET");
    words.next().filter(|target| is_get && target.starts_with('/')).map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn expected() -> ExpectedResponse {
        ExpectedResponse {
            state: "s1".into(),
            issuer: "https://as.example".into(),
            names_itself: false,
        }
    }

    async fn get(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // A cut connection leaves the answer empty, which the test accepts too.
        let _ = stream.read_to_string(&mut answer).await;
        answer.lines().next().unwrap_or_default().to_owned()
    }

    /// Sends each request in turn; the last request has to end the wait.
    async fn check(requests: &[(&str, &str)]) -> Result<String, Error> {
        let callback = CallbackListener::bind(0).await.unwrap();
        let expected = expected();
        let sending = async {
            for (target, status) in requests {
                let request = format!("{target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
                assert_eq!(get(callback.port(), &request).await, *status, "{target}");
            }
        };
        let (outcome, ()) = tokio::join!(callback.wait(&expected, "x"), sending);
        outcome
    }

    #[tokio::test]
    async fn one_matching_request_ends_the_wait_and_no_other() {
        let code = check(&[
            ("GET /favicon.ico", "HTTP/1.1 404 Not Found"),
            ("GET /callback", "HTTP/1.1 400 Bad Request"),
            ("GET /callback?code=evil&state=guess", "HTTP/1.1 400 Bad Request"),
            ("POST /callback?code=c&state=s1", ""),
            ("GET /callback?code=c&state=s1", "HTTP/1.1 200 OK"),
        ]);
        assert_eq!(code.await.unwrap(), "c");
    }

    #[tokio::test]
    async fn a_refusal_ends_it_too() {
        let refused =
            check(&[("GET /callback?error=access_denied&state=s1", "HTTP/1.1 200 OK")]).await;
        assert!(refused.unwrap_err().is_refusal("access_denied"));
    }

    #[tokio::test]
    async fn a_flood_of_silent_connections_keeps_nobody_out() {
        let callback = CallbackListener::bind(0).await.unwrap();
        let expected = expected();
        let flooding = async {
            let mut silent = Vec::new();
            for _ in 0..MAX_OPEN_CONNECTIONS - 1 {
                silent.push(
                    TcpStream::connect((Ipv4Addr::LOCALHOST, callback.port())).await.unwrap(),
                );
            }
            let request = "GET /callback?code=c&state=s1 HTTP/1.1\r\n\r\n";
            assert_eq!(get(callback.port(), request).await, "HTTP/1.1 200 OK");
        };
        let (outcome, ()) = tokio::join!(callback.wait(&expected, "x"), flooding);
        assert_eq!(outcome.unwrap(), "c");
    }
}
