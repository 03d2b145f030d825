//! What a connection is about, as one machine: its transitions are named, and what it may still wait for follows from
//! where it is.
//!
//! ```text
//! Opened ─heard→ Header ─asked→ Answering ─answered→ Finishing ─flushed→ Idle ─heard→ Header
//! ```
//!
//! From anywhere a whole header leads to `Answering` (a further request may have come with the one before) and the
//! end of writing to `Closing`. Beside this it is known since when the reader takes nothing, since when the caller has
//! closed its sending side, and whether a request's body is still to come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A caller that has closed its sending side, and may have left, is waited with for so long.
const GRACE: Duration = Duration::from_millis(500);
/// For so long a connection that is to be closed takes what its caller still sends.
const LINGER: Duration = Duration::from_secs(1);

/// How long a connection may wait for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For a request's header.
    pub header: Duration,
    /// For the next request.
    pub keep_alive: Duration,
    /// For a reader that takes nothing.
    pub stall: Duration,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Phase {
    doing: Doing,
    since: Instant,
    /// Since when no byte could be written.
    blocked: Option<Instant>,
    /// When bytes were last written since the caller has hung up.
    wrote: Instant,
    /// Since when the caller's sending side is closed.
    hung_up: Option<Instant>,
    /// The last request's body has not ended.
    body_coming: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Opened, and no byte has come yet.
    Opened,
    /// A request's header is coming.
    Header,
    /// A request is being answered.
    Answering,
    /// An answer is complete, but not yet handed to the kernel.
    Finishing,
    /// All is handed over, and the next request has not begun.
    Idle,
    /// Nothing more is written; what the caller still sends is thrown away.
    Closing,
}

impl Phase {
    /// A connection has been opened.
    pub(super) fn opened(now: Instant) -> Self {
        Self { doing: Doing::Opened, since: now, blocked: None, wrote: now, hung_up: None, body_coming: false }
    }

    fn enter(&mut self, doing: Doing, now: Instant) {
        (self.doing, self.since) = (doing, now);
    }

    /// Bytes have come. The header timeout of a connection's first request runs from its opening.
    pub(super) fn heard(&mut self, now: Instant) {
        match self.doing {
            Doing::Opened => self.doing = Doing::Header,
            Doing::Idle => self.enter(Doing::Header, now),
            Doing::Header | Doing::Answering | Doing::Finishing | Doing::Closing => {}
        }
    }

    /// A request's header is whole, and its answer is begun.
    pub(super) fn asked(&mut self, with_body: bool, now: Instant) {
        self.enter(Doing::Answering, now);
        self.body_coming = with_body;
    }

    /// The request's body has come to its end.
    pub(super) fn body_ended(&mut self) {
        self.body_coming = false;
    }

    /// The answer's last byte is there to be written.
    pub(super) fn answered(&mut self) {
        if self.doing == Doing::Answering {
            self.doing = Doing::Finishing; // which has no deadline
        }
    }

    /// All there was to write is written. Most of the time that changes nothing, and the clock is not asked.
    pub(super) fn flushed(&mut self, now: impl FnOnce() -> Instant) {
        self.blocked = None;
        if self.doing == Doing::Finishing {
            self.enter(Doing::Idle, now());
        }
    }

    /// Bytes were written. When is of interest only once the caller has hung up.
    pub(super) fn wrote(&mut self, now: impl FnOnce() -> Instant) {
        self.blocked = None;
        if self.hung_up.is_some() {
            self.wrote = now();
        }
    }

    /// Bytes could not be written, since the reader takes none.
    pub(super) fn blocked(&mut self, now: Instant) {
        self.blocked.get_or_insert(now);
    }

    /// The caller has closed its sending side; perhaps it has left.
    pub(super) fn hung_up(&mut self, now: Instant) {
        self.hung_up.get_or_insert(now);
    }

    /// Nothing more will be written.
    pub(super) fn closing(&mut self, now: Instant) {
        if self.doing != Doing::Closing {
            self.enter(Doing::Closing, now);
        }
    }

    /// Whether a caller that hangs up would be waiting for the service and not the other way round.
    pub(super) fn is_to_be_watched(&self) -> bool {
        self.doing == Doing::Answering && self.hung_up.is_none()
    }

    /// Whether the caller may still be sending what nobody will read.
    pub(super) fn is_body_coming(&self) -> bool {
        self.body_coming
    }

    /// Since when it is idle, if it is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.doing == Doing::Idle).then_some(self.since)
    }

    /// When the connection has to be given up, as things stand.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        if let Some(since) = self.blocked {
            return Some(since + limits.stall);
        }
        match self.doing {
            Doing::Opened | Doing::Header => Some(self.since + limits.header),
            // Handlers have their own time limits. Who has hung up is waited with as long as the answer flows: a
            // caller that is not there any more resets the connection when it is sent something.
            Doing::Answering => self.hung_up.map(|at| at.max(self.since).max(self.wrote) + GRACE),
            Doing::Finishing => None,
            Doing::Idle => Some(self.since + limits.keep_alive),
            Doing::Closing => Some(self.since + LINGER),
        }
    }
}

/// A phase that a connection's socket, its service and the list of connections share.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Phase>>);

impl Shared {
    /// A connection has been opened.
    pub(super) fn opened() -> Self {
        Self(Arc::new(Mutex::new(Phase::opened(Instant::now()))))
    }

    /// The phase, to be looked at or moved on.
    pub(super) fn lock(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { header: Duration::from_secs(10), keep_alive: Duration::from_secs(75), stall: Duration::from_secs(60) };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A connection in the given phase since one second after its opening, and when it was opened.
    fn in_phase(doing: Doing) -> (Phase, Instant) {
        let opened = Instant::now();
        let mut phase = Phase::opened(opened);
        phase.enter(doing, opened + seconds(1));
        (phase, opened)
    }

    const ALL: [Doing; 6] =
        [Doing::Opened, Doing::Header, Doing::Answering, Doing::Finishing, Doing::Idle, Doing::Closing];

    #[test]
    fn a_fresh_connection_has_the_header_timeout() {
        let opened = Instant::now();
        assert_eq!(Phase::opened(opened).deadline(&LIMITS), Some(opened + LIMITS.header));
    }

    #[test]
    fn heard_begins_a_header_whose_time_runs_from_the_opening_or_from_its_first_byte() {
        for (from, to, since) in [
            (Doing::Opened, Doing::Header, 1),
            (Doing::Header, Doing::Header, 1),
            (Doing::Answering, Doing::Answering, 1),
            (Doing::Finishing, Doing::Finishing, 1),
            (Doing::Idle, Doing::Header, 5),
            (Doing::Closing, Doing::Closing, 1),
        ] {
            let (mut phase, opened) = in_phase(from);
            phase.heard(opened + seconds(5));
            assert_eq!((phase.doing, phase.since), (to, opened + seconds(since)), "{from:?}");
        }
        let (mut phase, opened) = in_phase(Doing::Idle);
        phase.heard(opened + seconds(5));
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(5) + LIMITS.header));
    }

    #[test]
    fn asked_begins_an_answer_from_anywhere_and_lifts_the_deadline() {
        for from in ALL {
            let (mut phase, opened) = in_phase(from);
            phase.asked(false, opened + seconds(5));
            assert_eq!((phase.doing, phase.deadline(&LIMITS)), (Doing::Answering, None), "{from:?}");
        }
    }

    #[test]
    fn a_body_is_coming_from_its_request_to_its_end() {
        let (mut phase, now) = in_phase(Doing::Header);
        phase.asked(true, now);
        assert!(phase.is_body_coming());
        phase.body_ended();
        assert!(!phase.is_body_coming());
        phase.asked(true, now);
        phase.answered();
        phase.flushed(|| now);
        assert!(phase.is_body_coming(), "an answer does not end it");
        phase.asked(false, now);
        assert!(!phase.is_body_coming(), "a request without a body does");
    }

    #[test]
    fn answered_ends_an_answer_and_nothing_else() {
        for from in ALL {
            let (mut phase, _) = in_phase(from);
            phase.answered();
            let to = if from == Doing::Answering { Doing::Finishing } else { from };
            assert_eq!(phase.doing, to);
        }
        let (mut phase, _) = in_phase(Doing::Answering);
        phase.answered();
        assert_eq!(phase.deadline(&LIMITS), None, "an answer that is not written yet is no idleness");
    }

    #[test]
    fn flushed_makes_a_finished_answer_idle_and_nothing_else() {
        for from in ALL {
            let (mut phase, opened) = in_phase(from);
            phase.blocked(opened);
            phase.flushed(|| opened + seconds(5));
            let to = if from == Doing::Finishing { Doing::Idle } else { from };
            assert_eq!((phase.doing, phase.blocked), (to, None));
        }
        let (mut phase, opened) = in_phase(Doing::Finishing);
        phase.flushed(|| opened + seconds(5));
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(5) + LIMITS.keep_alive));
        assert_eq!(phase.idle_since(), Some(opened + seconds(5)));
    }

    #[test]
    fn blocked_counts_from_the_first_write_that_waits_until_one_does_not() {
        for from in [Doing::Header, Doing::Answering, Doing::Finishing] {
            let (mut phase, opened) = in_phase(from);
            let before = phase.deadline(&LIMITS);
            phase.blocked(opened + seconds(5));
            phase.blocked(opened + seconds(6));
            assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(5) + LIMITS.stall), "{from:?}");
            phase.wrote(|| opened + seconds(7));
            assert_eq!(phase.deadline(&LIMITS), before, "{from:?}");
        }
    }

    #[test]
    fn hung_up_leaves_an_answer_its_grace_from_the_last_that_happened() {
        let (mut phase, opened) = in_phase(Doing::Answering);
        assert!(phase.is_to_be_watched());
        phase.hung_up(opened + seconds(5));
        phase.hung_up(opened + seconds(9));
        assert!(!phase.is_to_be_watched());
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(5) + GRACE), "from the first time it was seen");
        phase.wrote(|| opened + seconds(7));
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(7) + GRACE), "an answer that flows goes on");
        phase.blocked(opened + seconds(8));
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(8) + LIMITS.stall), "it waits for the reader now");
        phase.wrote(|| opened + seconds(9));
        phase.asked(false, opened + seconds(10));
        assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(10) + GRACE), "each further request has it");
        phase.answered();
        assert_eq!(phase.deadline(&LIMITS), None);
    }

    #[test]
    fn hung_up_moves_no_other_deadline() {
        for from in ALL.into_iter().filter(|&doing| doing != Doing::Answering) {
            let (mut phase, opened) = in_phase(from);
            let before = phase.deadline(&LIMITS);
            assert!(!phase.is_to_be_watched());
            phase.hung_up(opened + seconds(5));
            assert_eq!(phase.deadline(&LIMITS), before, "{from:?}");
        }
    }

    #[test]
    fn closing_lasts_for_the_linger_time_from_its_beginning() {
        for from in ALL.into_iter().filter(|&doing| doing != Doing::Closing) {
            let (mut phase, opened) = in_phase(from);
            phase.closing(opened + seconds(5));
            phase.closing(opened + seconds(6));
            assert_eq!(phase.deadline(&LIMITS), Some(opened + seconds(5) + LINGER), "{from:?}");
        }
    }

    #[test]
    fn only_idle_is_idle() {
        for doing in ALL {
            assert_eq!(in_phase(doing).0.idle_since().is_some(), doing == Doing::Idle);
        }
    }
}
