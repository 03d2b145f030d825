//! What is sound in a file's records, and what is wrong with the rest.

use super::record::{self, Records, Unread};
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::job::{Finished, Job, Work, now};
use crate::runs::ledger::Ledger;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// What a file says.
#[derive(Debug, Default)]
pub struct Contents {
    /// The jobs, by size.
    pub jobs: BTreeMap<u32, Job>,
    /// The same as records.
    pub records: Records,
}

/// What is not as it should be in a file that can be read: a word for its new name, and the reason.
pub type Finding = Option<(&'static str, String)>;

/// What has been read so far.
#[derive(Default)]
pub struct Reading {
    jobs: BTreeMap<u32, Job>,
    /// What is wrong with the records of an n.
    wrong: BTreeMap<u32, String>,
    /// The n whose finished tasks are another plan's.
    old: BTreeSet<u32>,
}

impl Reading {
    /// Takes in the record of a finished count.
    pub fn count(&mut self, n: u32, value: &[u8]) {
        let read = plan(n).and_then(|plan| record::read_count(plan.size(), value).ok());
        self.old_count(n, read);
    }

    /// Takes in a finished count from wherever, if it could be read.
    pub fn old_count(&mut self, n: u32, read: Option<Finished>) {
        match read.filter(|_| plan(n).is_some()) {
            Some(finished) => drop(self.jobs.insert(n, Job::Done(finished))),
            None => self.is_wrong(n, "its finished count is damaged"),
        }
    }

    /// Takes in the record of a job, after those of finished counts and before those of its tasks.
    pub fn job(&mut self, n: u32, value: &[u8]) {
        let Some(job) = plan(n).and_then(|plan| record::read_job(&plan, value).ok()) else {
            return self.is_wrong(n, "its state is damaged");
        };
        match self.jobs.entry(n) {
            Entry::Vacant(free) => drop(free.insert(job)),
            Entry::Occupied(_) => self.is_wrong(n, "it is both done and not"),
        }
    }

    /// Takes in that there was a job under way, of another plan.
    pub fn old_job(&mut self, n: u32) {
        if let Some(plan) = plan(n) {
            self.jobs.entry(n).or_insert_with(|| Job::Open(Work::none(&plan)));
        }
    }

    /// Takes in the record of a range of finished tasks.
    pub fn range(&mut self, n: u32, from: u64, value: &[u8]) {
        match record::read_range(n, from, value) {
            Err(Unread::OldPlan) => drop(self.old.insert(n)),
            Err(Unread::Damaged) => self.is_wrong(n, "some of its finished tasks are damaged"),
            Ok(part) => match self.jobs.get_mut(&n).map(Job::work_mut) {
                None => self.is_wrong(n, "it has finished tasks, but no state"),
                Some(None) => self.is_wrong(n, "it has finished tasks, but is done"),
                Some(Some(work)) => {
                    if !work.ledger.add(from..part.to, part.sum) {
                        self.is_wrong(n, "its finished tasks contradict each other or its plan");
                    }
                }
            },
        }
    }

    /// Notes what is wrong with the records of an n.
    pub fn is_wrong(&mut self, n: u32, reason: &str) {
        self.wrong.entry(n).or_insert_with(|| reason.to_owned());
    }

    /// The sound part, and what is wrong with the rest. A job with damaged records has failed and starts anew; one
    /// of another plan goes on from the start.
    pub fn end(self) -> (Contents, Finding) {
        let Self { mut jobs, wrong, old } = self;
        for n in &old {
            if let (Some(work), Some(plan)) = (jobs.get_mut(n).and_then(Job::work_mut), plan(*n)) {
                work.ledger = Ledger::new(&plan);
            }
        }
        for (&n, reason) in &wrong {
            // A finished count is what it is, whatever there is beside it.
            if let Some(plan) = plan(n).filter(|_| !matches!(jobs.get(&n), Some(Job::Done(_)))) {
                let reason = format!("the ledger was damaged ({reason}) and has been set aside; PUT starts anew");
                jobs.insert(n, Job::Failed { work: Work::none(&plan), at: now(), reason });
            }
        }
        let list = wrong.iter().map(|(n, reason)| format!("n = {n}: {reason}")).collect::<Vec<_>>().join("; ");
        let finding = match (wrong.is_empty(), old.is_empty()) {
            (false, _) => Some(("damaged", list)),
            (true, false) => Some(("old-plan", "its tasks are those of another version of the plan".to_owned())),
            (true, true) => None,
        };
        let mut records = Records::new();
        for (&n, job) in &jobs {
            record::write(n, job, &mut records);
        }
        (Contents { jobs, records }, finding)
    }
}

/// The plan of a size that jobs may have.
fn plan(n: u32) -> Option<Plan> {
    Plan::new(Size::new(n)?)
}

#[cfg(test)]
mod tests {
    use super::super::record::Key;
    use super::*;
    use crate::runs::Count;
    use crate::runs::ledger::Part;

    fn open(n: u32) -> (Plan, Records) {
        let plan = plan(n).expect("a plan");
        let mut work = Work::none(&plan);
        assert!(work.ledger.add(0..2, 5));
        let mut records = Records::new();
        record::write(n, &Job::Open(work), &mut records);
        (plan, records)
    }

    #[test]
    fn another_plan_s_tasks_are_dropped_and_what_does_not_depend_on_it_is_kept() {
        let count = Count::new(Size::new(8).expect("a size"), 92, 4, 0);
        let finished = Finished { count, plan: 1, started: Some(1), finished: None, cpu: None };
        let (_, records) = open(18);
        let mut reading = Reading::default();
        reading.count(8, &record::write_count(8, &finished));
        reading.job(18, &records[&Key::Job(18)]);
        reading.range(18, 0, &records[&Key::Range(18, 0)]);
        reading.range(18, 3, &record::of_another_plan(18, 3, Part { to: 9, sum: 7 }));
        let (contents, finding) = reading.end();
        assert!(matches!(finding, Some(("old-plan", _))));
        assert!(matches!(&contents.jobs[&18], Job::Open(work) if work.ledger.done() == 0));
        assert_eq!(contents.jobs[&8], Job::Done(finished));
    }

    #[test]
    fn records_that_cannot_be_together_are_damage() {
        let (_, records) = open(19);
        let (job, range) = (&records[&Key::Job(19)], &records[&Key::Range(19, 0)]);
        let other_size = record::write_range(18, 0, Part { to: 2, sum: 5 });
        let overlaps = record::write_range(19, 1, Part { to: 3, sum: 5 });
        for ranges in [vec![(0, &other_size)], vec![(0, range), (1, &overlaps)]] {
            let mut reading = Reading::default();
            reading.job(19, job);
            for (from, value) in ranges {
                reading.range(19, from, value);
            }
            let (contents, finding) = reading.end();
            assert!(matches!(finding, Some(("damaged", _))));
            assert!(matches!(&contents.jobs[&19], Job::Failed { work, .. } if work.ledger.done() == 0));
        }
        let mut reading = Reading::default();
        reading.range(19, 0, range);
        assert!(matches!(reading.end().1, Some(("damaged", _))));
    }
}
