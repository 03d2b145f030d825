//! The lecture's routine: recursive backtracking with `Try`, `Safe`, `Record` and `Move-Off`.
//!
//! This is the algorithm that the project grew out of, step by step and under the lecture's own names, and the
//! oracle that everything faster is checked against. In words:
//!
//! ```text
//! Try(s): decide the queen of row s                      q: has it succeeded?
//!     j = 0, q = no
//!     while not q and j < n:
//!         j = j + 1                                      the next candidate column, in ascending order
//!         if Safe(s, j):
//!             Record(s, j)
//!             if s = n:  the board is an answer, q = yes
//!             else:      q = Try(s + 1)
//!             if not q:  Move-Off(s, j)                  it led nowhere: take the queen up again
//!     return q
//!
//! Safe(s, j):      column j, down diagonal s + j and up diagonal s - j are all free
//! Record(s, j):    B[s] = j; its column and both diagonals are taken
//! Move-Off(s, j):  B[s] = 0; its column and both diagonals are free again
//! ```
//!
//! C, D and U hold **1 for free and 0 for taken**, C for columns j = 1..n, D for down diagonals k = i + j = 2..2n
//! and U for up diagonals k = i - j = -(n-1)..n-1. Because candidates ascend and the search ends with its first
//! answer, that answer is the lexicographically smallest solution. To visit *all* solutions the same loop runs on
//! as if each answer had been a failure, and every record is taken back in the end.

pub mod trace;

use super::{Board, Size, Stop, Stopped};

/// How often each of the lecture's steps was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Entries of `Try`.
    pub try_calls: u64,
    /// `Safe` tests.
    pub safe: u64,
    /// Queens put down by `Record`.
    pub record: u64,
    /// Queens taken up by `Move-Off`.
    pub move_off: u64,
}

/// The largest size that the recursion takes: one small stack frame a row, safe on a thread with 2 MiB of stack.
pub const MAX: u32 = 1000;

/// The lexicographically first solution, or `None` where there is none, and the steps it took to find out.
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
///
/// # Panics
/// When `n` is over [`MAX`].
pub fn first_solution(n: Size, stop: &Stop) -> Result<(Option<Board>, Steps), Stopped> {
    let mut search = Search::for_one(n);
    search.run(stop)?;
    Ok((search.board(), search.steps))
}

/// The number of solutions by running the routine to its end, and the steps that took.
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
///
/// # Panics
/// When `n` is over [`MAX`].
pub fn count(n: Size, stop: &Stop) -> Result<(u64, Steps), Stopped> {
    let mut search = Search::for_all(n);
    search.run(stop)?;
    Ok((search.solutions, search.steps))
}

/// The four arrays, and what is counted on the way.
///
/// Where the recursion was stopped can be read from B: the calls up to the first row without a queen had been entered,
/// each with its candidate in B. So it is entered again as far as that, without counting anything twice, and goes on.
#[derive(Clone, Debug)]
pub struct Search {
    n: usize,
    /// `b[i]`: the column of row i's queen, 0 for none; `b[0]` is not used.
    b: Vec<u32>,
    /// `c[j]`: is column j free?
    c: Vec<u8>,
    /// `d[i + j]`: is the down diagonal free?
    d: Vec<u8>,
    /// `u[i + n - j]`: is the up diagonal k = i - j free?
    u: Vec<u8>,
    /// Whether to go on after a solution.
    all: bool,
    solutions: u64,
    steps: Steps,
    stop: Stop,
    /// Whether the calls that are entered had been entered before the search was stopped.
    again: bool,
}

impl Search {
    /// The search for the first solution, before its first step.
    ///
    /// # Panics
    /// When `n` is over [`MAX`].
    #[must_use]
    pub fn for_one(n: Size) -> Self {
        Self::new(n, false)
    }

    /// The search for all solutions, before its first step.
    ///
    /// # Panics
    /// When `n` is over [`MAX`].
    #[must_use]
    pub fn for_all(n: Size) -> Self {
        Self::new(n, true)
    }

    /// Goes on to the end; once, and again each time that it was stopped.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first. Nothing is lost by that, and each call gets at least a thousand steps
    /// further.
    pub fn run(&mut self, stop: &Stop) -> Result<(), Stopped> {
        self.stop = stop.clone();
        self.try_row(1).map(drop)
    }

    /// The solution that was found, if it was one that was looked for.
    #[must_use]
    pub fn board(&self) -> Option<Board> {
        Board::new(self.b[1..].to_vec()).ok().filter(Board::is_full)
    }

    /// How many solutions were found.
    #[must_use]
    pub fn solutions(&self) -> u64 {
        self.solutions
    }

    /// The steps so far.
    #[must_use]
    pub fn steps(&self) -> Steps {
        self.steps
    }

    fn new(n: Size, all: bool) -> Self {
        assert!(n.get() <= MAX, "the recursion takes sizes up to {MAX}");
        let n = n.index();
        Self {
            n,
            b: vec![0; n + 1],
            c: vec![1; n + 1],
            d: vec![1; 2 * n + 1],
            u: vec![1; 2 * n],
            all,
            solutions: 0,
            steps: Steps::default(),
            stop: Stop::new(),
            again: false,
        }
    }

    /// `Try(s)`: whether a queen was found for row `s` and every row after it.
    fn try_row(&mut self, s: usize) -> Result<bool, Stopped> {
        let (mut j, mut q) = (0, false);
        if self.again {
            j = self.b[s] as usize;
            self.again = j > 0;
            if self.again {
                q = self.try_row(s + 1)?;
                if !q {
                    self.move_off(s, j);
                }
            }
        } else {
            self.steps.try_calls += 1;
            if self.steps.try_calls.is_multiple_of(1024) {
                self.again = self.stop.is_set();
                if self.again {
                    return Err(Stopped);
                }
            }
        }
        while !q && j < self.n {
            j += 1;
            if self.safe(s, j) {
                self.record(s, j);
                if s == self.n {
                    self.solutions += 1;
                    q = !self.all;
                } else {
                    q = self.try_row(s + 1)?;
                }
                if !q {
                    self.move_off(s, j);
                }
            }
        }
        Ok(q)
    }

    /// `Safe(s, j)`: whether the square's column and both diagonals are free.
    fn safe(&mut self, s: usize, j: usize) -> bool {
        self.steps.safe += 1;
        self.c[j] == 1 && self.u[s + self.n - j] == 1 && self.d[s + j] == 1
    }

    /// `Record(s, j)`: puts row `s`'s queen down in column `j`.
    fn record(&mut self, s: usize, j: usize) {
        self.steps.record += 1;
        self.b[s] = j as u32;
        (self.c[j], self.d[s + j], self.u[s + self.n - j]) = (0, 0, 0);
    }

    /// `Move-Off(s, j)`: takes row `s`'s queen up from column `j`.
    fn move_off(&mut self, s: usize, j: usize) {
        self.steps.move_off += 1;
        self.b[s] = 0;
        (self.c[j], self.d[s + j], self.u[s + self.n - j]) = (1, 1, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    #[test]
    fn the_lecture_s_example() {
        let (board, steps) = first_solution(size(8), &Stop::new()).expect("not stopped");
        assert_eq!(board.map(Board::into_columns), Some(vec![1, 5, 8, 6, 3, 7, 2, 4]));
        assert_eq!(steps, Steps { try_calls: 113, safe: 876, record: 113, move_off: 105 });
    }

    #[test]
    fn to_the_end_every_record_is_taken_back() {
        let (count, steps) = count(size(8), &Stop::new()).expect("not stopped");
        assert_eq!(count, 92);
        assert_eq!(steps, Steps { try_calls: 1965, safe: 15720, record: 2056, move_off: 2056 });
    }

    #[test]
    fn stopped_over_and_over_it_takes_the_same_steps() {
        let stop = Stop::new();
        stop.set();
        for (n, all) in [(20, false), (26, false), (8, true), (10, true)] {
            let (mut whole, mut halting) = (Search::new(size(n), all), Search::new(size(n), all));
            whole.run(&Stop::new()).expect("not stopped");
            let mut stops = 0;
            while halting.run(&stop).is_err() {
                stops += 1;
            }
            assert_eq!(stops, whole.steps.try_calls / 1024, "n = {n}: as often as it looked");
            assert_eq!(halting.steps, whole.steps);
            assert_eq!((halting.board(), halting.solutions), (whole.board(), whole.solutions));
        }
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = Stop::new();
        stop.set();
        assert_eq!(first_solution(size(40), &stop), Err(Stopped));
        assert_eq!(count(size(20), &stop), Err(Stopped));
    }

    #[test]
    fn the_largest_size_recurses_within_the_stack_of_a_small_thread() {
        // Two seconds take the search of n = 1000 to its deepest rows many times over.
        let stop = Stop::new().with_deadline(std::time::Instant::now() + std::time::Duration::from_secs(1));
        let deep = move || first_solution(size(MAX), &stop);
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(deep).expect("a thread");
        assert_eq!(thread.join().expect("no overflow"), Err(Stopped));
    }
}
