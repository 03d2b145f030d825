use crate::client::Service;
use serde_json::{Value, json};

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
