use crate::client::Service;

#[tokio::test]
async fn the_same_seed_gives_the_same_digits_and_no_seed_is_seed_1() {
    let service = Service::default().await;
    let first = service.get("/estimate/16?probes=20000").await;
    assert_eq!(service.get("/estimate/16?probes=20000&seed=1").await.text(), first.text());
    let other = service.get("/estimate/16?probes=20000&seed=2").await;
    assert_ne!(other.text(), first.text());
    assert_ne!(other.header("etag"), first.header("etag"));
    let body = first.json();
    assert_eq!((&body["n"], &body["probes"], &body["seed"]), (&16.into(), &20_000.into(), &1.into()));
    assert!(first.header("cache-control").is_some_and(|value| value.contains("immutable")));
}

#[tokio::test]
async fn it_is_near_the_truth_by_its_own_measure() {
    let service = Service::default().await;
    for seed in 1..=10 {
        let body = service.get(&format!("/estimate/12?seed={seed}")).await.json();
        let (count, error) =
            (body["count"].as_f64().expect("a number"), body["relative_error"].as_f64().expect("a number"));
        // Five standard errors: one in two million would be further off by chance.
        assert!((count - 14200.0).abs() < 5.0 * error * count, "{body}");
        assert!((body["tree_nodes"].as_f64().expect("a number") / 856_189.0 - 1.0).abs() < 0.05, "{body}");
    }
}

#[tokio::test]
async fn where_there_is_no_solution_there_is_no_error_to_tell() {
    let service = Service::default().await;
    for n in [2, 3] {
        let body = service.get(&format!("/estimate/{n}")).await.json();
        assert_eq!((body["count"].as_f64(), &body["relative_error"]), (Some(0.0), &serde_json::Value::Null));
    }
    let body = service.get("/estimate/1").await.json();
    assert_eq!((body["count"].as_f64(), body["relative_error"].as_f64()), (Some(1.0), Some(0.0)));
}

#[tokio::test]
async fn ranges() {
    let service = Service::default().await;
    service.get("/estimate/101").await.is_problem(422, "size-out-of-range");
    assert_eq!(service.get("/estimate/100?probes=10").await.status, 200);
    service.get("/estimate/8?probes=0").await.is_problem(422, "value-out-of-range");
    service.get("/estimate/8?probes=10000001").await.is_problem(422, "value-out-of-range");
    service.get("/estimate/8?probes=1e5").await.is_problem(400, "invalid-parameter");
    service.get("/estimate/8?seed=18446744073709551616").await.is_problem(422, "value-out-of-range");
}
