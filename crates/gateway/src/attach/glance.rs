//! Awake for a moment after each message, for what comes next: the answer of something quick, or the client's next word.
//!
//! On a machine whose processors sleep deeply, waking one for each message takes longer than all that is done with it
//! here. The processor is offered to everybody else meanwhile. Where somebody takes it who is not about this very
//! message, the machine is busy, its processors are awake by themselves, and waiting in line for one would cost more.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use tokio::{sync::Notify, task::yield_now};

/// How long a look at what comes next takes before it is slept on.
const GLANCE: Duration = Duration::from_micros(100);
/// Whoever passes a message on needs the processor for less.
const KEPT: Duration = Duration::from_micros(200);
/// For how long nothing is looked for once somebody kept it for more.
const REST: Duration = Duration::from_millis(100);

/// Whether it is worth staying awake.
struct Glances {
    resting: Instant,
}

/// Stays awake after each message that was `passed` on.
pub(super) async fn stay_awake(passed: &Notify) -> Infallible {
    let mut glances = Glances { resting: Instant::now() };
    loop {
        passed.notified().await;
        let mut now = Instant::now();
        let until = now + GLANCE;
        while now < until && glances.are_wanted(now) {
            let offered = Instant::now();
            std::thread::yield_now();
            now = Instant::now();
            glances.gave_way(now - offered, now);
            yield_now().await;
        }
    }
}

// === impl Glances ===

impl Glances {
    fn are_wanted(&self, now: Instant) -> bool {
        now >= self.resting
    }

    /// Somebody else had the processor for so long.
    fn gave_way(&mut self, took: Duration, now: Instant) {
        if took > KEPT {
            self.resting = now + REST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_busy_machine_nothing_is_looked_for() {
        let now = Instant::now();
        let mut glances = Glances { resting: now };
        glances.gave_way(KEPT, now);
        assert!(glances.are_wanted(now), "somebody passed a message on");
        glances.gave_way(KEPT * 2, now);
        assert!(!glances.are_wanted(now + REST / 2));
        assert!(glances.are_wanted(now + REST));
    }

    #[tokio::test]
    async fn what_was_passed_on_keeps_nobody_else_waiting() {
        let passed = Notify::new();
        let others = async {
            for _ in 0..100 {
                passed.notify_one();
                yield_now().await;
            }
        };
        tokio::select! {
            never = stay_awake(&passed) => match never {},
            () = others => {}
        }
    }
}
