//! What a message to another process and back costs, with nothing done for it: over a pair of sockets, and over HTTP
//! with somebody in between, who passes it on over such a pair.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use crate::http::Kept;

/// One end of a pair of sockets; at the other, every line is said again.
struct Echo {
    lines: BufReader<UnixStream>,
    away: UnixStream,
    line: Vec<u8>,
    echoing: Option<JoinHandle<()>>,
}

pub(crate) fn round_trip(rounds: u32) -> Duration {
    let mut echo = Echo::start();
    let message = super::call(1) + "\n";
    let begun = Instant::now();
    for _ in 0..rounds {
        echo.ask(message.as_bytes());
    }
    begun.elapsed()
}

/// One call after the other over HTTP, each passed on and back.
pub(crate) fn passed_on(rounds: u32) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut kept = Kept::open(&listener.local_addr().unwrap().to_string());
    let (stream, _) = listener.accept().unwrap();
    let passing = spawn(move || pass_on(stream));
    let took = kept.one_by_one(rounds, super::call);
    drop(kept);
    passing.join().unwrap();
    took
}

fn pass_on(mut back: TcpStream) {
    back.set_nodelay(true).unwrap();
    let mut echo = Echo::start();
    let mut asked = BufReader::new(back.try_clone().unwrap());
    let (mut line, mut body) = (String::new(), Vec::new());
    let mut length = 0;
    while asked.read_line(&mut line).unwrap() > 0 {
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            body.resize(length, 0);
            asked.read_exact(&mut body).unwrap();
            body.push(b'\n');
            let said = echo.ask(&body);
            let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", said.len());
            answer.push_str(std::str::from_utf8(said).unwrap());
            back.write_all(answer.as_bytes()).unwrap();
        }
        line.clear();
    }
}

// === impl Echo ===

impl Echo {
    fn start() -> Self {
        let (near, far) = UnixStream::pair().unwrap();
        let echoing = spawn(move || {
            let (mut lines, mut back) = (BufReader::new(far.try_clone().unwrap()), far);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).unwrap() > 0 {
                back.write_all(&line).unwrap();
                line.clear();
            }
        });
        let lines = BufReader::new(near.try_clone().unwrap());
        Self { lines, away: near, line: Vec::new(), echoing: Some(echoing) }
    }

    fn ask(&mut self, line: &[u8]) -> &[u8] {
        self.away.write_all(line).unwrap();
        self.line.clear();
        self.lines.read_until(b'\n', &mut self.line).unwrap();
        &self.line
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.away.shutdown(Shutdown::Both).unwrap();
        if let Some(echoing) = self.echoing.take() {
            echoing.join().unwrap();
        }
    }
}
