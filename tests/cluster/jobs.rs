//! Jobs on several machines.

use crate::machines::{count, done, front, front_by, job, metric, put, ranges, until, worker, worker_by};
use crate::nats::{Nats, Way};
use std::time::{Duration, Instant};

/// Workers are killed one after the other, a front and NATS once each; again and again, if asked for.
#[test]
fn whoever_is_killed_the_count_is_exact() {
    let number = |name: &str, default| std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"));
    let n = number("NQUEENS_TEST_N", 18);
    for run in 1..=number("NQUEENS_TEST_RUNS", 1) {
        let mut nats = Nats::start("kills");
        let mut fronts = [front(&nats, &[]), front(&nats, &[])];
        let mut workers = [worker(&nats), worker(&nats)];
        put(&fronts[0], n);
        let (mut sums, mut kills) = ((0, 0), 0);
        let begun = Instant::now();
        let mut next = begun + Duration::from_millis(700);
        let last = loop {
            let told = fronts[1].json("GET", &format!("/jobs/{n}"));
            if told["state"] == "done" || told["state"] == "failed" {
                break told;
            }
            assert!(begun.elapsed() < Duration::from_secs(900), "{told}");
            if Instant::now() < next {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            kills += 1;
            next = Instant::now() + Duration::from_millis(number("NQUEENS_TEST_KILL_MS", 1500).into());
            let of = kills as usize % 2;
            let (done, again) = ranges(&workers[of]);
            sums = (sums.0 + done, sums.1 + again);
            workers[of] = worker(&nats); // the old one is killed when it is dropped
            if kills == 2 {
                fronts[0] = front(&nats, &[]);
            }
            if kills == 3 {
                nats.stop();
                std::thread::sleep(Duration::from_millis(500));
                nats.start_again();
            }
        };
        for (done, again) in workers.iter().map(ranges) {
            sums = (sums.0 + done, sums.1 + again);
        }
        let (ranges, duplicates) = sums;
        println!("run {run}: n = {n}, {kills} kills, at least {ranges} ranges, {duplicates} duplicates, {last}");
        assert_eq!(last["count"], count(n), "{last}");
    }
}

#[test]
fn any_front_answers_for_any_job_and_another_one_goes_on_planning() {
    let nats = Nats::start("fronts");
    let (first, second) = (front(&nats, &[]), front(&nats, &[]));
    assert_eq!(put(&first, 19)["state"], "queued");
    let waits = job(&second, 19, |job| job["reason"] == "no worker is connected");
    assert_eq!((&waits["state"], &waits["durable"]), (&"queued".into(), &true.into()));
    assert!(
        [&first, &second]
            .map(|front| metric(front, "nqueens_cluster_ranges_left"))
            .iter()
            .all(|left| *left >= Some(64))
    );
    let workers = [worker(&nats), worker(&nats)];
    job(&second, 19, |job| job["state"] == "running" && job["eta_seconds"].is_u64());
    let is_planner = |front: &_| metric(front, "nqueens_cluster_planner") == Some(1);
    let planner = until("one plans", || [is_planner(&first), is_planner(&second)].iter().position(|&plans| plans));
    let (killed, other) = if planner == 0 { (first, second) } else { (second, first) };
    drop(killed);
    let begun = Instant::now();
    until("the other one plans", || is_planner(&other).then_some(()));
    println!("the other one plans after {:?}", begun.elapsed());
    println!("the other front plans after {:?}", begun.elapsed());
    let events = other.watch(19, usize::MAX);
    let (_, last) = events.last().expect("an event");
    assert_eq!((&last["state"], &last["count"]), (&"done".into(), &count(19).into()));
    assert!(ranges(&workers[0]).0 > 0 && ranges(&workers[1]).0 > 0);
    // What a front counts for a request is known to all, too.
    let third = front(&nats, &[]);
    assert_eq!(other.json("GET", "/count/16")["count"], count(16));
    let known = job(&third, 16, |job| job["state"] == "done");
    assert_eq!((&known["count"], &known["durable"]), (&count(16).into(), &true.into()));
}

#[test]
fn two_who_plan_at_once_do_no_harm() {
    let nats = Nats::start("planners");
    // The variable makes test builds plan without the lease.
    let plans = || {
        let words = ["--nats-url", &nats.url(), "--range", "100ms", "--redelivery", "2s", "--audit", "0.1"];
        let mut command = crate::service::program(&[&crate::service::QUIET, &words[..]].concat());
        crate::service::Service::of(command.env("NQUEENS_TEST_PLAN_ALWAYS", "1"))
    };
    let (fronts, _workers) = ([plans(), plans()], [worker(&nats), worker(&nats)]);
    put(&fronts[0], 18);
    let job = done(&fronts[1], 18);
    assert_eq!(job["count"], count(18), "{job}");
    assert!(job["audited"].as_u64() > Some(0), "{job}");
}

#[test]
fn a_connection_that_stalls_holds_nobody_up_and_what_comes_late_does_no_harm() {
    let nats = Nats::start("stall");
    let front = front(&nats, &[]);
    let way = Way::to(&nats);
    let (stalled, other) = (worker_by(&way.url(), &[]), worker(&nats));
    put(&front, 19);
    until("it works", || (ranges(&stalled).0 > 0).then_some(()));
    way.stall(true);
    let before = ranges(&stalled).0;
    let seconds = std::env::var("NQUEENS_TEST_STALL").ok().map_or(15, |text| text.parse().expect("a number"));
    std::thread::sleep(Duration::from_secs(seconds));
    way.stall(false);
    let job = done(&front, 19);
    assert_eq!(job["count"], count(19), "{job}");
    put(&front, 18);
    until("it works again", || (ranges(&stalled).0 > before).then_some(()));
    assert_eq!(done(&front, 18)["count"], count(18));
    println!("stalled for {seconds} s: {:?}, the other: {:?}", ranges(&stalled), ranges(&other));
}

#[test]
fn a_worker_that_lies_is_found_and_named() {
    let nats = Nats::start("lies");
    let front = front(&nats, &["--audit", "0.5"]);
    let (mut liar, honest) =
        (worker_by(&nats.url(), &[("NQUEENS_TEST_LIE_EVERY", "5")]), [worker(&nats), worker(&nats)]);
    put(&front, 18);
    let failed = job(&front, 18, |job| job["state"] == "failed" || job["state"] == "done");
    let reason = failed["reason"].as_str().expect("a reason").to_owned();
    liar.signal("TERM");
    let log = liar.rest_of_log();
    let name = log.iter().find_map(|line| line["name"].as_str()).expect("its name");
    println!("{reason}");
    assert!(reason.contains(&format!("worker {name} gave a wrong sum")), "{reason}, {name}");
    // Without it, the job starts from nothing.
    put(&front, 18);
    let job = done(&front, 18);
    assert_eq!(job["count"], count(18), "{job}");
    assert!(job["audited"].as_u64() > Some(0), "{job}");
    drop(honest);
}

#[test]
fn a_cancelled_job_frees_its_workers_and_a_long_one_keeps_no_short_one_waiting() {
    let nats = Nats::start("cancel");
    let front = front_by(&nats.url(), &["--range", "10s"]);
    let workers = [worker(&nats), worker(&nats)];
    put(&front, 22);
    job(&front, 22, |job| job["state"] == "running");
    put(&front, 17);
    assert_eq!(done(&front, 17)["count"], count(17));
    assert_eq!(job(&front, 22, |_| true)["state"], "running");
    let asked = Instant::now();
    assert_eq!(front.json("DELETE", "/jobs/22")["state"], "cancelled");
    let runs = |worker: &_| metric(worker, "nqueens_searches_running");
    until("they are free", || workers.iter().all(|worker| runs(worker) == Some(0)).then_some(()));
    println!("free after {:?}", asked.elapsed());
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    put(&front, 16);
    assert_eq!(done(&front, 16)["count"], count(16));
    assert_eq!(job(&front, 22, |_| true)["state"], "cancelled");
    // What a worker has in hand goes back when it ends in order.
    put(&front, 19);
    job(&front, 19, |job| job["state"] == "running");
    for worker in workers {
        assert_eq!(worker.terminate().0, Some(0));
    }
    let _worker = worker(&nats);
    assert_eq!(done(&front, 19)["count"], count(19));
}
