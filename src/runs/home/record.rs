//! How the ledger's entries are written: each with a checksum over all that it says and what it is about.
//!
//! The database has checksums of its own, but they are of pages, and do not say that a record belongs to this n or to
//! this plan. A record that is not exactly as it was written is not read.

use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::Count;
use crate::runs::job::{Finished, Job, Utc, Work};
use crate::runs::ledger::{Ledger, Part};
use crc::{CRC_64_XZ, Crc, Table};
use postcard::{de_flavors, ser_flavors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

static CRC: Crc<u64, Table<1>> = Crc::<u64, Table<1>>::new(&CRC_64_XZ);

/// What a record is about; part of what is summed, so that none can stand for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    /// The finished count of a size.
    Count(u32),
    /// The job of a size but for its tasks.
    Job(u32),
    /// The finished tasks of a size from this one on.
    Range(u32, u64),
}

/// Records by what they are about.
pub type Records = BTreeMap<Key, Vec<u8>>;

/// Why a record is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its checksum is wrong, or it is about something else.
    Damaged,
    /// It is about tasks of another plan.
    OldPlan,
}

#[derive(Serialize, Deserialize)]
struct Sealed<K, T> {
    key: K,
    plan: u32,
    text: T,
}

#[derive(Serialize, Deserialize)]
struct CountText {
    all: u64,
    half_turn: u64,
    quarter_turn: u64,
    started: Option<Utc>,
    finished: Option<Utc>,
    cpu: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
struct JobText {
    state: State,
    started: Option<Utc>,
    cpu: Duration,
}

/// New ones go to the end: their places are what is written.
#[derive(Serialize, Deserialize)]
enum State {
    Unasked,
    Open,
    Cancelled { at: Utc },
    Failed { at: Utc, reason: String },
}

#[derive(Serialize, Deserialize)]
struct RangeText {
    to: u64,
    sum: u64,
}

/// Writes a text about something, under a version of the plan.
pub fn seal<K: Serialize, T: Serialize>(key: K, plan: u32, text: T) -> Vec<u8> {
    // Numbers, names and texts always can be written.
    ser_flavors::crc::to_allocvec_u64(&Sealed { key, plan, text }, CRC.digest()).unwrap_or_default()
}

/// The text, and the version of the plan that it was written under.
///
/// # Errors
/// [`Unread::Damaged`].
pub fn unseal<K, T>(key: &K, record: &[u8]) -> Result<(T, u32), Unread>
where
    K: DeserializeOwned + PartialEq,
    T: DeserializeOwned,
{
    match de_flavors::crc::take_from_bytes_u64::<Sealed<K, T>>(record, CRC.digest()) {
        Ok((sealed, [])) if sealed.key == *key => Ok((sealed.text, sealed.plan)),
        _ => Err(Unread::Damaged),
    }
}

/// Writes a range of finished tasks of size `n`.
#[must_use]
pub fn write_range(n: u32, from: u64, Part { to, sum }: Part) -> Vec<u8> {
    seal(Key::Range(n, from), Plan::VERSION, RangeText { to, sum })
}

/// Reads what [`write_range`] wrote.
///
/// # Errors
/// See [`Unread`].
pub fn read_range(n: u32, from: u64, record: &[u8]) -> Result<Part, Unread> {
    let (RangeText { to, sum }, plan) = unseal(&Key::Range(n, from), record)?;
    if plan == Plan::VERSION { Ok(Part { to, sum }) } else { Err(Unread::OldPlan) }
}

/// Writes a finished count.
#[must_use]
pub fn write_count(n: u32, finished: &Finished) -> Vec<u8> {
    let Finished { count: Count { all, half_turn, quarter_turn, .. }, plan, started, finished, cpu } = *finished;
    seal(Key::Count(n), plan, CountText { all, half_turn, quarter_turn, started, finished, cpu })
}

/// Reads what [`write_count`] wrote, by whichever plan: a finished count does not depend on it.
///
/// # Errors
/// See [`Unread`].
pub fn read_count(n: Size, record: &[u8]) -> Result<Finished, Unread> {
    let (text, plan) = unseal::<_, CountText>(&Key::Count(n.get()), record)?;
    let CountText { all, half_turn, quarter_turn, started, finished, cpu } = text;
    Ok(Finished { count: Count::new(n, all, half_turn, quarter_turn), plan, started, finished, cpu })
}

/// Reads the record of a job, into one without finished tasks.
///
/// # Errors
/// See [`Unread`].
pub fn read_job(plan: &Plan, record: &[u8]) -> Result<Job, Unread> {
    let (JobText { state, started, cpu }, _) = unseal(&Key::Job(plan.size().get()), record)?;
    let work = Work { ledger: Ledger::new(plan), started, cpu };
    Ok(match state {
        State::Unasked => Job::Unasked(work),
        State::Open => Job::Open(work),
        State::Cancelled { at } => Job::Cancelled { work, at },
        State::Failed { at, reason } => Job::Failed { work, at, reason },
    })
}

/// All that there is to write of the job of size `n`, if there is anything. Of one that is done, the count.
pub fn write(n: u32, job: &Job, records: &mut Records) -> bool {
    let (state, work) = match job {
        Job::Done(finished) => {
            records.insert(Key::Count(n), write_count(n, finished));
            return true;
        }
        Job::Unasked(work) if work.ledger.done() == 0 => return false,
        Job::Unasked(work) => (State::Unasked, work),
        Job::Open(work) => (State::Open, work),
        Job::Cancelled { work, at } => (State::Cancelled { at: *at }, work),
        Job::Failed { work, at, reason } => (State::Failed { at: *at, reason: reason.clone() }, work),
    };
    let text = JobText { state, started: work.started, cpu: work.cpu };
    records.insert(Key::Job(n), seal(Key::Job(n), Plan::VERSION, text));
    let ranges = work.ledger.ranges().map(|(from, part)| (Key::Range(n, from), write_range(n, from, part)));
    records.extend(ranges);
    true
}

/// A range as a service with another plan would write it.
#[cfg(test)]
pub fn of_another_plan(n: u32, from: u64, Part { to, sum }: Part) -> Vec<u8> {
    seal(Key::Range(n, from), Plan::VERSION + 1, RangeText { to, sum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let part = Part { to: 9, sum: 1 << 40 };
        let range = write_range(18, 3, part);
        assert_eq!(read_range(18, 3, &range), Ok(part));
        let longer = [&range[..], &[0]].concat();
        for other in [
            read_range(19, 3, &range),
            read_range(18, 4, &range),
            read_range(18, 3, &range[..range.len() - 1]),
            read_range(18, 3, &longer),
            read_range(18, 3, &[]),
        ] {
            assert_eq!(other, Err(Unread::Damaged));
        }
        for at in 0..range.len() {
            for bit in 0..8 {
                let mut flipped = range.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(read_range(18, 3, &flipped), Err(Unread::Damaged));
            }
        }
    }

    #[test]
    fn jobs_and_counts_are_read_as_they_were() {
        let n = Size::new(14).expect("a size");
        let plan = Plan::new(n).expect("a plan");
        let mut work = Work { ledger: Ledger::new(&plan), started: Some(5), cpu: Duration::from_millis(7) };
        for job in [
            Job::Unasked(work.clone()),
            Job::Open(work.clone()),
            Job::Cancelled { work: work.clone(), at: 8 },
            Job::Failed { work: work.clone(), at: 9, reason: "no room: ♛".to_owned() },
        ] {
            let mut records = Records::new();
            write(14, &job, &mut records);
            // Nothing is known of a count that nobody asked for and that nothing is done of.
            let record = records.get(&Key::Job(14));
            assert_eq!(
                record.map(|record| read_job(&plan, record)),
                Some(Ok(job)).filter(|job| !matches!(job, Ok(Job::Unasked(_))))
            );
        }
        assert!(work.ledger.add(3..9, 7));
        let mut records = Records::new();
        write(14, &Job::Unasked(work), &mut records);
        assert_eq!(records.keys().copied().collect::<Vec<_>>(), [Key::Job(14), Key::Range(14, 3)]);
        let count = Count::new(n, 365_596, 112, 0);
        for times in [None, Some(5)] {
            let cpu = times.map(Duration::from_micros);
            let finished = Finished { count, plan: Plan::VERSION - 1, started: times, finished: times, cpu };
            let record = write_count(14, &finished);
            assert_eq!(read_count(n, &record), Ok(finished));
            assert_eq!(read_job(&plan, &record), Err(Unread::Damaged));
        }
    }

    #[test]
    fn another_plan_s_tasks_are_not_read() {
        let record = of_another_plan(18, 3, Part { to: 9, sum: 7 });
        assert_eq!(read_range(18, 3, &record), Err(Unread::OldPlan));
    }
}
