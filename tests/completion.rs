//! The completion instances in `tests/data/completion/instances.txt`, and what every one of them has to show.
//!
//! Each line is `group n b free`: the group it belongs to, the size, the array B with 0 for an empty row, and the
//! squares that are not blocked, by rows: `2.5/1` says columns 2 and 5 of row 1, and column 1 of row 2. Without that
//! field no square is blocked. The groups are
//!
//! - `rule-30`: 30% of the queens of a solution by a fixed rule, the same at all sizes;
//! - `swaps-30`: 30% of the queens of a solution without a pattern;
//! - `random-30`: queens in 30% of the rows at random, so that they do not attack each other (there may be no way on);
//! - `blocked-830`: no queens, and 830 in 1000 squares blocked at random. These are the hard ones: at n = 20, 50 and
//!   100, with 700, 870 and 930 blocked, about one solution in all would be left on the average.
//!
//! All come from the generator below and its fixed seed.

#![allow(clippy::expect_used)] // the helpers are test code as well

use nqueens::queens::complete::Completing;
use nqueens::queens::{Board, Stop};

const FILE: &str = "tests/data/completion/instances.txt";

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, k: usize) -> usize {
        (self.next() % k as u64) as usize
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A solution by the list rule: even columns, then odd ones, a few of them moved where n mod 6 asks for it.
fn by_rule(n: u32) -> Vec<u32> {
    let mut even: Vec<_> = (2..=n).step_by(2).collect();
    let mut odd: Vec<_> = (1..=n).step_by(2).collect();
    if n % 6 == 2 {
        odd.swap(0, 1);
        let five = odd.remove(2);
        odd.push(five);
    } else if n % 6 == 3 {
        let two = even.remove(0);
        even.push(two);
        odd.rotate_left(2);
    }
    even.append(&mut odd);
    even
}

/// A solution without a pattern: a random permutation, from which random swaps take attacks away.
fn by_swaps(n: u32, random: &mut Random) -> Vec<u32> {
    let size = n as usize;
    let mut b: Vec<_> = (1..=n).collect();
    loop {
        random.shuffle(&mut b);
        for _ in 0..100 * size * size {
            let attacks = attacks(&b);
            if attacks == 0 {
                return b;
            }
            let (i, j) = (random.below(size), random.below(size));
            b.swap(i, j);
            if self::attacks(&b) > attacks {
                b.swap(i, j);
            }
        }
    }
}

/// How many queens of a full board share a diagonal with one further down.
fn attacks(b: &[u32]) -> usize {
    let n = b.len();
    let mut taken = vec![[false; 2]; 2 * n + 1];
    let mut attacks = 0;
    for (row, &column) in b.iter().enumerate() {
        for (line, k) in [row + column as usize, row + n - column as usize].into_iter().enumerate() {
            attacks += usize::from(std::mem::replace(&mut taken[k][line], true));
        }
    }
    attacks
}

/// The board with `kept` of its queens.
fn keep(mut b: Vec<u32>, kept: usize, random: &mut Random) -> Vec<u32> {
    let mut rows: Vec<_> = (0..b.len() as u32).collect();
    random.shuffle(&mut rows);
    for &row in &rows[kept..] {
        b[row as usize] = 0;
    }
    b
}

/// Up to `queens` queens, each on a random square that is not attacked by those before it.
fn random_givens(n: u32, queens: usize, random: &mut Random) -> Vec<u32> {
    let mut b = vec![0; n as usize];
    let mut free: Vec<(u32, u32)> = (1..=n).flat_map(|row| (1..=n).map(move |column| (row, column))).collect();
    for _ in 0..queens {
        if free.is_empty() {
            break;
        }
        let (row, column) = free[random.below(free.len())];
        b[row as usize - 1] = column;
        free.retain(|&(r, c)| r != row && c != column && r + c != row + column && r + column != row + c);
    }
    b
}

/// The columns of each row that are left when each square is blocked with a chance of `blocked` in 1000.
fn random_free(n: u32, blocked: usize, random: &mut Random) -> Vec<Vec<u32>> {
    let mut row = || (1..=n).filter(|_| random.below(1000) >= blocked).collect();
    (0..n).map(|_| row()).collect()
}

fn join<T: ToString>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}

fn generate() -> String {
    let mut random = Random(1850);
    let mut lines = String::new();
    for n in [20, 50, 100, 200] {
        let part = |percent| n as usize * percent / 100;
        for percent in [10, 30, 50, 70] {
            for _ in 0..4 {
                let b = keep(by_rule(n), part(percent), &mut random);
                lines += &format!("rule-{percent} {n} {}\n", join(b, ","));
                let solution = by_swaps(n, &mut random);
                let b = keep(solution, part(percent), &mut random);
                lines += &format!("swaps-{percent} {n} {}\n", join(b, ","));
            }
        }
        for percent in [20, 40, 60, 80] {
            for _ in 0..4 {
                let b = random_givens(n, part(percent), &mut random);
                lines += &format!("random-{percent} {n} {}\n", join(b, ","));
            }
        }
    }
    for (n, blocked) in [(20, 700), (30, 800), (40, 820), (50, 830), (50, 870), (60, 840), (100, 850), (100, 880)] {
        for _ in 0..4 {
            let free = random_free(n, blocked, &mut random).into_iter().map(|row| join(row, "."));
            let (b, free) = (join(vec![0; n as usize], ","), join(free, "/"));
            lines += &format!("blocked-{blocked} {n} {b} {free}\n");
        }
    }
    lines
}

struct Instance {
    group: String,
    b: Vec<u32>,
    blocked: Vec<(u32, u32)>,
}

fn instances() -> Vec<Instance> {
    let text = std::fs::read_to_string(FILE).expect("the committed instances");
    let numbers = |text: &str, separator: char| -> Vec<u32> {
        text.split(separator).filter(|item| !item.is_empty()).map(|item| item.parse().expect("a number")).collect()
    };
    let instance = |line: &str| {
        let fields: Vec<_> = line.split(' ').collect();
        let b = numbers(fields[2], ',');
        let mut blocked = Vec::new();
        for (row, free) in (1..).zip(fields.get(3).iter().flat_map(|free| free.split('/'))) {
            let free = numbers(free, '.');
            blocked.extend((1..=b.len() as u32).filter(|column| !free.contains(column)).map(|column| (row, column)));
        }
        Instance { group: fields[0].to_owned(), b, blocked }
    };
    text.lines().map(instance).collect()
}

#[test]
fn the_file_is_what_the_generator_makes() {
    let text = generate();
    if std::env::var_os("WRITE_INSTANCES").is_some() {
        std::fs::write(FILE, &text).expect("a place to write to");
    }
    assert!(std::fs::read_to_string(FILE).expect("the committed instances") == text);
}

#[test]
fn every_instance_is_settled() {
    for Instance { group, b, blocked } in instances() {
        let name = format!("{group} {}", b.len());
        let mut found = Completing::new(&Board::new(b.clone()).expect("a board"), &blocked, 1).expect(&name);
        let found = found.run(&Stop::new()).expect(&name);
        let solvable = group.starts_with("rule") || group.starts_with("swaps");
        assert!(!solvable || found.boards.len() == 1, "{name}");
        assert!(found.exhausted || found.boards.len() == 1, "{name}");
        for board in found.boards {
            assert!(board.is_solution(), "{name}");
            assert!(b.iter().zip(board.columns()).all(|(given, column)| *given == 0 || given == column), "{name}");
            assert!(!board.queens().any(|queen| blocked.contains(&queen)), "{name}");
        }
    }
}
