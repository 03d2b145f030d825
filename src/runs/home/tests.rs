//! The data directory through damage, trouble and restarts.

use super::file::{File, NAME};
use super::record::Records;
use super::*;
use crate::queens::Stop;
use crate::queens::count::{Kernel, Worker};
use crate::queens::published::published;
use crate::runs::Count;
use crate::runs::job::{Finished, Work};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::fs;
use std::path::{Path, PathBuf};

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
}

fn plan(n: u32) -> Plan {
    Plan::new(size(n)).expect("a plan")
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// A folder of its own for each test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nqueens-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join(NAME)
    }

    /// The names of the files that were set aside.
    fn set_aside(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).filter(|name| name != NAME).collect();
        names.sort();
        names
    }

    /// Writes jobs as a service would have.
    fn write(&self, jobs: &[(u32, Job)]) {
        let mut records = Records::new();
        for (n, job) in jobs {
            record::write(*n, job, &mut records);
        }
        let changes: Vec<_> = records.iter().map(|(&key, record)| (key, Some(record.as_slice()))).collect();
        File::open(&self.0).expect("a file").0.write(&changes).expect("written");
    }

    fn read(&self) -> BTreeMap<u32, Job> {
        File::open(&self.0).expect("a file").1.jobs
    }

    fn open(&self) -> Local {
        Local::open(Some(self.0.clone()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn access(home: &Local, is: impl Fn(&Access) -> bool) -> Access {
    let mut access = home.access();
    let found = access.wait_for(|access| is(access));
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("it never was so").expect("watched").clone()
}

async fn entry(home: &Local, n: u32, is: impl Fn(&Entry) -> bool) -> Entry {
    let mut entry = home.watch(size(n));
    let found = entry.wait_for(|entry| is(entry));
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("it never was so").expect("watched").clone()
}

/// The true results of the tasks of size `n`.
fn results(n: u32) -> Vec<u64> {
    let plan = plan(n);
    let mut worker = Worker::new(&plan, Kernel::Best);
    (0..plan.all_tasks()).map(|task| worker.run(task, &Stop::new()).expect("not stopped")).collect()
}

/// An open job of size `n` of which every other task is finished, and a done one of size 8.
fn half_done(n: u32) -> [(u32, Job); 2] {
    let mut work = Work { started: Some(1_000_000_000), cpu: Duration::from_secs(5), ..Work::none(&plan(n)) };
    for (task, sum) in (0..).zip(results(n)).step_by(2) {
        assert!(work.ledger.add(task..task + 1, sum));
    }
    [(n, Job::Open(work)), (8, eight())]
}

fn eight() -> Job {
    let count = Count::new(size(8), 92, 4, 0);
    Job::Done(Finished { count, plan: 1, started: Some(5), finished: Some(6), cpu: Some(Duration::from_millis(7)) })
}

/// Does all that is left of a size.
async fn finish(home: &Local, n: u32) {
    let (plan, results) = (plan(n), results(n));
    while let Some(tasks) = home.claim(size(n), 0, 5).await.expect("no trouble") {
        let mut done = Ledger::new(&plan);
        for task in tasks {
            assert!(done.add(task..task + 1, results[task as usize]));
        }
        home.finish(size(n), done, Duration::from_secs(1)).await.expect("no trouble");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_on_where_it_was_and_tells_how_it_came_about() {
    let folder = Folder::new("resume");
    folder.write(&half_done(14));
    let home = folder.open();
    access(&home, |access| *access == Access::Open).await;
    let begun = entry(&home, 14, |_| true).await;
    assert!(begun.kept && begun.job == half_done(14)[0].1);
    finish(&home, 14).await;
    let Job::Done(finished) = entry(&home, 14, |entry| entry.kept && entry.settled).await.job else {
        panic!("not done")
    };
    let expected = published(size(14)).expect("published");
    assert_eq!((finished.count.all, finished.count.fundamental), (expected.all, expected.fundamental));
    assert_eq!((finished.started, finished.plan), (Some(1_000_000_000), Plan::VERSION));
    assert!(finished.cpu > Some(Duration::from_secs(5)) && finished.finished > finished.started);
    assert_eq!(home.end(later()).await, Ok(0));
    // Its tasks are gone, its count is known.
    assert_eq!(folder.read(), BTreeMap::from([(8, eight()), (14, Job::Done(finished))]));
    assert!(folder.set_aside().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_contradict_each_other_are_never_summed() {
    let folder = Folder::new("contradiction");
    folder.write(&half_done(14));
    // In the ledger that overlap cannot be written: beside it it can.
    let overlap = record::write_range(14, 1, crate::runs::ledger::Part { to: 3, sum: 7 });
    let (file, _) = File::open(&folder.0).expect("a file");
    file.write(&[(record::Key::Range(14, 1), Some(&overlap))]).expect("written");
    drop(file);
    let found = folder.read();
    assert!(
        matches!(&found[&14], Job::Failed { work, reason, .. } if work.ledger.done() == 0 && reason.contains("set aside"))
    );
    assert_eq!(found[&8], eight());
    assert!(folder.set_aside()[0].starts_with("nqueens.redb.damaged-"));
}

#[test]
fn bytes_flipped_anywhere_and_a_file_cut_short_never_give_a_false_record() {
    let folder = Folder::new("flipped");
    folder.write(&half_done(13));
    let (sound, truth) = (fs::read(folder.file()).expect("a file"), results(13));
    let (mut random, mut set_aside) = (ChaCha8Rng::seed_from_u64(5), 0);
    let used = sound.iter().rposition(|&byte| byte != 0).expect("not empty") + 1;
    for round in 0..120 {
        let mut bytes = sound.clone();
        match round {
            0 => bytes.truncate(sound.len() / 2),
            1 => bytes.truncate(100),
            _ => {
                for _ in 0..1 + round % 4 {
                    let at = random.next_u64() as usize % used;
                    bytes[at] ^= 1 << (random.next_u32() % 8);
                }
            }
        }
        fs::write(folder.file(), bytes).expect("written");
        let (file, contents) = File::open(&folder.0).expect("damage does not keep it from starting");
        if let Some(work) = contents.jobs.get(&13).and_then(Job::work) {
            for (from, part) in work.ledger.ranges() {
                let expected: u64 = truth[from as usize..part.to as usize].iter().sum();
                assert_eq!(part.sum, expected, "round {round}");
            }
        }
        assert!(contents.jobs.get(&8).is_none_or(|job| *job == eight() || matches!(job, Job::Failed { .. })));
        drop(file);
        for name in folder.set_aside() {
            set_aside += 1;
            fs::remove_file(folder.0.join(name)).expect("removed");
        }
    }
    assert!(set_aside > 10, "{set_aside}");
}

#[test]
fn a_foreign_file_is_set_aside() {
    let folder = Folder::new("foreign");
    fs::write(folder.file(), "my thesis").expect("written");
    assert!(folder.read().is_empty());
    let kept = folder.set_aside();
    assert_eq!(fs::read(folder.0.join(&kept[0])).expect("kept"), b"my thesis");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_another_process_holds_is_taken_over_when_it_is_let_go() {
    let folder = Folder::new("held");
    folder.write(&half_done(14));
    let (held, _) = File::open(&folder.0).expect("a file");
    let home = folder.open();
    let closed = access(&home, |access| *access != Access::Opening).await;
    assert!(matches!(closed, Access::Closed(trouble) if trouble.reason == "another process holds it open"));
    assert!(home.grant(size(9), Wish::Count, later()).await.is_err());
    // What is finished meanwhile is kept when it can be.
    finish(&home, 12).await;
    assert_eq!(home.claim(size(14), 0, 3).await, Ok(Some(0..3)));
    drop(held);
    access(&home, |access| *access == Access::Open).await;
    assert!(entry(&home, 12, |entry| entry.kept).await.settled);
    let taken_over = entry(&home, 14, |entry| matches!(entry.job, Job::Open(_))).await;
    assert!(taken_over.kept && taken_over.job.tasks_done(&plan(14)) >= plan(14).all_tasks() / 2);
    finish(&home, 14).await;
    home.release(size(14), 0..3).await.expect("no trouble");
    finish(&home, 14).await;
    assert_eq!(home.end(later()).await, Ok(0));
    assert_eq!(folder.read().into_keys().collect::<Vec<_>>(), [8, 12, 14]);
    assert!(folder.set_aside().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_yet_is_taken_when_it_is() {
    let folder = Folder::new("absent");
    let place = folder.0.join("mount");
    fs::write(&place, "not yet").expect("written");
    let home = Local::open(Some(place.clone()));
    let closed = access(&home, |access| *access != Access::Opening).await;
    assert!(matches!(closed, Access::Closed(trouble) if trouble.reason.contains("the folder cannot be made")));
    fs::remove_file(&place).expect("removed");
    access(&home, |access| *access == Access::Open).await;
    home.grant(size(9), Wish::Count, later()).await.expect("granted");
    assert!(matches!(File::open(&place), Err(reason) if reason == "another process holds it open"));
    assert_eq!(home.end(later()).await, Ok(0));
    assert!(matches!(File::open(&place).expect("let go").1.jobs[&9], Job::Open(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_deleted_or_replaced_is_found_out_and_all_is_written_anew() {
    let folder = Folder::new("deleted");
    let home = folder.open();
    home_open(&home).await;
    home.grant(size(14), Wish::Count, later()).await.expect("granted");
    fs::remove_dir_all(&folder.0).expect("removed");
    home.grant(size(15), Wish::Count, later()).await.expect("granted");
    assert!(entry(&home, 14, |entry| entry.kept).await.kept && folder.file().exists());
    // Another one in its place, of a service that knew other things.
    let other = Folder::new("replacement");
    other.write(&half_done(13));
    fs::rename(other.file(), folder.file()).expect("replaced");
    home.grant(size(16), Wish::Count, later()).await.expect("granted");
    assert!(entry(&home, 13, |entry| entry.kept).await.job == half_done(13)[0].1);
    assert_eq!(home.end(later()).await, Ok(0));
    assert_eq!(folder.read().into_keys().collect::<Vec<_>>(), [8, 13, 14, 15, 16]);
}

async fn home_open(home: &Local) {
    access(home, |access| *access == Access::Open).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_is_tried_again_and_a_wish_is_not_granted_meanwhile() {
    let folder = Folder::new("unwritten");
    let home = folder.open();
    home_open(&home).await;
    home.grant(size(13), Wish::Count, later()).await.expect("granted");
    // A folder stands where the file was.
    fs::remove_file(folder.file()).expect("removed");
    fs::create_dir(folder.file()).expect("made");
    assert!(home.grant(size(14), Wish::Count, later()).await.is_err());
    let told = entry(&home, 14, |_| true).await;
    assert!(matches!(told.job, Job::Unasked(_)));
    access(&home, |access| matches!(access, Access::Unwritable(_))).await;
    assert!(home.grant(size(13), Wish::Cancel, later()).await.is_err());
    assert!(!entry(&home, 13, |entry| matches!(entry.job, Job::Open(_))).await.kept);
    // A result is told all the same, but not as if it were kept.
    finish(&home, 13).await;
    let told = entry(&home, 13, |entry| matches!(entry.job, Job::Done(_))).await;
    assert!(told.settled && !told.kept);
    assert_eq!(home.facts.unkept(), plan(13).all_tasks());
    fs::remove_dir(folder.file()).expect("removed");
    assert!(entry(&home, 13, |entry| entry.kept).await.settled);
    home_open(&home).await;
    assert_eq!(home.end(later()).await, Ok(0));
    assert!(matches!(folder.read()[&13], Job::Done(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_nobody_waits_for_any_more_is_not_granted() {
    let folder = Folder::new("hung-up");
    let home = folder.open();
    home_open(&home).await;
    let past = Instant::now();
    match home.grant(size(13), Wish::Count, past).await {
        // It may have been quicker than the clock.
        Ok(()) => assert!(matches!(entry(&home, 13, |_| true).await.job, Job::Open(_))),
        Err(_) => assert!(matches!(entry(&home, 13, |_| true).await.job, Job::Unasked(_))),
    }
    let is_open = matches!(entry(&home, 13, |_| true).await.job, Job::Open(_));
    assert_eq!(home.end(later()).await, Ok(0));
    assert_eq!(folder.read().contains_key(&13), is_open);
}

/// Killed between any two steps of setting a file aside, the next start finds a sound file or the damaged one.
#[test]
fn setting_aside_that_was_cut_off_is_done_again() {
    let folder = Folder::new("cut-off");
    folder.write(&half_done(13));
    let damaged = {
        let mut bytes = fs::read(folder.file()).expect("a file");
        bytes.truncate(100);
        bytes
    };
    fs::write(folder.file(), &damaged).expect("written");
    // The new one was begun, and the old one has its second name already.
    fs::write(folder.0.join("nqueens.new"), "half of it").expect("written");
    fs::hard_link(folder.file(), folder.0.join("nqueens.redb.damaged-1")).expect("linked");
    assert!(folder.read().is_empty());
    for name in folder.set_aside() {
        assert!(name.starts_with("nqueens.redb.damaged-"), "{name}");
        assert_eq!(fs::read(folder.0.join(name)).expect("kept"), damaged);
    }
    assert!(Path::new(&folder.file()).exists());
}

#[test]
fn counts_and_open_jobs_of_the_format_before_are_taken_over() {
    let folder = Folder::new("format-1");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ledger-format-1.redb"), folder.file()).expect("copied");
    let found = folder.read();
    let nine = published(size(9)).expect("published");
    let count = Count::new(size(9), nine.all, nine.half_turn, nine.quarter_turn);
    assert!(matches!(&found[&9], Job::Done(done) if done.count == count && done.plan == 2));
    assert!(matches!(&found[&20], Job::Open(work) if work.ledger.done() == 0));
    assert!(folder.set_aside()[0].starts_with("nqueens.redb.old-format-"));
    assert_eq!(folder.read(), found);
}
