use super::tests::{described, names, read, said};
use prony_model::plan::Arrivals;

#[test]
fn a_capacity_search_is_a_plan_and_its_shares_are_rates() {
    let e = read(
        "[[plan]]\nname = \"knee\"\nconnections = [10, 20]\ncapacity = \"p99<50ms, errors<1%\"\n\
         [[plan]]\nname = \"stress\"\nconnections = 20\nrate = [\"50%\", \"105%\"]\nof = \"b:jit knee\"\n\
         [[plan]]\nconnections = 5\n",
    )
    .unwrap();
    assert_eq!(names(&e), ["knee-c10", "knee-c20", "stress-50pct", "stress-105pct", "c5"]);
    assert_eq!(
        described(&e.plans[0]),
        "10 connections, capacity at p99<50ms, errors<1%, Poisson arrivals, GET /, probes of 10s after 300ms warm-up"
    );
    assert_eq!(
        described(&e.plans[3]),
        "20 connections, constant 105% of the capacity of b:jit knee, GET /, 10s after 1s warm-up"
    );
    let phases = e.phases();
    assert_eq!(phases[0], ["knee-c10", "knee-c20"]);
    assert_eq!(phases[1], ["c5", "stress-50pct", "stress-105pct"]);
    let alone = read("[[plan]]\nname = \"knee\"\ncapacity = \"default\"\n").unwrap();
    assert_eq!(alone.phases().len(), 1);
    let poisson = read("[[plan]]\ncapacity = \"default\"\narrivals = \"poisson\"\n").unwrap();
    assert_eq!((poisson.plans[0].name.as_str(), poisson.plans[0].load.connections), ("c100", 100));
    assert!(matches!(poisson.plans[0].load.arrivals, Arrivals::Poisson(_)));
    // A search's arrivals are random unless it is said otherwise, and the plan says which.
    let usual = &read("[[plan]]\ncapacity = \"p99<5ms\"\n").unwrap().plans[0];
    assert!(matches!(usual.load.arrivals, Arrivals::Poisson(_)) && !usual.arrivals_given);
    assert!(described(usual).contains("capacity at p99<5ms, Poisson arrivals"), "{}", described(usual));
    let even = &read("[[plan]]\ncapacity = \"p99<5ms\"\narrivals = \"constant\"\n").unwrap().plans[0];
    assert!(matches!(even.load.arrivals, Arrivals::Constant(_)) && even.arrivals_given);
    assert!(described(even).contains("constant arrivals"), "{}", described(even));
}

#[test]
fn what_a_searchs_probes_cannot_be_is_refused_where_it_stands() {
    let text = "[[plan]]\nconnections = 50\nthreads = 8\n";
    assert!(read(text).is_ok(), "a closed load");
    let refused = read(&format!("{text}capacity = \"default\"\n")).unwrap_err().to_string();
    assert!(refused.contains("8 threads cannot share 50 connections evenly"), "{refused}");
}

#[test]
fn a_scale_leaves_the_warm_up_of_a_searchs_probes_as_it_is() {
    let text =
        "[[plan]]\ncapacity = \"default\"\n[[plan]]\nname = \"load\"\n[scale.short]\nwarmup = \"50ms\"\n";
    let scaled = read(text).unwrap().scaled("short").unwrap();
    let warmups: Vec<u128> = scaled.plans.iter().map(|plan| plan.load.warmup.as_millis()).collect();
    assert_eq!(warmups, [300, 50]);
}

#[test]
fn impossible_capacity_plans_and_shares_are_refused() {
    let knee =
        "[[plan]]\nname = \"knee\"\nconnections = 10\ncapacity = \"default\"\n[[plan]]\nconnections = 10\n";
    for (rest, words) in [
        ("[[plan]]\ncapacity = \"fast\"".to_owned(), "not a threshold"),
        ("[[plan]]\ncapacity = \"p99<5ms\"\nrate = 5".to_owned(), "finds its own rates"),
        ("[[plan]]\ncapacity = \"default\"\nrequests = 5".to_owned(), "its probes end after a time"),
        ("[[plan]]\ncapacity = \"default\"\npipeline = 4".to_owned(), "over HTTP/1.1"),
        ("[load]\npipeline = 4\n[[plan]]\ncapacity = \"default\"".to_owned(), "over HTTP/1.1"),
        ("[[plan]]\ncapacity = \"default\"\nduration = \"100ms\"".to_owned(), "at least 200ms"),
        ("[[plan]]\nof = \"a knee\"\nrate = 5".to_owned(), "a rate in percent is a share of"),
        ("[[plan]]\nrate = \"50%\"".to_owned(), "is a share of a measured capacity"),
        ("[[plan]]\nrate = \"50%\"\nof = \"a\"".to_owned(), "names no capacity"),
        (format!("{knee}rate = \"50%\"\nof = \"c knee\""), "not among the candidates"),
        (format!("{knee}rate = \"50%\"\nof = \"a edge\""), "needs a plan named \"edge\""),
        ("[[plan]]\nrate = \"0%\"".to_owned(), "not a share"),
    ] {
        let said = said(&rest);
        assert!(said.contains(words), "{rest:?}: {said}");
    }
}
