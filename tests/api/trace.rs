use crate::client::{Service, config};
use nqueens::config::Config;
use serde_json::{Value, json};
use std::time::Duration;

/// Replays events as the lecture's routine and counts its steps.
#[derive(Default)]
struct Replay {
    b: Vec<u64>,
    steps: [u64; 4],
    solved: bool,
    open: u64,
}

impl Replay {
    fn free(&self, on: impl Fn(i64, i64) -> bool) -> u64 {
        let queens = (1..).zip(&self.b).filter(|&(_, &column)| column > 0);
        u64::from(!queens.map(|(i, &j)| (i, j as i64)).any(|(i, j)| on(i, j)))
    }

    fn take(&mut self, event: &Value) {
        let n = self.b.len() as i64;
        let row = event["row"].as_u64().unwrap_or_default();
        let column = event["column"].as_u64().unwrap_or_default();
        match event["op"].as_str().expect("an op") {
            "try" => {
                self.steps[0] += 1;
                self.open += 1;
                assert_eq!(row, self.open);
            }
            "safe" => {
                self.steps[1] += 1;
                let (row, column) = (row as i64, column as i64);
                let c = self.free(|_, j| j == column);
                let d = self.free(|i, j| i + j == row + column);
                let u = self.free(|i, j| i - j == row - column);
                let refused: Vec<_> = [("C", c), ("D", d), ("U", u)]
                    .iter()
                    .filter(|(_, free)| *free == 0)
                    .map(|(name, _)| *name)
                    .collect();
                assert_eq!(event["ok"], refused.is_empty());
                assert_eq!(event.get("refused_by"), (!refused.is_empty()).then_some(&json!(refused)));
            }
            "record" => {
                self.steps[2] += 1;
                assert_eq!(std::mem::replace(&mut self.b[row as usize - 1], column), 0);
            }
            "move_off" => {
                self.steps[3] += 1;
                assert_eq!(std::mem::replace(&mut self.b[row as usize - 1], 0), column);
            }
            "solution" => {
                assert!(self.b.iter().all(|&column| column > 0));
                self.solved = true;
            }
            "return" => {
                assert_eq!((row, &event["ok"]), (self.open, &self.solved.into()));
                self.open -= 1;
            }
            other => panic!("{other}"),
        }
        if event.get("b").is_some() {
            assert_eq!(event["b"], json!(self.b));
            assert_eq!(event["c"], json!((1..=n).map(|k| self.free(|_, j| j == k)).collect::<Vec<_>>()));
            assert_eq!(event["d"], json!((2..=2 * n).map(|k| self.free(|i, j| i + j == k)).collect::<Vec<_>>()));
            assert_eq!(event["u"], json!((1 - n..n).map(|k| self.free(|i, j| i - j == k)).collect::<Vec<_>>()));
        }
    }
}

#[tokio::test]
async fn the_first_events_to_the_letter() {
    let answer = Service::default().await.get("/trace/8?limit=3").await;
    assert_eq!(
        answer.text(),
        r#"{"n":8,"events":[{"i":0,"op":"try","row":1},{"i":1,"op":"safe","row":1,"column":1,"ok":true},{"i":2,"op":"record","row":1,"column":1}],"next":3}"#
    );
}

#[tokio::test]
async fn a_replay_gives_the_arrays_at_every_step_and_the_counters_of_solve() {
    let service = Service::default().await;
    for n in 1..=10usize {
        let mut replay = Replay { b: vec![0; n], ..Replay::default() };
        let stream = service.get(&format!("/trace/{n}?arrays=true&format=ndjson")).await.text();
        let mut lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = lines.pop().expect("a closing record");
        assert_eq!(last, json!({"complete": true, "emitted": lines.len()}));
        for (i, event) in lines.iter().enumerate() {
            assert_eq!(event["i"], i);
            assert!(event["u"].is_array());
            replay.take(event);
        }
        let solved = service.get(&format!("/solve/{n}")).await.json();
        let [try_calls, safe, record, move_off] = replay.steps;
        assert_eq!(solved["steps"], json!({"try": try_calls, "safe": safe, "record": record, "move_off": move_off}));
        assert_eq!(solved["b"] == Value::Null, !replay.solved);
        if replay.solved {
            assert_eq!(solved["b"], json!(replay.b));
        }
        if n == 8 {
            assert_eq!(replay.steps, [113, 876, 113, 105]);
        }
    }
}

#[tokio::test]
async fn windows_make_up_the_whole() {
    let service = Service::default().await;
    let stream = service.get("/trace/6?format=ndjson").await.text();
    let whole: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (mut events, mut from) = (Vec::new(), json!(0));
    while from != Value::Null {
        let window = service.get(&format!("/trace/6?from={from}&limit=7")).await.json();
        events.extend(window["events"].as_array().expect("a list").clone());
        from = window["next"].clone();
    }
    assert_eq!(events, whole[..whole.len() - 1]);
    let beyond = service.get("/trace/6?from=9007199254740991").await.json();
    assert_eq!(beyond, json!({"n": 6, "events": [], "next": null}));
    let part = service.get("/trace/6?from=5&limit=2&format=ndjson").await.text();
    assert_eq!(part.lines().count(), 3);
    assert!(part.ends_with("{\"complete\":false,\"emitted\":2,\"reason\":\"limit\"}\n"));
}

#[tokio::test]
async fn far_into_a_long_search() {
    let service = Service::default().await;
    let steps = service.get("/solve/20").await.json()["steps"].clone();
    let events: u64 = steps.as_object().expect("steps").values().filter_map(Value::as_u64).sum::<u64>()
        + steps["try"].as_u64().expect("a number")
        + 1;
    let window = service.get(&format!("/trace/20?from={}", events - 2)).await.json();
    assert_eq!(
        window["events"],
        json!([{"i": events - 2, "op": "return", "row": 2, "ok": true}, {"i": events - 1, "op": "return", "row": 1, "ok": true}])
    );
    assert_eq!(window["next"], Value::Null);
}

#[tokio::test]
async fn ranges() {
    let service = Service::default().await;
    service.get("/trace/30").await.is_problem(422, "size-out-of-range");
    service.get("/trace/8?limit=0").await.is_problem(422, "value-out-of-range");
    service.get("/trace/8?limit=10001").await.is_problem(422, "value-out-of-range");
    service.get("/trace/8?from=-1").await.is_problem(400, "invalid-parameter");
    service.get("/trace/8?from=9007199254740992").await.is_problem(422, "value-out-of-range");
    service.get("/trace/8?arrays=yes").await.is_problem(400, "invalid-parameter");
    let tags = [service.get("/trace/8?from=3").await, service.get("/trace/8").await];
    assert!(tags[0].header("etag").is_some() && tags[0].header("etag") != tags[1].header("etag"));
}

#[tokio::test]
async fn through_all_solutions_to_the_end() {
    let service = Service::default().await;
    for (n, first, all, solutions) in [(4, 55, 124, 2), (6, 290, 1500, 4), (8, 1321, 23_854, 92)] {
        let profile = service.get(&format!("/trace/{n}/profile?all=true")).await.json();
        assert_eq!((&profile["n"], &profile["all"], &profile["events"]), (&json!(n), &json!(true), &json!(all)));
        let profile = service.get(&format!("/trace/{n}/profile")).await.json();
        assert_eq!((&profile["all"], &profile["events"]), (&json!(false), &json!(first)));
        let mut replay = Replay { b: vec![0; n], ..Replay::default() };
        let stream = service.get(&format!("/trace/{n}?all=true&format=ndjson&arrays=true")).await.text();
        let mut lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.pop(), Some(json!({"complete": true, "emitted": all})));
        let mut boards = Vec::new();
        for event in &lines {
            replay.take(event);
            if std::mem::take(&mut replay.solved) {
                boards.push(event["b"].clone());
            }
        }
        assert_eq!(service.get(&format!("/solutions/{n}")).await.json()["solutions"], json!(boards));
        assert_eq!(boards.len(), solutions);
        let steps = service.get(&format!("/count/{n}?method=try")).await.json()["steps"].clone();
        let [try_calls, safe, record, move_off] = replay.steps;
        assert_eq!(steps, json!({"try": try_calls, "safe": safe, "record": record, "move_off": move_off}));
        let b = &service.get(&format!("/trace/{n}?all=true&op=solution")).await.json()["events"];
        assert_eq!(
            json!(b.as_array().expect("events").iter().map(|event| &event["b"]).collect::<Vec<_>>()),
            json!(boards)
        );
    }
    let all = service.get("/trace/12/profile?all=true").await.json();
    assert_eq!(all["events"], 13_514_422);
    let refused = service.get("/trace/13?all=true").await.is_problem(422, "size-out-of-range");
    assert_eq!(refused["max"], 12);
    service.get("/trace/13/profile?all=true").await.is_problem(422, "size-out-of-range");
}

#[tokio::test]
async fn only_events_of_some_kinds_numbered_as_in_the_whole() {
    let service = Service::default().await;
    let whole = service.get("/trace/6?all=true&limit=10000").await.json()["events"].clone();
    let of = |kinds: &[&str]| -> Vec<Value> {
        let events = whole.as_array().expect("events").iter();
        events.filter(|event| kinds.iter().any(|kind| event["op"] == *kind)).cloned().collect()
    };
    for kinds in [&["solution"][..], &["record", "move_off"], &["try", "return", "solution"], &["safe"]] {
        let wanted = of(kinds);
        let path = format!("/trace/6?all=true&op={}", kinds.join(","));
        let answer = service.get(&format!("{path}&limit=10000")).await.json();
        assert_eq!((&answer["events"], &answer["next"]), (&json!(wanted), &Value::Null));
        let stream = service.get(&format!("{path}&format=ndjson")).await.text();
        assert_eq!(stream.lines().count(), wanted.len() + 1);
        // A limit counts what is given, and a window goes on where the one before ended.
        let part = service.get(&format!("{path}&limit=3")).await.json();
        assert_eq!((&part["events"], &part["next"]), (&json!(wanted[..3]), &wanted[3]["i"]));
        let rest = service.get(&format!("{path}&limit=10000&from={}", part["next"])).await.json();
        assert_eq!(rest["events"], json!(wanted[3..]));
        assert!(part["events"][0]["b"].is_array() == (part["events"][0]["op"] == "solution"));
    }
    let far = service.get("/trace/20?op=solution").await.json();
    assert_eq!(far["events"].as_array().map(Vec::len), Some(1));
    assert_eq!(far["events"][0]["b"], service.get("/solve/20").await.json()["b"]);
    for op in ["", "queen", "try,", "try,,safe", "Try", "try%20,safe"] {
        let refused = service.get(&format!("/trace/6?op={op}")).await.is_problem(400, "invalid-parameter");
        assert_eq!(refused["parameter"], "op");
    }
    let tags = [service.get("/trace/6?op=safe").await, service.get("/trace/6?op=try").await];
    assert!(tags[0].header("etag") != tags[1].header("etag"));
}

#[tokio::test]
async fn a_window_with_arrays_begins_with_the_state_before_it() {
    let service = Service::default().await;
    let stream = service.get("/trace/5?all=true&format=ndjson&arrays=true").await.text();
    let lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let events = &lines[..lines.len() - 1];
    let count = |upto: usize, op: &str| events[..upto].iter().filter(|event| event["op"] == op).count();
    for from in 0..=events.len() {
        let window = service.get(&format!("/trace/5?all=true&arrays=true&limit=2&from={from}")).await.json();
        let (before, now) = (
            &window["before"],
            if from == 0 {
                &json!({"b": [0, 0, 0, 0, 0], "c": [1, 1, 1, 1, 1],
            "d": [1, 1, 1, 1, 1, 1, 1, 1, 1], "u": [1, 1, 1, 1, 1, 1, 1, 1, 1]})
            } else {
                &events[from - 1]
            },
        );
        for array in ["b", "c", "d", "u"] {
            assert_eq!(before[array], now[array], "{array} before {from}");
        }
        let steps = ["try", "safe", "record", "move_off"].map(|op| (op.to_owned(), count(from, op).into()));
        assert_eq!(before["steps"], Value::Object(steps.into_iter().collect()));
        assert_eq!(before["solutions"], count(from, "solution"));
        assert_eq!(window["events"], json!(events[from..].iter().take(2).collect::<Vec<_>>()));
    }
    let solution = service.get("/trace/5?all=true&arrays=true&op=solution&limit=1").await.json();
    let i = solution["events"][0]["i"].as_u64().expect("a number");
    let whole = service.get(&format!("/trace/5?all=true&arrays=true&limit=1&from={i}")).await.json();
    assert_eq!((&solution["before"], &solution["events"]), (&whole["before"], &whole["events"]));
    assert!(service.get("/trace/5").await.json().get("before").is_none());
}

#[tokio::test]
async fn the_profile_of_a_search() {
    let service = Service::default().await;
    let answer = service.get("/trace/8/profile?buckets=2").await;
    assert_eq!(
        answer.text(),
        r#"{"n":8,"all":false,"events":1321,"buckets":[{"from":0,"rows":[1,8],"solutions":0},{"from":1024,"rows":[1,8],"solutions":1}]}"#
    );
    let whole = service.get("/trace/8?limit=10000").await.json()["events"].clone();
    let whole = whole.as_array().expect("events");
    for (most, length) in [(1, 2048), (2, 1024), (3, 512), (500, 4), (2000, 1)] {
        let profile = service.get(&format!("/trace/8/profile?buckets={most}")).await.json();
        let stretches: Vec<_> = whole
            .chunks(length)
            .map(|part| {
                let rows = || part.iter().map(|event| event["row"].as_u64().unwrap_or(8));
                let solutions = part.iter().filter(|event| event["op"] == "solution").count();
                json!({"from": part[0]["i"], "rows": [rows().min(), rows().max()], "solutions": solutions})
            })
            .collect();
        assert_eq!(profile["buckets"], json!(stretches), "{most}");
    }
    for (path, solutions) in [("/trace/8/profile", 1), ("/trace/8/profile?all=true", 92), ("/trace/3/profile", 0)] {
        let buckets = service.get(path).await.json()["buckets"].clone();
        let found: u64 = buckets.as_array().expect("buckets").iter().filter_map(|one| one["solutions"].as_u64()).sum();
        assert_eq!(found, solutions, "{path}");
    }
    service.get("/trace/8/profile?buckets=0").await.is_problem(422, "value-out-of-range");
    service.get("/trace/8/profile?buckets=2001").await.is_problem(422, "value-out-of-range");
    service.get("/trace/8/profile?from=1").await.is_problem(400, "unknown-parameter");
    let tag = answer.header("etag").expect("a tag").to_owned();
    let again = service.get_with("/trace/8/profile?buckets=2", &[("if-none-match", &tag)]).await;
    assert_eq!(again.status, 304);
}

#[tokio::test]
async fn a_walk_that_runs_out_of_time_goes_on_when_asked_again() {
    // A quarter of a search of 96 million events fits in no limit of 50 ms.
    let config = Config { time_limit: Duration::from_millis(50), ..config() };
    let service = Service::start(config).await;
    service.get("/trace/28?from=20000000&limit=1").await.is_problem(503, "time-limit");
    let answer = async {
        loop {
            let answer = service.get("/trace/28?from=20000000&limit=1").await;
            if answer.status == 200 {
                break answer.json();
            }
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(120), answer).await.expect("it gets there");
    assert_eq!(answer["events"][0]["i"], 20_000_000);
}
