//! How the ledger's entries are written: each with a checksum over all that it says and what it is about.
//!
//! The database has checksums of its own, but they are of pages, and do not say that a record belongs to this n or to
//! this plan. A record that is not exactly as it was written is not read.

use super::State;
use super::ledger::Part;
use crate::counts::Count;
use crate::queens::Size;
use crate::queens::count::Plan;

/// Why a record is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its checksum is wrong.
    Damaged,
    /// It is about tasks of another plan.
    OldPlan,
}

/// A job but for its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job's state.
    pub state: State,
    /// Why it failed, or what else there is to say.
    pub reason: Option<String>,
    /// The two symmetric counts, as far as counted.
    pub turned: [Option<u64>; 2],
}

/// What a record is about; part of its checksum, so that none can stand for another.
#[derive(Clone, Copy)]
enum About {
    Job(u32),
    Range(u32, u64),
    Count(u32),
}

/// The 64-bit FNV-1a hash: every change of a single byte changes it for certain, any other change but for one in
/// 2^64. It guards against accidents, not against forgery: who can write the file can write anything.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn checksum(about: About, text: &[u8]) -> [u8; 8] {
    let (kind, n, from) = match about {
        About::Job(n) => (1, n, 0),
        About::Range(n, from) => (2, n, from),
        About::Count(n) => (3, n, 0),
    };
    fnv([kind].into_iter().chain(n.to_be_bytes()).chain(from.to_be_bytes()).chain(text.iter().copied())).to_be_bytes()
}

/// The checksum, the plan's version, then the text.
fn seal(about: About, text: &[u8]) -> Vec<u8> {
    let text = [&Plan::VERSION.to_be_bytes(), text].concat();
    [&checksum(about, &text), text.as_slice()].concat()
}

/// The text, and whether it is of this plan.
fn unseal(about: About, record: &[u8]) -> Result<(&[u8], bool), Unread> {
    let (sum, text) = record.split_first_chunk::<8>().ok_or(Unread::Damaged)?;
    if *sum != checksum(about, text) {
        return Err(Unread::Damaged);
    }
    let (version, text) = text.split_first_chunk::<4>().ok_or(Unread::Damaged)?;
    Ok((text, u32::from_be_bytes(*version) == Plan::VERSION))
}

/// The next eight bytes as a number.
fn number(text: &mut &[u8]) -> Result<u64, Unread> {
    let (bytes, rest) = text.split_first_chunk::<8>().ok_or(Unread::Damaged)?;
    *text = rest;
    Ok(u64::from_be_bytes(*bytes))
}

/// Writes a range of finished tasks of size `n`.
#[must_use]
pub fn write_range(n: u32, from: u64, part: Part) -> Vec<u8> {
    seal(About::Range(n, from), &[part.to.to_be_bytes(), part.sum.to_be_bytes()].concat())
}

/// Reads what [`write_range`] wrote.
///
/// # Errors
/// See [`Unread`].
pub fn read_range(n: u32, from: u64, record: &[u8]) -> Result<Part, Unread> {
    let (mut text, current) = unseal(About::Range(n, from), record)?;
    let part = Part { to: number(&mut text)?, sum: number(&mut text)? };
    if current { Ok(part) } else { Err(Unread::OldPlan) }
}

/// Writes a finished count.
#[must_use]
pub fn write_count(n: u32, count: Count) -> Vec<u8> {
    let numbers = [count.all, count.half_turn, count.quarter_turn];
    seal(About::Count(n), numbers.map(u64::to_be_bytes).as_flattened())
}

/// Reads what [`write_count`] wrote, by whichever plan: a finished count does not depend on it.
///
/// # Errors
/// See [`Unread`].
pub fn read_count(n: Size, record: &[u8]) -> Result<Count, Unread> {
    let (mut text, _) = unseal(About::Count(n.get()), record)?;
    let (all, half_turn, quarter_turn) = (number(&mut text)?, number(&mut text)?, number(&mut text)?);
    Ok(Count::new(n, all, half_turn, quarter_turn))
}

/// Writes a job but for its tasks.
#[must_use]
pub fn write_job(n: u32, job: &JobRecord) -> Vec<u8> {
    let state = State::ALL.iter().position(|&state| state == job.state).unwrap_or_default() as u8;
    let mut text = vec![state];
    for turned in job.turned {
        text.push(u8::from(turned.is_some()));
        text.extend(turned.unwrap_or_default().to_be_bytes());
    }
    text.push(u8::from(job.reason.is_some()));
    text.extend(job.reason.iter().flat_map(|reason| reason.bytes()));
    seal(About::Job(n), &text)
}

/// Reads what [`write_job`] wrote, and whether it was written under this plan.
///
/// # Errors
/// See [`Unread`].
pub fn read_job(n: u32, record: &[u8]) -> Result<(JobRecord, bool), Unread> {
    let (mut text, current) = unseal(About::Job(n), record)?;
    let byte = |text: &mut &[u8]| -> Result<u8, Unread> {
        let (&byte, rest) = text.split_first().ok_or(Unread::Damaged)?;
        *text = rest;
        Ok(byte)
    };
    let state = *State::ALL.get(usize::from(byte(&mut text)?)).ok_or(Unread::Damaged)?;
    let mut turned = [None; 2];
    for turned in &mut turned {
        let is_some = byte(&mut text)? == 1;
        *turned = Some(number(&mut text)?).filter(|_| is_some);
    }
    let has_reason = byte(&mut text)? == 1;
    let reason = has_reason.then(|| String::from_utf8_lossy(text).into_owned());
    Ok((JobRecord { state, reason, turned }, current))
}

/// A range as a service with another plan would write it.
#[cfg(test)]
pub fn write_range_of_other_plan(n: u32, from: u64, part: Part) -> Vec<u8> {
    let text = [&(Plan::VERSION + 1).to_be_bytes(), &write_range(n, from, part)[12..]].concat();
    [&checksum(About::Range(n, from), &text), text.as_slice()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let part = Part { to: 9, sum: 1 << 40 };
        let range = write_range(18, 3, part);
        assert_eq!(read_range(18, 3, &range), Ok(part));
        let others =
            [read_range(19, 3, &range), read_range(18, 4, &range), read_range(18, 3, &range[..range.len() - 1])];
        assert_eq!(others, [Err(Unread::Damaged); 3]);
        for at in 0..range.len() {
            for bit in 0..8 {
                let mut flipped = range.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(read_range(18, 3, &flipped), Err(Unread::Damaged));
            }
        }
        let n = Size::new(8).expect("a size");
        let count = Count::new(n, 92, 4, 0);
        assert_eq!(read_count(n, &write_count(8, count)), Ok(count));
        assert_eq!(read_job(8, &write_count(8, count)), Err(Unread::Damaged));
        for (state, reason, turned) in [
            (State::Queued, None, [None, None]),
            (State::Failed, Some("no room: ♛".to_owned()), [Some(4), None]),
            (State::Done, Some(String::new()), [Some(u64::MAX), Some(0)]),
        ] {
            let job = JobRecord { state, reason, turned };
            assert_eq!(read_job(8, &write_job(8, &job)), Ok((job, true)));
        }
    }

    #[test]
    fn another_plan_s_tasks_are_not_read() {
        let record = write_range_of_other_plan(18, 3, Part { to: 9, sum: 7 });
        assert_eq!(read_range(18, 3, &record), Err(Unread::OldPlan));
    }
}
