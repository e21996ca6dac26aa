//! The protocol between hub and guard: one request down, a few reports up, and the end of the channel, which
//! means *stop*.
//!
//! Used by `guarded_child` and `guard::main_loop`. The request does not travel in the guard's arguments or
//! environment, so `ps` does not show it and a loader variable for the child does not affect the guard.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::{ProcessCommand, ProcessExit, StopTimeouts};

/// The request to run a command.
#[derive(Debug, PartialEq)]
pub(crate) struct GuardRequest {
    /// The file to execute; `argv[0]` is the command's program name.
    pub(crate) file: PathBuf,
    pub(crate) arg0: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) stop: StopTimeouts,
}

/// A report of the guard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GuardReport {
    /// The child runs under this process id.
    Started(i32),
    /// The child could not be executed, for this `errno`.
    Failed(i32),
    /// The child ended; its descendants may still run.
    Exited(ProcessExit),
}

// === impl GuardRequest ===

impl GuardRequest {
    pub(crate) fn new(file: PathBuf, command: ProcessCommand) -> Self {
        let ProcessCommand { program, args, env, cwd, stop } = command;
        Self { file, arg0: program, args, env, cwd, stop }
    }

    /// Encodes the request: a length, then that many bytes.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut frame = RequestEncoder(vec![0; 4]);
        frame.text(self.file.as_os_str().as_bytes())?;
        frame.text(self.arg0.as_bytes())?;
        frame.count(self.args.len())?;
        self.args.iter().try_for_each(|arg| frame.text(arg.as_bytes()))?;
        frame.count(self.env.len())?;
        for (name, value) in &self.env {
            frame.text(name.as_bytes())?;
            frame.text(value.as_bytes())?;
        }
        frame.count(usize::from(self.cwd.is_some()))?;
        self.cwd.iter().try_for_each(|cwd| frame.text(cwd.as_os_str().as_bytes()))?;
        frame.duration(self.stop.after_interrupt)?;
        frame.duration(self.stop.after_terminate)?;
        frame.finish()
    }

    /// Reads a whole request; if the channel closes before that, returns an error.
    pub(crate) fn read(mut channel: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        channel.read_exact(&mut length)?;
        let mut bytes = Vec::new();
        let length = u64::from(u32::from_le_bytes(length));
        channel.take(length).read_to_end(&mut bytes)?;
        Self::decode(RequestDecoder(&bytes)).ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    fn decode(mut frame: RequestDecoder<'_>) -> Option<Self> {
        Some(Self {
            file: frame.text()?.into(),
            arg0: frame.text()?,
            args: (0..frame.count()?).map(|_| frame.text()).collect::<Option<_>>()?,
            env: (0..frame.count()?)
                .map(|_| Some((frame.text()?, frame.text()?)))
                .collect::<Option<_>>()?,
            cwd: match frame.count()? {
                0 => None,
                _ => Some(frame.text()?.into()),
            },
            stop: StopTimeouts {
                after_interrupt: frame.duration()?,
                after_terminate: frame.duration()?,
            },
        })
    }
}

struct RequestEncoder(Vec<u8>);

impl RequestEncoder {
    fn count(&mut self, count: usize) -> io::Result<()> {
        let count = u32::try_from(count).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.0.extend(count.to_le_bytes());
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.count(text.len())?;
        self.0.extend(text);
        Ok(())
    }

    fn duration(&mut self, duration: Duration) -> io::Result<()> {
        self.count(usize::try_from(duration.as_millis()).unwrap_or(usize::MAX))
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        let length = u32::try_from(self.0.len() - 4).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        Ok(self.0)
    }
}

struct RequestDecoder<'a>(&'a [u8]);

impl RequestDecoder<'_> {
    fn count(&mut self) -> Option<u32> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*count))
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.count()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }

    fn duration(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(self.count()?.into()))
    }
}

// === impl GuardReport ===

impl GuardReport {
    /// The size of every report in bytes.
    pub(crate) const SIZE: usize = 5;

    pub(crate) fn encode(self) -> [u8; Self::SIZE] {
        let (kind, value) = match self {
            Self::Started(pid) => (b'S', pid),
            Self::Failed(errno) => (b'F', errno),
            Self::Exited(ProcessExit::Code(code)) => (b'C', code),
            Self::Exited(ProcessExit::Signal(signal)) => (b'K', signal),
            Self::Exited(ProcessExit::Unknown) => (b'U', 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(crate) fn decode([kind, value @ ..]: [u8; Self::SIZE]) -> Option<Self> {
        let value = i32::from_le_bytes(value);
        Some(match kind {
            b'S' => Self::Started(value),
            b'F' => Self::Failed(value),
            b'C' => Self::Exited(ProcessExit::Code(value)),
            b'K' => Self::Exited(ProcessExit::Signal(value)),
            b'U' => Self::Exited(ProcessExit::Unknown),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardReport, GuardRequest, ProcessExit, StopTimeouts};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    fn request() -> GuardRequest {
        GuardRequest {
            file: "/bin/x".into(),
            arg0: "x".into(),
            args: vec!["".into(), "a b\n".into(), OsString::from_vec(vec![0xFF, 0x80])],
            env: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
            cwd: Some("/".into()),
            stop: StopTimeouts::default(),
        }
    }

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        for cwd in [None, Some("/tmp".into())] {
            let request = GuardRequest { cwd, ..request() };
            assert_eq!(GuardRequest::read(&request.encode().unwrap()[..]).unwrap(), request);
        }
    }

    #[test]
    fn a_request_cut_short_anywhere_is_refused() {
        let whole = request().encode().unwrap();
        for length in 0..whole.len() {
            assert!(GuardRequest::read(&whole[..length]).is_err(), "{length} of {}", whole.len());
        }
    }

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        let exits = [ProcessExit::Code(255), ProcessExit::Signal(9), ProcessExit::Unknown]
            .map(GuardReport::Exited);
        for report in
            [GuardReport::Started(4_000_000), GuardReport::Failed(2)].into_iter().chain(exits)
        {
            assert_eq!(GuardReport::decode(report.encode()), Some(report));
        }
        assert_eq!(GuardReport::decode(*b"?\0\0\0\0"), None);
    }
}
