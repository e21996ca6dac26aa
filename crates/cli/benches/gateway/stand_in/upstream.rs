//! The server that everybody forwards to, as little in the way as can be.

use std::io::{Read as _, Write as _};
use std::rc::Rc;

use bytes::BytesMut;
use switchboard_testkit::http1::Http;
use tokio::task::LocalSet;

use super::answers::Answers;

/// On standard streams. What waits together is answered in one write.
pub(super) fn stdio(tools: usize) {
    let answers = Answers::new(tools);
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut waiting = BytesMut::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut out = Vec::new();
    loop {
        let Ok(read @ 1..) = input.read(&mut chunk) else { return };
        waiting.extend_from_slice(&chunk[..read]);
        while let Some(end) = memchr::memchr(b'\n', &waiting) {
            let line = waiting.split_to(end + 1);
            let before = out.len();
            answers.answer(std::str::from_utf8(&line).unwrap().trim_end(), &mut out);
            if out.len() > before {
                out.push(b'\n');
            }
        }
        if output.write_all(&out).and_then(|()| output.flush()).is_err() {
            return;
        }
        out.clear();
    }
}

/// Over HTTP, with sessions in name only.
pub(super) async fn http(tools: usize) {
    let listener = super::listen().await;
    let answers = Rc::new(Answers::new(tools));
    let serving = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answers = Rc::clone(&answers);
            tokio::task::spawn_local(async move {
                let mut connection = Http::new(stream).unwrap();
                let mut out = Vec::new();
                while let Ok(Some(request)) = connection.receive().await {
                    out.clear();
                    answers.answer(std::str::from_utf8(&request.body).unwrap(), &mut out);
                    let head = if out.is_empty() { ACCEPTED } else { OK };
                    if connection.send(head, &out).await.is_err() {
                        return;
                    }
                }
            });
        }
    };
    LocalSet::new().run_until(serving).await;
}

/// The head of an answer, up to its length.
pub(super) const OK: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\n";
/// The same for what wants no answer.
pub(super) const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\n";
