//! What lies in NATS gets lost.

use crate::machines::{count, done, front, job, put, worker};
use crate::nats::{Nats, bucket, named};
use futures_util::TryStreamExt as _;
use std::path::Path;

#[test]
fn a_deleted_result_and_a_purged_stream_are_made_good() {
    let nats = Nats::start("losses");
    let front = front(&nats, &[]);
    let first = worker(&nats);
    put(&front, 19);
    job(&front, 19, |job| job["tasks_done"].as_u64() > Some(20));
    drop(first);
    nats.within(async |context| {
        let results = bucket(&context, "nqueens-results").await;
        let keys: Vec<String> = results.keys().await.expect("keys").try_collect().await.expect("keys");
        for key in keys.iter().take(3) {
            results.delete(key).await.expect("deleted");
        }
        let tasks = context.get_stream(named(&context, "nqueens-tasks").await).await.expect("a stream");
        let purged = tasks.purge().await.expect("purged").purged;
        println!("{} results deleted of {}, {purged} messages purged", keys.len().min(3), keys.len());
        assert!(purged > 0 && !keys.is_empty());
    });
    let _workers = [worker(&nats), worker(&nats)];
    assert_eq!(done(&front, 19)["count"], count(19));
}

#[test]
fn an_older_state_that_is_put_back_is_gone_on_from() {
    let mut nats = Nats::start("restored");
    let front = front(&nats, &[]);
    let _workers = [worker(&nats), worker(&nats)];
    put(&front, 19);
    job(&front, 19, |job| job["tasks_done"].as_u64() > Some(10));
    nats.stop();
    let backup = nats.folder.path().join("backup");
    copy(&nats.store(), &backup);
    nats.start_again();
    let done_then = job(&front, 19, |job| job["tasks_done"].as_u64() > Some(300))["tasks_done"].clone();
    nats.stop();
    std::fs::remove_dir_all(nats.store()).expect("removed");
    copy(&backup, &nats.store());
    nats.start_again();
    println!("put back when {done_then} tasks were done");
    assert_eq!(done(&front, 19)["count"], count(19));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("copied");
        }
    }
}
