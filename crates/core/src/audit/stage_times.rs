//! The stages of a call, and how long each took.
//!
//! Filled by `dispatch::stage_clock`. Used by the hub's admin API, which shows a call as a waterfall, and by `traffic`,
//! which leaves out the time that a person took to answer. It is not part of the audit log.

use std::time::Duration;

/// A stage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// Finding the tool and its server.
    Find,
    /// Checking the arguments, and the hooks before the call.
    Hooks,
    /// Deciding whether the call is allowed, a person's answer included.
    Permission,
    /// Waiting for a connection.
    Connect,
    /// The server's own time, with the way there and back.
    Server,
    /// Answers to the server's questions.
    Questions,
    /// Limiting the result.
    Result,
    /// The hooks after the call.
    HooksAfter,
}

/// How long the stages of a call took, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimes([u32; CallStage::ALL.len()]);

// === impl CallStage ===

impl CallStage {
    /// All stages, in the order of a call.
    pub const ALL: [Self; 8] = [
        Self::Find,
        Self::Hooks,
        Self::Permission,
        Self::Connect,
        Self::Server,
        Self::Questions,
        Self::Result,
        Self::HooksAfter,
    ];

    /// A stable word for the stage.
    pub fn name(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Hooks => "hooks",
            Self::Permission => "permission",
            Self::Connect => "connect",
            Self::Server => "server",
            Self::Questions => "questions",
            Self::Result => "result",
            Self::HooksAfter => "after",
        }
    }
}

// === impl StageTimes ===

impl StageTimes {
    /// Adds to the time of a stage.
    pub fn add(&mut self, stage: CallStage, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        let spent = &mut self.0[stage as usize];
        *spent = spent.saturating_add(micros);
    }

    /// The stages that took any time, in the order of a call.
    pub fn iter(&self) -> impl Iterator<Item = (CallStage, Duration)> {
        let times = CallStage::ALL.into_iter().zip(self.0);
        times
            .filter(|(_, micros)| *micros > 0)
            .map(|(stage, micros)| (stage, Duration::from_micros(micros.into())))
    }

    /// How long people may have taken to answer.
    pub fn person_time(&self) -> Duration {
        let of = |stage: CallStage| Duration::from_micros(self.0[stage as usize].into());
        of(CallStage::Permission) + of(CallStage::Questions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_stage_add_up_and_stay_in_order() {
        let mut times = StageTimes::default();
        times.add(CallStage::Server, Duration::from_millis(2));
        times.add(CallStage::Questions, Duration::from_secs(3));
        times.add(CallStage::Server, Duration::from_millis(1));
        times.add(CallStage::Find, Duration::from_micros(7));
        times.add(CallStage::Permission, Duration::MAX);
        let found: Vec<_> = times.iter().map(|(stage, took)| (stage.name(), took)).collect();
        let longest = Duration::from_micros(u32::MAX.into());
        assert_eq!(
            found,
            [
                ("find", Duration::from_micros(7)),
                ("permission", longest),
                ("server", Duration::from_millis(3)),
                ("questions", Duration::from_secs(3)),
            ]
        );
        assert_eq!(times.person_time(), longest + Duration::from_secs(3));
    }
}
