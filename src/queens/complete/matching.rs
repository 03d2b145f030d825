//! A look at the whole board, for dead ends that no single row or column shows.
//!
//! No two queens share a line. So all open rows together can be given each a column of its own, among those of its
//! free squares; also each a diagonal ↘ of its own, and each a diagonal ↗ of its own; and all open columns likewise.
//! Where they cannot (say, because all free squares of five rows are in four columns), there is no completion, though
//! a search would try nearly everything before it gave up.

use super::squares::{DeadEnd, RowOrColumn, Squares};

/// `Err` with a row or column that is left over when the others have got a line of their own, `Ok` when each can.
pub(super) fn look(squares: &Squares) -> Result<(), DeadEnd> {
    let n = squares.size();
    for (needy, kinds) in [(0..n, 1..4), (n..2 * n, 2..4)] {
        for kind in kinds {
            let mut matching = Matching::new(n, kind);
            if let Some(line) =
                squares.open().filter(|line| needy.contains(line)).find(|&line| !matching.give(squares, line))
            {
                return Err(DeadEnd(line));
            }
        }
    }
    Ok(())
}

/// Which line was given to which row or column.
struct Matching {
    /// Which of the four lines through a square is given away, as in [`Squares::lines`].
    kind: usize,
    /// For each line, who has it.
    owner: Vec<Option<RowOrColumn>>,
    /// For each row and column, what it has.
    owned: Vec<Option<usize>>,
    /// For each line, who asked for it last, and in whose turn.
    asked: Vec<(RowOrColumn, usize)>,
    turn: usize,
}

impl Matching {
    fn new(n: usize, kind: usize) -> Self {
        Self { kind, owner: vec![None; 6 * n], owned: vec![None; 2 * n], asked: vec![(0, 0); 6 * n], turn: 0 }
    }

    /// Gives a line to `newcomer`, for which others may have to change theirs; `false` when nobody can.
    ///
    /// A breadth-first search: whoever has a line that somebody asks for asks for all others that it could have
    /// instead, until one of them is nobody's.
    fn give(&mut self, squares: &Squares, newcomer: RowOrColumn) -> bool {
        self.turn += 1;
        let mut asking = vec![newcomer];
        let mut next = 0;
        while let Some(&asker) = asking.get(next) {
            next += 1;
            for square in squares.free_in(asker) {
                let (line, _) = squares.lines(square)[self.kind];
                if self.asked[line].1 == self.turn {
                    continue;
                }
                self.asked[line] = (asker, self.turn);
                match self.owner[line] {
                    Some(owner) => asking.push(owner),
                    None => {
                        self.pass_on(line);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Gives `line` to whoever asked for it, and what that one had to whoever asked for that, down to the newcomer.
    fn pass_on(&mut self, line: usize) {
        let mut given = Some(line);
        while let Some(line) = given {
            let asker = self.asked[line].0;
            self.owner[line] = Some(asker);
            given = self.owned[asker].replace(line);
        }
    }
}
