//! Timeouts, pauses and limits of connections.
//!
//! Used by all of `connection`; `engine::options` and the commands set them from settings and the environment.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use switchboard_config::LimitSettings;

const LOCAL_BATCH_SIZE_VARIABLE: &str = "MCP_SERVER_CONNECTION_BATCH_SIZE";
const REMOTE_BATCH_SIZE_VARIABLE: &str = "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE";

/// Timeouts, pauses and limits of connections.
#[derive(Debug, Clone)]
pub struct ConnectionTiming {
    /// How long connecting may take (30 s), unless the caller's `MCP_TIMEOUT` says otherwise.
    pub connect: Duration,
    /// How long an HTTP response may take to begin (60 s).
    pub first_byte: Duration,
    /// How many local servers connect at once (3).
    pub local_slots: usize,
    /// How many remote servers connect at once (20).
    pub remote_slots: usize,
    /// How long a connecting server keeps its slot (1 s).
    pub slot_kept: Duration,
    /// How many quick attempts to reconnect are made (5). Slow ones follow, forever.
    pub retries: u32,
    /// The pause before the first quick attempt (1 s); each next one is twice as long.
    pub first_pause: Duration,
    /// The longest pause between quick attempts (30 s), and the first between slow ones.
    pub longest_pause: Duration,
    /// The longest pause between slow attempts (2 min).
    pub longest_slow_pause: Duration,
    /// The time over which the losses of a working server are counted (1 min): the more losses, the longer the
    /// pause before its restart.
    pub losses_counted_for: Duration,
    /// Spreads the attempts of many servers over time.
    pub jitter: RetryJitter,
    /// The minimum time between the beginnings of two attempts, even for an urgent one (1 s).
    pub between_attempts: Duration,
    /// How long ago an attempt must have failed before a client's list request makes the next one (2 s): the
    /// failure may be the reason why the client lists again.
    pub between_listed: Duration,
    /// How long a server may answer nothing while requests wait before a probe is sent (10 s).
    pub ping_after: Duration,
    /// How long a server may take to answer a probe before it is shown as silent (5 s).
    pub ping_patience: Duration,
    /// How many failures in a row end a session (3).
    pub strikes: u32,
    /// How long a needed sign-in is remembered (15 min).
    pub needs_auth: Duration,
    /// The minimum time between two reads of a list that went stale (1 s).
    pub between_lists: Duration,
    /// How many calls may be in flight on one connection (256).
    pub calls_in_flight: usize,
    /// How long a server may be without a call before it is stopped, where it is started when needed; `None`: it is
    /// never stopped (the default).
    pub server_idle: Option<Duration>,
    /// How long a server without a kept catalog waits for its first session, where it is started when needed (5 s).
    pub first_session_wait: Duration,
    /// How long closing a session may take before it is abandoned (5 s).
    pub goodbye: Duration,
}

/// Moves each pause by a random part, up or down.
#[derive(Debug, Clone, Copy)]
pub struct RetryJitter {
    /// The largest part, in percent.
    pub percent: u32,
    /// The seed: equal seeds give equal pauses.
    pub seed: u64,
}

// === impl ConnectionTiming ===

impl Default for ConnectionTiming {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_secs(60),
            local_slots: 3,
            remote_slots: 20,
            slot_kept: Duration::from_secs(1),
            retries: 5,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
            longest_slow_pause: Duration::from_mins(2),
            losses_counted_for: Duration::from_mins(1),
            jitter: RetryJitter::default(),
            between_attempts: Duration::from_secs(1),
            between_listed: Duration::from_secs(2),
            ping_after: Duration::from_secs(10),
            ping_patience: Duration::from_secs(5),
            strikes: 3,
            needs_auth: Duration::from_mins(15),
            between_lists: Duration::from_secs(1),
            calls_in_flight: 256,
            server_idle: None,
            first_session_wait: Duration::from_secs(5),
            goodbye: Duration::from_secs(5),
        }
    }
}

impl ConnectionTiming {
    /// Applies the values of settings and of the hub's own environment. Only the environment sets how many servers
    /// connect at once; invalid numbers change nothing.
    #[must_use]
    pub fn with_settings(
        mut self,
        limits: &LimitSettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let count = |name| variable(name)?.trim().parse().ok().filter(|count: &usize| *count > 0);
        self.local_slots = count(LOCAL_BATCH_SIZE_VARIABLE).unwrap_or(self.local_slots);
        self.remote_slots = count(REMOTE_BATCH_SIZE_VARIABLE).unwrap_or(self.remote_slots);
        if let Some(millis) = limits.request_timeout_ms {
            self.first_byte = Duration::from_millis(millis);
        }
        if let Some(retries) = limits.reconnect_attempts {
            self.retries = u32::try_from(retries).unwrap_or(u32::MAX);
        }
        if let Some(calls) = limits.calls_in_flight {
            self.calls_in_flight = usize::try_from(calls).unwrap_or(usize::MAX);
        }
        if let Some(millis) = limits.server_idle_ms {
            self.server_idle = Some(millis).filter(|millis| *millis > 0).map(Duration::from_millis);
        }
        self
    }

    /// The pause before retry number `retry`, counted from 0, of the connection with the seed `salt`.
    pub(super) fn pause(&self, retry: u32, salt: u64) -> Duration {
        let pause = match retry.checked_sub(self.retries) {
            None => double_pause(self.first_pause, retry).min(self.longest_pause),
            Some(slow) => double_pause(self.longest_pause, slow).min(self.longest_slow_pause),
        };
        self.jitter.apply(pause, salt.wrapping_add(u64::from(retry)))
    }

    /// The pause before a working server is restarted, after so many losses in a short time.
    pub(super) fn restart_pause(&self, losses: u32, salt: u64) -> Duration {
        let pause =
            double_pause(self.first_pause, losses.saturating_sub(1)).min(self.longest_pause);
        self.jitter.apply(pause, salt.wrapping_add(u64::from(losses)))
    }
}

// === impl RetryJitter ===

impl RetryJitter {
    /// No jitter.
    pub const NONE: Self = Self { percent: 0, seed: 0 };

    fn apply(self, pause: Duration, salt: u64) -> Duration {
        let spread = u64::from(self.percent.min(100)) * 10;
        // Per mille of the pause: from 1000 - spread to 1000 + spread.
        let part = 1000 - spread + mix_bits(self.seed ^ salt) % (2 * spread + 1);
        pause.saturating_mul(u32::try_from(part).unwrap_or(1000)) / 1000
    }
}

impl Default for RetryJitter {
    /// Twenty percent, with a random seed.
    fn default() -> Self {
        Self { percent: 20, seed: RandomState::new().build_hasher().finish() }
    }
}

fn double_pause(pause: Duration, times: u32) -> Duration {
    pause.saturating_mul(1 << times.min(20))
}

/// Mixes the bits of a number (the finalizer of `SplitMix64`).
fn mix_bits(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_the_environment_change_numbers() {
        let limits = LimitSettings {
            request_timeout_ms: Some(1500),
            reconnect_attempts: Some(0),
            calls_in_flight: Some(7),
            server_idle_ms: Some(9),
            ..LimitSettings::default()
        };
        let variable = |name: &str| match name {
            LOCAL_BATCH_SIZE_VARIABLE => Some(" 9".to_owned()),
            REMOTE_BATCH_SIZE_VARIABLE => Some("many".to_owned()),
            _ => None,
        };
        let timing = ConnectionTiming::default().with_settings(&limits, variable);
        assert_eq!((timing.local_slots, timing.remote_slots), (9, 20));
        assert_eq!((timing.retries, timing.calls_in_flight), (0, 7));
        assert_eq!(timing.first_byte, Duration::from_millis(1500));
        assert_eq!(timing.server_idle, Some(Duration::from_millis(9)));
        let never = LimitSettings { server_idle_ms: Some(0), ..limits };
        assert_eq!(timing.with_settings(&never, variable).server_idle, None);
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let check = |retries, expected: [u64; 9]| {
            let timing = ConnectionTiming {
                jitter: RetryJitter::NONE,
                retries,
                ..ConnectionTiming::default()
            };
            let seconds: Vec<_> = (0..9).map(|retry| timing.pause(retry, 7).as_secs()).collect();
            assert_eq!(seconds, expected, "{retries} quick ones");
        };
        check(5, [1, 2, 4, 8, 16, 30, 60, 120, 120]);
        check(8, [1, 2, 4, 8, 16, 30, 30, 30, 30]);
        check(0, [30, 60, 120, 120, 120, 120, 120, 120, 120]);
        let timing = ConnectionTiming { jitter: RetryJitter::NONE, ..ConnectionTiming::default() };
        let seconds: Vec<_> =
            (1..8).map(|losses| timing.restart_pause(losses, 7).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn jitter_stays_within_a_fifth_and_is_not_the_same_for_all() {
        let timing = ConnectionTiming {
            jitter: RetryJitter { percent: 20, seed: 1 },
            ..ConnectionTiming::default()
        };
        let pauses: Vec<_> = (0..1000).map(|salt| timing.pause(0, salt)).collect();
        let within = Duration::from_millis(800)..=Duration::from_millis(1200);
        assert!(pauses.iter().all(|pause| within.contains(pause)));
        let early = pauses.iter().filter(|pause| **pause < Duration::from_secs(1)).count();
        assert!((300..700).contains(&early), "{early} of 1000 are early");
        assert_eq!(timing.pause(3, 5), timing.pause(3, 5));
    }
}
