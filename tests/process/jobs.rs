//! Long counts through kills, stops and restarts of the process.

use crate::service::{Folder, QUIET, Service, program};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A service with so many workers and its jobs in a folder.
fn start(folder: &Path, workers: u64) -> Service {
    start_with(folder, workers, |_| {})
}

fn start_with(folder: &Path, workers: u64, more: impl FnOnce(&mut Command)) -> Service {
    let mut command = program(&[&QUIET[..], &["--access-log", "off", "--data-dir"]].concat());
    command.arg(folder).args(["--workers", &workers.to_string()]);
    more(&mut command);
    Service::of(&mut command)
}

fn done(job: &Value) -> u64 {
    job["tasks_done"].as_u64().unwrap_or_default() // none of what is not a job
}

/// A disk that syncs as a file says: slowly (8 seconds each time) or lazily (a fifth of one), not at all for want of room
/// or since it may only be read, or as ever.
struct Disk {
    preload: PathBuf,
    mood: PathBuf,
}

impl Disk {
    const SOURCE: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        static int sync_with(const char *name, int fd) {
            FILE *file = fopen(getenv("NQUEENS_TEST_DISK"), "r");
            int mood = file ? fgetc(file) : EOF;
            if (file) fclose(file);
            if (mood == 's') sleep(8);
            if (mood == 'l') usleep(200000);
            if (mood == 'f') { errno = ENOSPC; return -1; }
            if (mood == 'r') { errno = EROFS; return -1; }
            return ((int (*)(int)) dlsym(RTLD_NEXT, name))(fd);
        }
        int fsync(int fd) { return sync_with("fsync", fd); }
        int fdatasync(int fd) { return sync_with("fdatasync", fd); }
    "#;

    fn new(folder: &Folder) -> Self {
        std::fs::create_dir_all(folder.path()).expect("a folder");
        let [source, preload, mood] = ["disk.c", "disk.so", "mood"].map(|name| folder.path().join(name));
        std::fs::write(&source, Self::SOURCE).expect("written");
        let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&preload, &source]).arg("-ldl").status();
        assert!(made.expect("a C compiler, which the linker is part of").success());
        Self { preload, mood }
    }

    fn is(&self, mood: &str) {
        std::fs::write(&self.mood, mood).expect("written");
    }

    fn under(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.preload).env("NQUEENS_TEST_DISK", &self.mood);
    }
}

#[test]
fn killed_at_random_moments_it_ends_with_the_exact_count() {
    // At NQUEENS_TEST_KILL_N=19, or with NQUEENS_TEST_KILLS=100, this is the long form of the test.
    let set = |name, default| std::env::var(name).map_or(default, |value| value.parse().expect("a number"));
    let (n, kills) = (set("NQUEENS_TEST_KILL_N", 18), set("NQUEENS_TEST_KILLS", 5));
    let expected = nqueens::queens::published::table().find(|row| row.n == n).expect("published").all;
    let mut folder = Folder::new("killed");
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(std::process::id()));
    let mut at_least = 0;
    for _ in 0..kills {
        let mut service = start(folder.path(), 1 + random.next_u64() % 3);
        let found = service.json("PUT", &format!("/jobs/{n}"));
        assert!(found["state"] == "done" || done(&found) >= at_least, "{found}, not {at_least}");
        if found["state"] == "done" {
            assert_eq!(found["count"].as_u64(), Some(expected));
            drop(service);
            (folder, at_least) = (Folder::new("killed"), 0); // which is empty again
            continue;
        }
        let seen = service.watch(n, 2 + random.next_u64() as usize % 7);
        service.child.kill().expect("killed");
        // What was finished more than about a second ago has been written.
        let written = seen.iter().rfind(|(at, _)| at.elapsed() > Duration::from_millis(1800));
        at_least = written.map_or(0, |(_, job)| done(job)).max(done(&found)).max(at_least);
    }
    let service = start(folder.path(), 2);
    let found = service.json("PUT", &format!("/jobs/{n}"));
    assert!(found["state"] == "done" || done(&found) >= at_least, "{found}, not {at_least}");
    let (_, last) = service.watch(n, usize::MAX).pop().expect("an event");
    assert_eq!((&last["state"], last["count"].as_u64()), (&"done".into(), Some(expected)), "{last}");
    assert_eq!(service.json("GET", &format!("/count/{n}"))["method"], "search");
    drop(service);
    let (code, log) = {
        let service = start(folder.path(), 2);
        assert_eq!(service.json("GET", &format!("/count/{n}"))["count"].as_u64(), Some(expected));
        service.terminate()
    };
    assert!(code == Some(0) && !log.contains("set aside"), "{log}");
}

#[test]
fn an_orderly_end_loses_nothing() {
    let folder = Folder::new("ended");
    let service = start(folder.path(), 2);
    service.json("PUT", "/jobs/20");
    let (_, seen) = service.watch(20, 4).pop().expect("an event");
    let before = service.json("GET", "/jobs/20");
    let (code, log) = service.terminate();
    assert!(code == Some(0) && !log.contains("ERROR"), "{log}");
    let service = start(folder.path(), 3);
    let after = service.json("GET", "/jobs/20");
    assert!(done(&seen) > 0 && done(&after) >= done(&before), "{before} {after}");
    assert!(matches!(after["state"].as_str(), Some("queued" | "running")), "{after}");
}

#[test]
fn two_signals_at_once_lose_no_finished_task() {
    let folder = Folder::new("twice");
    let mut at_least = 0;
    for _ in 0..3 {
        let service = start(folder.path(), 2);
        service.json("PUT", "/jobs/20");
        let before = service.until(20, |job| done(job) >= at_least + 20);
        at_least = done(&before);
        let pid = service.child.id();
        let both = Command::new("sh").args(["-c", &format!("kill -TERM {pid}; kill -TERM {pid}")]).status();
        assert!(both.expect("a shell").success());
        let (code, log) = service.end();
        // Two that come at the same moment may be one.
        assert!(matches!(code, Some(0 | 143)) && !log.contains("are lost"), "{code:?} {log}");
    }
    let service = start(folder.path(), 1);
    let after = service.json("GET", "/jobs/20");
    assert!(done(&after) >= at_least, "{after}, not {at_least}");
}

#[test]
fn the_new_process_of_a_rolling_restart_takes_the_folder_and_its_jobs_over() {
    let folder = Folder::new("rolling");
    let first = start(folder.path(), 1);
    first.json("PUT", "/jobs/20");
    let before = first.until(20, |job| done(job) > 2);
    let second = start(folder.path(), 1);
    let refused = second.json("PUT", "/jobs/12");
    assert_eq!(refused["type"], "urn:nqueens:problem:storage-unavailable");
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("another process holds it open")));
    assert_eq!(second.json("GET", "/count/8")["count"], 92);
    assert_eq!(first.terminate().0, Some(0));
    let after = second.until(20, |job| done(job) > done(&before));
    assert!(after["state"] == "running" && after["durable"] == true, "{after}");
    assert_eq!(second.until(8, |job| job["durable"] == true)["count"], 92);
    let (code, log) = second.terminate();
    assert!(code == Some(0) && log.contains("can be used again"), "{log}");
}

#[test]
fn a_disk_that_hangs_holds_up_nobody() {
    let folder = Folder::new("slow");
    let disk = Disk::new(&folder);
    disk.is("slow");
    let begun = Instant::now();
    let service = start_with(&folder.path().join("data"), 1, |command| {
        disk.under(command);
        command.args(["--time-limit", "1s", "--drain", "1s"]);
    });
    assert_eq!(service.json("GET", "/count/8")["count"], 92);
    assert!(begun.elapsed() < Duration::from_secs(6), "the start has waited for the disk");
    for method in ["GET", "PUT", "DELETE"] {
        let begun = Instant::now();
        assert_eq!(service.json(method, "/jobs/12")["type"], "urn:nqueens:problem:storage-unavailable");
        assert!(begun.elapsed() < Duration::from_secs(6), "{method} has waited for the disk");
    }
    let begun = Instant::now();
    let (code, log) = service.terminate();
    assert!(code == Some(0) && begun.elapsed() < Duration::from_secs(6), "{log}");
    let last = log.lines().last().expect("a line");
    assert!(last.contains("are lost") && last.contains("\"tasks\":"), "{log}");
    // Nothing that was answered 503 has been done.
    disk.is("well");
    let service = start(&folder.path().join("data"), 1);
    assert_eq!(service.json("GET", "/jobs")["jobs"], Value::Array(Vec::new()));
}

#[test]
fn what_is_known_is_told_as_soon_as_the_folder_is_open() {
    let folder = Folder::new("lazy");
    let disk = Disk::new(&folder);
    let start = |mood| {
        disk.is(mood);
        start_with(&folder.path().join("data"), 1, |command| {
            disk.under(command);
            command.args(["--max-count", "10"]);
        })
    };
    let service = start("well");
    service.json("PUT", "/jobs/12");
    service.until(12, |job| job["state"] == "done");
    service.terminate();
    let service = start("lazy");
    assert_eq!(service.json("GET", "/count/12")["count"], 14_200);
    let over = service.json("GET", "/count/13");
    assert!(over["status"] == 422 && over["job"] == "../jobs/13", "{over}");
}

#[test]
fn while_the_disk_takes_nothing_jobs_wait_and_then_go_on() {
    for (mood, told) in [("full", "No space left"), ("read-only", "Read-only file system")] {
        let folder = Folder::new(mood);
        let disk = Disk::new(&folder);
        disk.is("well");
        let service = start_with(&folder.path().join("data"), 2, |command| disk.under(command));
        service.json("PUT", "/jobs/20");
        service.until(20, |job| done(job) > 2);
        disk.is(mood);
        let waits = service.until(20, |job| job["state"] == "queued");
        assert!(waits["reason"].as_str().is_some_and(|reason| reason.contains(told)), "{waits}");
        for method in ["PUT", "DELETE"] {
            assert_eq!(service.json(method, "/jobs/20")["type"], "urn:nqueens:problem:storage-unavailable");
        }
        assert_eq!(service.json("GET", "/count/9")["count"], 352);
        assert_eq!(service.until(9, |job| job["state"] == "done")["durable"], false);
        disk.is("well");
        let goes_on = service.until(20, |job| done(job) > done(&waits));
        assert!(goes_on["state"] == "running" && goes_on["durable"] == true, "{goes_on}");
        service.until(9, |job| job["durable"] == true);
        let (code, log) = service.terminate();
        assert!(code == Some(0) && log.contains("can be used again") && !log.contains("are lost"), "{log}");
    }
}
