//! NATS that cannot be used: what needs none is answered, and all recovers by itself.

use crate::machines::{count, done, front, front_by, job, metric, put, until, worker};
use crate::nats::{Nats, bucket};
use crate::service::{QUIET, Service, program};

/// The problem that jobs are answered with, once it says this.
fn problem(front: &Service, says: &str) {
    let told = until("it says what is wrong", || {
        let told = front.json("GET", "/jobs");
        told["detail"].as_str().is_some_and(|detail| detail.contains(says)).then_some(told)
    });
    assert_eq!((&told["type"], &told["status"]), (&"urn:nqueens:problem:storage-unavailable".into(), &503.into()));
    assert_eq!(front.json("GET", "/solve/8")["status"], "solved");
    assert_eq!(front.json("GET", "/count/16")["count"], count(16));
    assert_eq!(front.json("GET", "/readyz")["status"], "ready");
    assert_eq!(metric(front, "nqueens_cluster_usable"), Some(0));
}

#[test]
fn without_nats_what_needs_none_is_answered_and_jobs_go_on_when_it_is_back() {
    let mut nats = Nats::start("away");
    nats.stop();
    let front = front(&nats, &[]);
    problem(&front, "NATS cannot be used: it cannot be reached");
    nats.start_again();
    let _worker = worker(&nats);
    put(&front, 19);
    // What the front counted meanwhile is kept now.
    job(&front, 16, |job| job["durable"] == true);
    job(&front, 19, |job| job["tasks_done"].as_u64() > Some(0));
    nats.stop();
    let refused = until("it is noticed", || {
        let told = front.json("PUT", "/jobs/18");
        (told["status"] == 503).then_some(told)
    });
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("NATS")), "{refused}");
    // What was known is still told.
    assert_eq!(job(&front, 19, |_| true)["state"], "queued");
    nats.start_again();
    assert_eq!(done(&front, 19)["count"], count(19));
}

#[test]
fn who_is_not_let_in_says_so_without_a_secret() {
    let nats = Nats::with("login", "authorization { user: me, password: s3cret }");
    let url = nats.url().replace("//", "//me@");
    let start = |password: &str| {
        let words = [&QUIET[..], &["--nats-url", &url]].concat();
        Service::of(program(&words).env("NQUEENS_NATS_PASSWORD", password))
    };
    let mut wrong = start("wr0ng");
    problem(&wrong, "the credentials are wrong or missing");
    let right = start("s3cret");
    put(&right, 12);
    wrong.signal("TERM");
    let log = wrong.text_of_log();
    assert!(!log.contains("wr0ng") && log.contains("credentials"), "{log}");
    let shown = program(&["--nats-url", &url.replace("me@", "me:s3cret@")]).output().expect("it runs");
    let line = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert_eq!(shown.status.code(), Some(2));
    assert!(line.contains("NQUEENS_NATS_PASSWORD") && line.contains("--nats-credentials"), "{line}");
    assert!(!line.contains("s3cret") && line.lines().count() == 1, "{line}");
}

#[test]
fn without_jetstream_it_is_said() {
    let nats = Nats::with("plain", "# without jetstream");
    problem(&front_by(&nats.url(), &[]), "JetStream is not enabled there");
}

#[test]
fn a_record_that_is_not_of_this_service_is_named_until_it_is_gone() {
    let nats = Nats::start("foreign");
    let front = front(&nats, &[]);
    put(&front, 12);
    nats.within(async |context| {
        let jobs = bucket(&context, "nqueens-jobs").await;
        jobs.put("20", "garbage".into()).await.expect("put");
        let results = bucket(&context, "nqueens-results").await;
        results.put("12.1.0.1", "garbage".into()).await.expect("put");
        results.put("what.is.this", "garbage".into()).await.expect("put");
    });
    problem(&front, "the record 20 in the bucket nqueens-jobs");
    nats.within(async |context| {
        bucket(&context, "nqueens-jobs").await.delete("20").await.expect("deleted");
    });
    // A result that cannot be read is done again.
    let _worker = worker(&nats);
    assert_eq!(done(&front, 12)["count"], 14_200);
}

#[test]
fn a_full_disk_is_said_and_all_goes_on_when_there_is_room() {
    let nats = Nats::with("full", "jetstream { store_dir: STORE, max_file_store: 4MB }");
    let front = front(&nats, &[]);
    put(&front, 18);
    job(&front, 18, |job| job["reason"] == "no worker is connected");
    nats.within(async |context| {
        let config = async_nats::jetstream::stream::Config { name: "filler".to_owned(), ..Default::default() };
        context.create_stream(config).await.expect("a stream");
        for bytes in [1 << 18, 1 << 12, 1 << 6] {
            while let Ok(word) = context.publish("filler", vec![b' '; bytes].into()).await {
                if word.await.is_err() {
                    break;
                }
            }
        }
    });
    let refused = until("it is refused", || {
        let told = front.json("PUT", "/jobs/19");
        (told["status"] == 503).then_some(told)
    });
    println!("{refused}");
    assert_eq!(refused["type"], "urn:nqueens:problem:storage-unavailable");
    let _worker = worker(&nats);
    nats.within(async |context| {
        context.delete_stream("filler").await.expect("deleted");
    });
    assert_eq!(done(&front, 18)["count"], count(18));
}
