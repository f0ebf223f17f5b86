//! Profiles made of stacks: what is in them is known.

use prony_model::run_log::Header;

use super::*;

/// A profile of 1,000 requests at 1 ms of CPU time a sample: a sample is 1 µs a request.
fn profile(candidate: &str, stacks: &[(u32, &str)]) -> Profile {
    let mut of = Profile {
        candidate: candidate.to_owned(),
        plan: "p".to_owned(),
        event: "cpu-clock".to_owned(),
        requests: 1_000,
        ..Profile::default()
    };
    for (count, functions) in stacks {
        let mut stack = vec![*count];
        for name in functions.split(';') {
            let known = of.frames.iter().position(|frame| frame == name);
            let at = known.unwrap_or_else(|| {
                of.frames.push(name.to_owned());
                of.frames.len() - 1
            });
            stack.push(at as u32);
        }
        of.samples += u64::from(*count);
        of.stacks.push(stack);
    }
    of.cpu_ns = of.samples * 1_000_000;
    of
}

fn log(a: &[(u32, &str)], b: &[(u32, &str)]) -> RunLog {
    let mut log = RunLog::new(Header::default(), Vec::new());
    log.profiles = vec![profile("base", a), profile("head", b)];
    log
}

fn named(log: &RunLog) -> Vec<String> {
    let found = compare(log, ["base", "head"]).unwrap();
    found.functions.into_iter().map(|of| of.function).collect()
}

const BASE: [(u32, &str); 3] =
    [(400, "main;serve;parse"), (500, "main;serve;send;write"), (100, "main;poll")];

#[test]
fn a_new_function_stands_first_and_its_callers_are_left_out() {
    let head = [&BASE[..], &[(900, "main;serve;burn"), (300, "main;serve;burn;hash")]].concat();
    assert_eq!(named(&log(&BASE, &head)), ["burn", "hash"]);
    let found = compare(&log(&BASE, &head), ["base", "head"]).unwrap();
    let burn = &found.functions[0];
    assert!(burn.new && burn.a_ns == 0.0 && burn.b_ns == 1_200_000.0, "{burn:?}");
    assert_eq!((burn.growth.point, burn.growth.n), (1_200_000.0, 1_200));
    assert!(burn.growth.ci_low.unwrap() > 1_120_000.0 && burn.growth.ci_high.unwrap() < 1_280_000.0);
    assert_eq!((found.growth.point, found.a.samples, found.b.samples), (1_200_000.0, 1_000, 2_200));
    assert_eq!((found.a.named, found.kernel, found.plan.as_str()), (1.0, true, "p"));
}

#[test]
fn a_caller_that_had_hardly_any_samples_is_left_out_too() {
    let base = [&BASE[..], &[(5, "main;serve;answer")]].concat();
    let head = [&BASE[..], &[(1_800, "main;serve;answer;burn"), (5, "main;serve;answer")]].concat();
    assert_eq!(named(&log(&base, &head)), ["burn"]);
}

#[test]
fn an_older_function_that_grew_stands_for_its_callers() {
    let head = [(1_500, "main;serve;parse"), BASE[1], BASE[2]];
    assert_eq!(named(&log(&BASE, &head)), ["parse"]);
    let both = [(1_500, "main;serve;parse"), (1_500, "main;serve;send;write"), BASE[2]];
    assert_eq!(named(&log(&BASE, &both)), ["main", "serve", "parse", "write"][1..].to_vec());
}

#[test]
fn an_interpreters_loop_stands_behind_the_function_that_it_runs() {
    // As Python's stacks are, whole and cut at the innermost function.
    let a = [(1_000, "eval;do_GET;eval"), (50, "do_GET;eval;add")];
    let b = [
        (1_000, "eval;do_GET;eval"),
        (50, "do_GET;eval;add"),
        (700, "eval;do_GET;eval;burn;eval;add"),
        (650, "burn;eval;mul"),
    ];
    assert_eq!(named(&log(&a, &b)), ["burn", "eval", "add", "mul"]);
    // The loop grew by a little more than the function did.
    let rest = [&b[..], &[(120, "eval;do_GET;eval")]].concat();
    assert_eq!(named(&log(&a, &rest))[..2], ["burn", "eval"]);
    let recursive = [(7, "main;f;f;f")];
    let found = compare(&log(&[(1, "main")], &recursive), ["base", "head"]).unwrap();
    assert_eq!(found.functions[0].b_ns, 7_000.0, "counted once: {found:?}");
}

#[test]
fn growth_turns_its_sign_with_its_sides_and_ten_are_shown() {
    let many: Vec<(u32, String)> = (0..40).map(|i| (10 + i, format!("main;f{i}"))).collect();
    let many: Vec<(u32, &str)> = many.iter().map(|(count, stack)| (*count, stack.as_str())).collect();
    let log = log(&BASE, &many);
    let (there, back) = (compare(&log, ["base", "head"]).unwrap(), compare(&log, ["head", "base"]).unwrap());
    assert_eq!(there.growth.point, -back.growth.point);
    assert_eq!(there.functions.len(), SHOWN);
    let first = |found: &ProfileComparison| {
        found.functions[..2].iter().map(|of| of.function.clone()).collect::<Vec<_>>()
    };
    assert_eq!(first(&there), ["main", "f39"], "main hands on to forty");
    assert_eq!(first(&back), ["serve", "send"], "both are new, the outer one first");
    assert_eq!(compare(&log, ["base", "other"]), None);
}

#[test]
fn parts_of_a_flame_graph_lie_on_their_callers_and_add_up() {
    let head = [&BASE[..], &[(900, "main;serve;burn"), (1, "rare")]].concat();
    let parts = flame(&log(&BASE, &head), ["base", "head"]).unwrap();
    let all = &parts[0];
    assert_eq!((all.function.as_str(), all.depth, all.start, all.share), ("all", 0, 0.0, 1.0));
    assert!((all.growth_ns - 901_000.0).abs() < 1e-6);
    assert!(!parts.iter().any(|part| part.function == "rare"), "narrower than a pixel");
    for part in &parts[1..] {
        let below = parts.iter().filter(|p| p.depth + 1 == part.depth);
        let on = below
            .filter(|p| p.start <= part.start + 1e-9 && part.start + part.share <= p.start + p.share + 1e-9);
        assert_eq!(on.count(), 1, "{part:?}");
    }
    let burn = parts.iter().find(|part| part.function == "burn").unwrap();
    assert!((burn.share - 900.0 / 1_901.0).abs() < 1e-9 && burn.growth_ns == 900_000.0);
    let parse = parts.iter().find(|part| part.function == "parse").unwrap();
    assert_eq!(parse.growth_ns, 0.0);
}
