//! What is still of use in a file of the format before: finished counts, which never lose their worth, and which jobs
//! were under way. The tasks were another plan's.

use super::fault::Fault;
use super::reading::{Finding, Reading};
use crate::queens::Size;
use crate::runs::Count;
use crate::runs::job::Finished;
use redb::{ReadTransaction, ReadableTable as _, TableDefinition};

/// The format's number.
pub const FORMAT_VERSION: u32 = 1;
const COUNTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("counts");
const JOBS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("jobs");

/// A record was: its checksum (64-bit FNV-1a over what it is about and the rest), the plan's version, the text.
fn text(kind: u8, n: u32, record: &[u8]) -> Option<(u32, &[u8])> {
    let (sum, rest) = record.split_first_chunk::<8>()?;
    let about = [kind].into_iter().chain(n.to_be_bytes()).chain([0; 8]);
    let hash = about
        .chain(rest.iter().copied())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let (plan, text) = rest.split_first_chunk::<4>()?;
    (hash.to_be_bytes() == *sum).then_some((u32::from_be_bytes(*plan), text))
}

fn count(n: u32, record: &[u8]) -> Option<Finished> {
    let (plan, text) = text(3, n, record)?;
    let (numbers, []) = text.as_chunks::<8>() else { return None };
    let [all, half_turn, quarter_turn] = numbers else { return None };
    let [all, half_turn, quarter_turn] = [all, half_turn, quarter_turn].map(|bytes| u64::from_be_bytes(*bytes));
    let count = Count::new(Size::new(n)?, all, half_turn, quarter_turn);
    Some(Finished { count, plan, started: None, finished: None, cpu: None })
}

/// Takes in what is of use.
pub fn read(transaction: &ReadTransaction, reading: &mut Reading) -> Result<(), Fault> {
    for entry in transaction.open_table(COUNTS)?.iter()? {
        let (key, value) = entry?;
        reading.old_count(key.value(), count(key.value(), value.value()));
    }
    for entry in transaction.open_table(JOBS)?.iter()? {
        let (key, value) = entry?;
        // The first byte was the state: 0 queued, 1 running, 2 done, 3 failed, 4 cancelled.
        match text(1, key.value(), value.value()).and_then(|(_, text)| text.first().copied()) {
            Some(0 | 1) => reading.old_job(key.value()),
            Some(_) => {}
            None => reading.is_wrong(key.value(), "its state is damaged"),
        }
    }
    Ok(())
}

/// What is to be said of such a file that was sound.
pub fn finding() -> Finding {
    Some(("old-format", "it was written by an older version of this service".to_owned()))
}
