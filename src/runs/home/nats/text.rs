//! What is written in NATS: names, keys, and records, each sealed with a checksum over all that it says and its key.

use crate::queens::count::Plan;
use crate::runs::home::record::{self, Unread};
use crate::runs::job::Utc;
use async_nats::jetstream::message::StreamMessage;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// Finished counts by n: they do not depend on a plan.
pub const COUNTS: &str = "nqueens-counts";
/// Who is alive, workers and the planner; entries live only for some seconds.
pub const ALIVE: &str = "nqueens-alive";

/// A name that is of this version of the plan alone.
fn versioned(name: &str) -> String {
    format!("nqueens-{name}-v{}", Plan::VERSION)
}

/// Jobs by n.
pub fn jobs() -> String {
    versioned("jobs")
}

/// The planners' notes by n.
pub fn plans() -> String {
    versioned("plans")
}

/// What ranges gave.
pub fn results() -> String {
    versioned("results")
}

/// Ranges that wait for workers or are with them.
pub fn tasks() -> String {
    versioned("tasks")
}

/// What messages of the size are about.
pub fn subject(n: u32) -> String {
    format!("nqueens.v{}.tasks.{n}", Plan::VERSION)
}

/// Whose messages are about this size.
pub fn consumer(n: u32) -> String {
    format!("n{n}")
}

/// The planner's lease.
pub fn lease() -> String {
    format!("planner.v{}", Plan::VERSION)
}

/// A worker's heartbeat.
pub fn heartbeat(worker: &str) -> String {
    format!("worker.{worker}")
}

/// Some tasks of an attempt at the count of a size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The size.
    pub n: u32,
    /// Attempts that began from nothing have different numbers.
    pub attempt: u32,
    /// The first task.
    pub from: u64,
    /// The first task after them.
    pub to: u64,
}

impl Place {
    /// The tasks.
    pub fn range(&self) -> Range<u64> {
        self.from..self.to
    }

    /// The key of what they gave.
    pub fn result(&self) -> String {
        format!("{}.{}.{}.{}", self.n, self.attempt, self.from, self.to)
    }

    /// The key of what they gave when they were computed again.
    pub fn again(&self, time: u32) -> String {
        format!("{}.again.{time}", self.result())
    }

    /// The key of a failure.
    pub fn failure(&self, id: &str) -> String {
        format!("{}.failed.{id}", self.result())
    }
}

/// What a key among the results is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// What the tasks gave.
    Result(Place),
    /// What they gave when they were computed again, for the first, second time.
    Again(Place, u32),
    /// That they failed.
    Failure(Place),
}

impl About {
    /// Which tasks it is about.
    pub fn place(&self) -> &Place {
        match self {
            Self::Result(place) | Self::Again(place, _) | Self::Failure(place) => place,
        }
    }

    /// Reads a key; `None` if it is none.
    pub fn read(key: &str) -> Option<Self> {
        let mut parts = key.split('.');
        let place = Place {
            n: parts.next()?.parse().ok()?,
            attempt: parts.next()?.parse().ok()?,
            from: parts.next()?.parse().ok()?,
            to: parts.next()?.parse().ok()?,
        };
        match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => Some(Self::Result(place)),
            (Some("again"), Some(time), None) => Some(Self::Again(place, time.parse().ok()?)),
            (Some("failed"), Some(_), None) => Some(Self::Failure(place)),
            _ => None,
        }
    }
}

/// A job but for what is done of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobText {
    /// Where it stands.
    pub state: State,
    /// The number of the attempt.
    pub attempt: u32,
    /// How many ranges its tasks are cut into, see [`Cells`](super::cells::Cells).
    pub cells: u64,
    /// What decides which ranges are audited.
    pub seed: u64,
    /// How many tasks had been audited when it was done.
    pub audited: u64,
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Asked for.
    Open,
    /// Stopped by request.
    Cancelled {
        /// When.
        at: Utc,
    },
    /// Given up.
    Failed {
        /// When.
        at: Utc,
        /// Why.
        reason: String,
        /// Whether none of what is done is believed.
        anew: bool,
    },
    /// Counted: the count is among the counts.
    Done,
}

/// What tasks gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultText {
    /// Their sum.
    pub sum: u64,
    /// The processor time that they took.
    pub cpu: Duration,
    /// When they were begun.
    pub began: Utc,
    /// Who computed them; nobody alone if it is a fold.
    pub worker: Option<String>,
    /// How many of the tasks were computed again and gave the same.
    pub audited: u64,
}

/// That tasks failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureText {
    /// With whom.
    pub worker: String,
    /// Why.
    pub reason: String,
    /// Whether one such failure is enough.
    pub is_last: bool,
}

/// A message: tasks to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskText {
    /// Which.
    pub place: Place,
    /// How often they have been done before, by those who are to be avoided: this is to check them.
    pub avoid: Vec<String>,
}

/// What a planner notes, so that what another one does not know of is not added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanText {
    /// The number of the attempt.
    pub attempt: u32,
    /// The first task that has not been queued yet.
    pub cursor: u64,
    /// How often messages were added.
    pub batches: u64,
}

/// A worker's heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatText {
    /// How many ranges it computes at a time.
    pub threads: u32,
    /// How many bytes it may take, if that is limited.
    pub memory: Option<u64>,
    /// The sizes that it is at work on.
    pub at_work: Vec<u32>,
    /// How many tasks it has done since its start.
    pub tasks: u64,
}

/// Writes a record of `bucket` under `key`.
pub fn write<T: Serialize>(bucket: &str, key: &str, text: &T) -> Vec<u8> {
    record::seal(format!("{bucket}/{key}"), Plan::VERSION, text)
}

/// Reads what [`write`] wrote there, and the version of the plan that it was written under.
///
/// # Errors
/// See [`Unread`].
pub fn read_any<T: DeserializeOwned>(bucket: &str, key: &str, record: &[u8]) -> Result<(T, u32), Unread> {
    record::unseal(&format!("{bucket}/{key}"), record)
}

/// The same, if it is of this version of the plan.
///
/// # Errors
/// See [`Unread`].
pub fn read<T: DeserializeOwned>(bucket: &str, key: &str, record: &[u8]) -> Result<T, Unread> {
    match read_any(bucket, key, record)? {
        (text, Plan::VERSION) => Ok(text),
        _ => Err(Unread::OldPlan),
    }
}

/// Reads a message that is in the stream.
///
/// # Errors
/// See [`Unread`].
pub fn read_message(message: &StreamMessage) -> Result<TaskText, Unread> {
    read(&tasks(), &message.subject, &message.payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written_and_others_are_none() {
        let place = Place { n: 20, attempt: 2, from: 5, to: 1 << 40 };
        assert_eq!(About::read(&place.result()), Some(About::Result(place.clone())));
        assert_eq!(About::read(&place.again(2)), Some(About::Again(place.clone(), 2)));
        assert_eq!(About::read(&place.failure("a-1")), Some(About::Failure(place)));
        for key in [
            "",
            "20",
            "20.1.2",
            "20.1.2.x",
            "20.1.2.3.again",
            "20.1.2.3.again.x",
            "20.1.2.3.other.4",
            "20.1.2.3.again.1.1",
        ] {
            assert_eq!(About::read(key), None, "{key}");
        }
    }

    #[test]
    fn a_record_is_read_under_its_own_key_only() {
        let text = PlanText { attempt: 1, cursor: 7, batches: 2 };
        let record = write("a", "20", &text);
        assert_eq!(read("a", "20", &record), Ok(text));
        assert_eq!(read::<PlanText>("a", "21", &record), Err(Unread::Damaged));
        assert_eq!(read::<PlanText>("b", "20", &record), Err(Unread::Damaged));
        assert_eq!(read::<PlanText>("a", "20", b"garbage"), Err(Unread::Damaged));
    }
}
