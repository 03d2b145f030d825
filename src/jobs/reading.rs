//! What is sound in a file's records, and what is wrong with the rest.

use super::State;
use super::ledger::Ledger;
use super::record::{self, JobRecord, Unread};
use crate::counts::Count;
use crate::queens::Size;
use crate::queens::count::Plan;
use std::collections::BTreeMap;

/// What a file says.
#[derive(Debug, Default)]
pub struct Contents {
    /// The jobs.
    pub jobs: BTreeMap<u32, (JobRecord, Ledger)>,
    /// The finished counts.
    pub counts: BTreeMap<u32, Count>,
}

/// What is not as it should be in a file that can be read: a word for its new name, and the reason.
pub type Finding = Option<(&'static str, String)>;

/// What has been read so far.
#[derive(Default)]
pub struct Reading {
    contents: Contents,
    /// What is wrong with the records of an n.
    wrong: BTreeMap<u32, String>,
    /// The n whose finished tasks are another plan's.
    old: BTreeMap<u32, ()>,
}

impl Reading {
    /// Takes in the record of a finished count.
    pub fn count(&mut self, n: u32, value: &[u8]) {
        match size(n).map(|size| record::read_count(size, value)) {
            Some(Ok(count)) => drop(self.contents.counts.insert(n, count)),
            Some(Err(_)) | None => self.is_wrong(n, "its finished count is damaged"),
        }
    }

    /// Takes in the record of a job, before those of its tasks.
    pub fn job(&mut self, n: u32, value: &[u8]) {
        match size(n).map(|_| record::read_job(n, value)) {
            Some(Ok((mut job, current))) => {
                let mut ledger = Ledger::default();
                if !current {
                    job.turned = [None; 2];
                    self.old.insert(n, ());
                }
                let [half_turn, quarter_turn] = job.turned;
                half_turn.into_iter().for_each(|count| ledger.set_half_turn(count));
                quarter_turn.into_iter().for_each(|count| ledger.set_quarter_turn(count));
                self.contents.jobs.insert(n, (job, ledger));
            }
            Some(Err(_)) | None => self.is_wrong(n, "its state is damaged"),
        }
    }

    /// Takes in the record of a range of finished tasks.
    pub fn range(&mut self, n: u32, from: u64, value: &[u8]) {
        let Some(plan) = size(n).and_then(Plan::new) else { return self.is_wrong(n, "there is no such size") };
        match record::read_range(n, from, value) {
            Err(Unread::OldPlan) => drop(self.old.insert(n, ())),
            Err(Unread::Damaged) => self.is_wrong(n, "some of its finished tasks are damaged"),
            Ok(part) => match self.contents.jobs.get_mut(&n) {
                None => self.is_wrong(n, "it has finished tasks, but no state"),
                Some((_, ledger)) => {
                    if part.to > plan.tasks() || !ledger.add(from..part.to, part.sum) {
                        self.is_wrong(n, "its finished tasks contradict each other or its plan");
                    }
                }
            },
        }
    }

    fn is_wrong(&mut self, n: u32, reason: &str) {
        self.wrong.entry(n).or_insert_with(|| reason.to_owned());
    }

    /// The sound part, and what is wrong with the rest. A job with damaged records has failed and starts anew; one
    /// of another plan goes on from the start.
    pub fn end(self) -> (Contents, Finding) {
        let Self { mut contents, mut wrong, old } = self;
        for (n, (job, ledger)) in &mut contents.jobs {
            match (job.state, contents.counts.contains_key(n)) {
                (State::Done, false) => drop(wrong.insert(*n, "its finished count is missing".to_owned())),
                (State::Done, true) => ledger.clear(),
                _ => {}
            }
            if old.contains_key(n) {
                ledger.clear();
            }
        }
        for (&n, reason) in &wrong {
            if size(n).is_some() {
                let reason = format!("the ledger was damaged ({reason}) and has been set aside; PUT starts anew");
                let failed = JobRecord { state: State::Failed, reason: Some(reason), turned: [None; 2] };
                contents.jobs.insert(n, (failed, Ledger::default()));
            }
        }
        let list = wrong.iter().map(|(n, reason)| format!("n = {n}: {reason}")).collect::<Vec<_>>().join("; ");
        let finding = match (wrong.is_empty(), old.is_empty()) {
            (false, _) => Some(("damaged", list)),
            (true, false) => Some(("old-plan", "its tasks are those of another version of the plan".to_owned())),
            (true, true) => None,
        };
        (contents, finding)
    }
}

/// A size that jobs may have.
fn size(n: u32) -> Option<Size> {
    Size::new(n).filter(|size| size.get() <= Plan::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::ledger::Part;

    #[test]
    fn another_plan_s_tasks_are_dropped_and_what_does_not_depend_on_it_is_kept() {
        let size = Size::new(8).expect("a size");
        let running = JobRecord { state: State::Running, reason: None, turned: [None; 2] };
        let mut reading = Reading::default();
        reading.count(8, &record::write_count(8, Count::new(size, 92, 4, 0)));
        reading.job(18, &record::write_job(18, &running));
        reading.range(18, 0, &record::write_range(18, 0, Part { to: 2, sum: 5 }));
        reading.range(18, 3, &record::write_range_of_other_plan(18, 3, Part { to: 9, sum: 7 }));
        let (contents, finding) = reading.end();
        assert!(matches!(finding, Some(("old-plan", _))));
        let (job, ledger) = &contents.jobs[&18];
        assert_eq!((job, ledger.done()), (&running, 0));
        assert_eq!(contents.counts[&8].all, 92);
    }

    #[test]
    fn records_under_another_size_are_damage() {
        let running = JobRecord { state: State::Running, reason: None, turned: [None; 2] };
        let mut reading = Reading::default();
        reading.job(19, &record::write_job(19, &running));
        reading.range(19, 0, &record::write_range(18, 0, Part { to: 2, sum: 5 }));
        let (contents, finding) = reading.end();
        assert!(matches!(finding, Some(("damaged", _))));
        assert_eq!((contents.jobs[&19].0.state, contents.jobs[&19].1.done()), (State::Failed, 0));
    }
}
