//! `prony history`: many run logs, one figure.

use prony_analysis::testing::carried;
use serde_json::Value;

use crate::world::{TargetProcess, World};

/// 2026-03-01T10:00:00Z after 1970.
const FIRST_S: u64 = 1_772_359_200;

fn commit(day: u32) -> String {
    format!("{day:08x}{}", "0".repeat(32))
}

/// Eleven run logs made of one: the first six with its throughput, the others with seven tenths of it.
fn world() -> World {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-n", "500", "-q", "-o", "r.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = world.read("r.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    std::fs::create_dir(world.path("runs")).unwrap();
    for day in 0..11_u32 {
        let (mut header, mut result) = (lines[0].clone(), lines[1].clone());
        let at = format!("2026-03-{:02}T10:00:00.000Z", day + 1);
        header["created_at"] = at.clone().into();
        header["commit"] = commit(day).into();
        let plan = serde_json::from_value(result["observed"]["plan"].take()).unwrap();
        let rate = if day < 6 { 5_000.0 } else { 3_500.0 } + f64::from(day % 3);
        let mut made = carried(plan, rate, Some(1_000_000));
        made.measurement.started_at_ns = (FIRST_S + 86_400 * u64::from(day)) * 1_000_000_000;
        result["observed"] = serde_json::to_value(made).unwrap();
        world.write(&format!("runs/{day:02}.jsonl"), &format!("{header}\n{result}\n"));
    }
    world
}

#[test]
fn a_change_names_its_commits_and_unreadable_logs_are_left_out() {
    let world = world();
    world.write("runs/broken.jsonl", "{}\n");
    world.write("runs/notes.txt", "nothing of ours");
    let said = world.prony(&["history", "runs"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let first = said.out.lines().next().unwrap();
    assert!(first.contains("11 run logs, 2026-03-01 to 2026-03-11: 1 change for the worse"), "{}", said.out);
    assert!(said.out.contains("WORSE since 2026-03-07 10:00: −30 %"), "{}", said.out);
    assert!(said.out.contains("00000005..00000006"), "{}", said.out);
    assert!(said.out.contains("left out  runs/broken.jsonl"), "{}", said.out);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);

    let said = world.prony(&["history", "--format", "json"]);
    let json: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&json["schema"], &json["runs"]), (&"prony.history/1".into(), &11.into()));
    let change = &json["series"][0]["changes"][0];
    assert_eq!((change["index"].as_u64(), change["better"].as_bool()), (Some(6), Some(false)));
    assert_eq!(change["commit_before"], commit(5));
    let said = world.prony(&["history", "--figure", "p50"]);
    assert!(said.out.starts_with("p50 of 11 run logs") && said.out.contains("no change found"), "{said:?}");
}

#[test]
fn wrong_arguments_and_too_few_runs_are_reported() {
    let world = world();
    for (words, says) in [
        (&["history", "--figure", "speed"][..], "throughput"),
        (&["history", "--only", "nobody"], "nobody"),
        (&["history", "nowhere"], "nowhere"),
        (&["history", "runs/00.jsonl"], "folder of run logs"),
    ] {
        let said = world.prony(words);
        assert_eq!(said.code, Some(2), "{words:?} {said:?}");
        assert!(said.err.contains(says), "{words:?} {said:?}");
    }
    std::fs::create_dir(world.path("empty")).unwrap();
    assert!(world.prony(&["history", "empty"]).err.contains("no run log"));
    for day in 4..11 {
        std::fs::remove_file(world.path(&format!("runs/{day:02}.jsonl"))).unwrap();
    }
    let said = world.prony(&["history"]);
    assert!(said.out.contains("no verdict, a series needs 8"), "{said:?}");
}

#[test]
fn a_run_log_has_the_commit_of_the_working_folder() {
    let world = World::new();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    std::fs::create_dir(world.path(".git")).unwrap();
    world.write(".git/HEAD", commit);
    assert_eq!(world.prony(&["load", "-n", "100", "-q", "-o", "r.jsonl"]).code, Some(0));
    let header: Value = serde_json::from_str(world.read("r.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(header["commit"], commit);
}

#[test]
fn the_history_page_has_every_figure() {
    if prony_report::page::available().is_err() {
        return;
    }
    let world = world();
    let said = world.prony(&["history", "--figure", "p50", "--format", "html"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("history.html"), "{said:?}");
    let page = world.read("history.html");
    assert!(page.contains("\"kind\":\"history\"") && page.contains("id=\"h0\""), "it has its points");
    // The figure that was asked for is the first, and the change of another is there all the same.
    assert!(page.contains("\"figures\":[{\"id\":\"p50\"") && page.contains("1 change for the worse"));
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("href=\"http"));
}

/// Run logs of a bench of `head` beside `release`, on a machine that is twice as fast every other day; head needs a tenth
/// more from the seventh on.
#[test]
fn a_relative_history_shows_the_change_and_not_the_machine() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let candidate = |name: &str| format!("{name}={}", target.url());
    let (release, head) = (candidate("release"), candidate("head"));
    let line = ["bench", "--candidate", &release, "--candidate", &head, "-d", "100ms", "--warmup", "0", "-q"];
    let said = world.prony(&[&line[..], &["--blocks", "2", "-o", "r.jsonl"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    std::fs::create_dir(world.path("runs")).unwrap();
    for day in 0..10_u32 {
        let machine = f64::from(1 + day % 2);
        world.set_figures("r.jsonl", |name, nth| {
            let worse = if name == "head" && day >= 6 { 0.9 } else { 1.0 };
            (machine * worse * (5_000.0 + f64::from(day % 3) + nth as f64), 1_000_000)
        });
        let text = world.read("r.jsonl");
        let mut header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        header["created_at"] = format!("2026-03-{:02}T10:00:00.000Z", day + 1).into();
        let rest: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
        world.write(&format!("runs/{day:02}.jsonl"), &format!("{header}\n{rest}"));
    }
    let said = world.prony(&["history", "--relative-to", "release"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.starts_with("throughput relative to release of 10 run logs"), "{}", said.out);
    assert!(said.out.contains("WORSE since 2026-03-07 10:00: −10 %"), "{}", said.out);
    assert!(said.out.contains("1.000 ×") && said.out.contains("0.9000 ×"), "{}", said.out);
    let said = world.prony(&["history", "--relative-to", "release", "--format", "json"]);
    let json: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&json["relative_to"], &json["unit"]), (&"release".into(), &"ratio".into()));
    assert_eq!(json["series"].as_array().unwrap().len(), 1);
    let said = world.prony(&["history", "--relative-to", "v1"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("no candidate \"v1\"") && said.err.contains("release, head"), "{said:?}");
    if prony_report::page::available().is_ok() {
        let said = world.prony(&["history", "--relative-to", "release", "--format", "html"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(
            world
                .read("history.html")
                .contains("\"headline\":\"Throughput relative to release of 10 run logs")
        );
    }
}
