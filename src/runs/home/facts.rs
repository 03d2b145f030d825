//! What this process knows.

use super::{Access, Entry, Trouble};
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::job::Job;
use std::time::Duration;
use tokio::sync::watch;

/// See the module. Those who ask and the writer share it.
pub struct Facts {
    /// By size, from 1 on.
    pub sizes: Vec<Known>,
    pub access: watch::Sender<Access>,
}

/// What is known of one size.
pub struct Known {
    pub plan: Plan,
    pub entry: watch::Sender<Entry>,
}

impl Facts {
    pub fn new(access: Access) -> Self {
        let plans = (1..=Plan::MAX).filter_map(|n| Plan::new(Size::new(n)?));
        let sizes = plans.map(|plan| Known { entry: watch::Sender::new(Entry::new(&plan)), plan }).collect();
        Self { sizes, access: watch::Sender::new(access) }
    }

    /// How many finished tasks are not in the data directory.
    pub fn unkept(&self) -> u64 {
        let unkept = |known: &Known| {
            let entry = known.entry.borrow();
            entry.job.tasks_done(&known.plan).saturating_sub(entry.kept_tasks)
        };
        self.sizes.iter().map(unkept).sum()
    }

    pub fn size(&self, n: Size) -> Result<&Known, Trouble> {
        let none = || Trouble { reason: format!("there is no plan for n = {n}"), again: Duration::MAX };
        self.sizes.get(n.get() as usize - 1).ok_or_else(none)
    }

    /// Says how the folder is.
    pub fn set_access(&self, access: Access) {
        let in_trouble = access.trouble().is_some();
        self.access.send_if_modified(|old| {
            let differs = *old != access;
            *old = access;
            differs
        });
        if in_trouble {
            for known in &self.sizes {
                let settle = |entry: &mut Entry| {
                    let settles = !entry.settled && matches!(entry.job, Job::Done(_));
                    entry.settled |= settles;
                    settles
                };
                known.entry.send_if_modified(settle);
            }
        }
    }

    /// Says what is wrong with the folder. It is logged once, however often it is tried again.
    pub fn in_trouble(&self, trouble: Trouble) {
        let access = self.access.borrow().clone();
        if access.trouble().is_none_or(|old| old.reason != trouble.reason) {
            let reason = &trouble.reason;
            tracing::error!(reason, "the data directory cannot be used for now; jobs wait, and it is tried again");
        }
        self.set_access(if access.is_known() { Access::Unwritable(trouble) } else { Access::Closed(trouble) });
    }
}
