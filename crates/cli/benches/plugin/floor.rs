//! What a message over a pair of sockets and back costs, with nothing in it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub(crate) fn round_trip(rounds: u32) -> Duration {
    let (mut near, far) = UnixStream::pair().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut lines, mut back) = (BufReader::new(far.try_clone().unwrap()), far);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).unwrap() > 0 {
            back.write_all(&line).unwrap();
            line.clear();
        }
    });
    let mut lines = BufReader::new(near.try_clone().unwrap());
    let (message, mut line) = (super::call(1) + "\n", String::new());
    let begun = Instant::now();
    for _ in 0..rounds {
        near.write_all(message.as_bytes()).unwrap();
        line.clear();
        lines.read_line(&mut line).unwrap();
    }
    let took = begun.elapsed();
    near.shutdown(std::net::Shutdown::Both).unwrap();
    echo.join().unwrap();
    took
}
