//! A timer for deadlines that move.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Instant;
use tokio::time::{Sleep, sleep_until};

/// A timer that is set as seldom as can be: deadlines mostly move on before they pass, so one that is already set to
/// an earlier time is left alone and looked at again when it goes off.
#[derive(Default)]
pub(super) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Whether `deadline` has passed; if not, the task is woken when it does.
    pub(super) fn rings(&mut self, deadline: Instant, cx: &mut Context<'_>) -> bool {
        let deadline = tokio::time::Instant::from_std(deadline);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if tokio::time::Instant::now() >= deadline {
                return true;
            }
            sleep.as_mut().reset(deadline);
        }
        false
    }
}
