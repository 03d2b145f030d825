use super::store::{Change, FILE, Store};
use super::*;
use crate::jobs::ledger::Part;
use crate::jobs::record::JobRecord;
use crate::queens::count::{Kernel, Worker};
use crate::queens::published::published;
use crate::queens::{Stop, symmetry};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::fs;
use std::path::Path;

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
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
        self.0.join(FILE)
    }

    /// The names of the files that were set aside.
    fn set_aside(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).filter(|name| name != FILE).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn open(directory: &Path, workers: usize) -> Jobs {
    let pool = Pool::new(workers, 1);
    let counts = Counts::new(pool.clone());
    Jobs::open(pool, counts, Settings { data_dir: Some(directory.to_owned()), ..Settings::default() }).await
}

async fn ended(jobs: &Jobs, n: u32) -> Snapshot {
    let mut job = jobs.watch(size(n)).expect("a job");
    let ended = job.wait_for(|job| job.state.is_final());
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends").expect("watched").clone()
}

/// The true results of the tasks of size `n`.
fn results(n: u32) -> Vec<u64> {
    let plan = Plan::new(size(n)).expect("a plan");
    let mut worker = Worker::new(&plan, Kernel::Best);
    (0..plan.tasks()).map(|task| worker.run(task, &Stop::new()).expect("not stopped")).collect()
}

/// A running job of size `n` of which every other task is finished, and a done one of size 8.
fn half_done(n: u32) -> Vec<Change> {
    let turned = [Some(symmetry::count_half_turn(size(n), &Stop::new()).expect("not stopped")), None];
    let running = JobRecord { state: State::Running, reason: None, turned };
    let done = JobRecord { state: State::Done, reason: None, turned: [None; 2] };
    let tasks = (0..).zip(results(n)).step_by(2);
    let ranges = tasks.map(|(task, sum)| Change::Range(n, task, Some(Part { to: task + 1, sum })));
    let jobs = [Change::Job(n, running), Change::Job(8, done), Change::Count(8, Count::new(size(8), 92, 4, 0))];
    jobs.into_iter().chain(ranges).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_on_where_it_was_with_any_number_of_workers() {
    let folder = Folder::new("resume");
    Store::open(&folder.0).expect("a store").0.write(&half_done(14)).expect("written");
    let jobs = open(&folder.0, 3).await;
    let begun = jobs.get(size(14)).expect("available").expect("a job");
    assert!(begun.tasks_done >= begun.tasks_total / 2 && begun.durable);
    let done = ended(&jobs, 14).await;
    let expected = published(size(14)).expect("published");
    assert_eq!(done.count.map(|count| count.all), Some(expected.all));
    assert_eq!(done.count.map(|count| count.fundamental), Some(expected.fundamental));
    assert!((done.progress() - 1.0).abs() == 0.0 && done.tasks_done == done.tasks_total);
    jobs.end().await;
    // Its tasks are gone, its count is known.
    let (_, contents) = Store::open(&folder.0).expect("let go");
    assert_eq!(contents.counts.keys().copied().collect::<Vec<_>>(), [8, 14]);
    assert!(contents.jobs.values().all(|(job, ledger)| job.state == State::Done && ledger.ranges().next().is_none()));
    assert!(folder.set_aside().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_contradict_each_other_are_never_summed() {
    for (at, change) in [
        ("overlap", Change::Range(14, 1, Some(Part { to: 3, sum: 7 }))),
        ("beyond", Change::Range(14, 63, Some(Part { to: 65, sum: 7 }))),
        ("overflow", Change::Range(14, 1, Some(Part { to: 2, sum: u64::MAX }))),
    ] {
        let folder = Folder::new(at);
        Store::open(&folder.0).expect("a store").0.write(&[half_done(14), vec![change]].concat()).expect("written");
        let jobs = open(&folder.0, 2).await;
        let job = jobs.get(size(14)).expect("available").expect("a job");
        assert_eq!((job.state, job.tasks_done), (State::Failed, 0), "{at}");
        assert!(job.reason.is_some_and(|reason| reason.contains("set aside")));
        assert_eq!(jobs.get(size(8)).expect("available").expect("a job").state, State::Done);
        assert!(folder.set_aside()[0].starts_with("nqueens.redb.damaged-"));
        jobs.put(size(14)).await.expect("available");
        assert_eq!(ended(&jobs, 14).await.count.map(|count| count.all), Some(365_596));
    }
}

#[test]
fn bytes_flipped_anywhere_and_a_file_cut_short_never_give_a_false_record() {
    let folder = Folder::new("flipped");
    {
        let (store, _) = Store::open(&folder.0).expect("a store");
        store.write(&half_done(13)).expect("written");
    }
    let (sound, truth) = (fs::read(folder.file()).expect("a file"), results(13));
    let half_turn = published(size(13)).map(|row| row.half_turn);
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
        let (store, contents) = Store::open(&folder.0).expect("damage does not keep it from starting");
        if let Some((_, ledger)) = contents.jobs.get(&13) {
            for (from, part) in ledger.ranges() {
                let expected: u64 = truth[from as usize..part.to as usize].iter().sum();
                assert_eq!(part.sum, expected, "round {round}");
            }
            assert!(ledger.turned()[0].is_none_or(|count| Some(count) == half_turn));
        }
        assert!(contents.counts.get(&8).is_none_or(|count| count.all == 92));
        drop(store);
        for name in folder.set_aside() {
            set_aside += 1;
            fs::remove_file(folder.0.join(name)).expect("removed");
        }
    }
    assert!(set_aside > 10, "{set_aside}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_had_is_told_and_nothing_in_it_is_touched() {
    let folder = Folder::new("held");
    let (_held, _) = Store::open(&folder.0).expect("a store");
    let jobs = open(&folder.0, 1).await;
    assert_eq!(jobs.unavailable(), Some("another process holds it open"));
    assert!(matches!(jobs.put(size(8)).await, Err(Refusal::Storage(_))));
    assert!(jobs.get(size(8)).is_err() && jobs.list().is_err());
    assert!(folder.set_aside().is_empty());
    // A file where the folder should be.
    let jobs = open(&folder.file(), 1).await;
    assert!(jobs.unavailable().is_some_and(|reason| reason.contains("the folder cannot be made")));
}

#[test]
fn a_foreign_file_is_set_aside() {
    let folder = Folder::new("foreign");
    fs::write(folder.file(), "my thesis").expect("written");
    assert!(Store::open(&folder.0).expect("a store").1.jobs.is_empty());
    let kept = folder.set_aside();
    assert_eq!(fs::read(folder.0.join(&kept[0])).expect("kept"), b"my thesis");
}

#[tokio::test]
async fn a_job_that_does_not_fit_the_memory_fails() {
    let pool = Pool::new(2, 1);
    let settings = Settings { memory: Some(100 << 20), ..Settings::default() };
    let jobs = Jobs::open(pool.clone(), Counts::new(pool), settings).await;
    let job = jobs.put(size(22)).await.expect("available");
    assert_eq!(job.state, State::Failed);
    assert!(job.reason.is_some_and(|reason| reason.contains("256 MB") && reason.contains("100 MB")));
    assert!(!job.durable);
    assert_eq!(jobs.put(size(9)).await.map(|job| job.n), Ok(size(9)));
    assert_eq!(ended(&jobs, 9).await.count.map(|count| count.all), Some(352));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_size_twice_over_cancelled_and_resumed_in_between() {
    let folder = Folder::new("every");
    let jobs = open(&folder.0, 2).await;
    for _ in 0..2 {
        for n in (1..=16).map(size) {
            jobs.put(n).await.expect("available");
            match jobs.cancel(n).await {
                Ok(job) => assert_eq!(job.state, State::Cancelled),
                Err(error) => assert_eq!(error, NotCancelled::Final(State::Done)),
            }
            let before = jobs.get(n).expect("available").expect("a job").tasks_done;
            let after = jobs.put(n).await.expect("available");
            assert!(after.tasks_done >= before && after.state != State::Cancelled);
        }
    }
    for n in 1..=16 {
        let count = ended(&jobs, n).await.count.expect("a count");
        let expected = published(size(n)).expect("published");
        assert_eq!(
            (count.all, count.fundamental, count.half_turn, count.quarter_turn),
            (expected.all, expected.fundamental, expected.half_turn, expected.quarter_turn)
        );
    }
}

#[tokio::test]
async fn what_could_not_be_written_is_tried_again_though_no_job_is_under_way() {
    let folder = Folder::new("unwritten");
    let jobs = open(&folder.0, 1).await;
    let kept = folder.0.join("kept");
    jobs.0.store.close();
    fs::rename(folder.file(), &kept).expect("renamed");
    fs::create_dir(folder.file()).expect("a folder in its place");
    jobs.0.counts.learn(size(8), Count::new(size(8), 92, 4, 0));
    assert!(matches!(jobs.put(size(8)).await, Err(Refusal::Storage(_))));
    fs::remove_dir(folder.file()).expect("gone");
    fs::rename(&kept, folder.file()).expect("back");
    let written = async {
        loop {
            let nobody_writes = jobs.0.writing.lock().await;
            if jobs.0.table().jobs.values().all(|job| !job.changed) {
                return;
            }
            drop(nobody_writes);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), written).await.expect("written");
}
