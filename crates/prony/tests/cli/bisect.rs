//! `prony bisect`, and `prony ci compare` under `git bisect run`, in repositories whose one commit makes a server wait
//! forty times as long: no noise hides it.

use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::ci::git;
use crate::world::{BINARY, Said, World, send, wait_until};

const SERVE: &str = "exec \"$PRONY\" target --port {port} --delay $(cat built)";
const LOAD: &str = "-c 2 -d 200ms --warmup 0";
/// A build fails where there is no `ms`, and a server does not start where it is no number.
const BUILD: &str = "grep -q ms delay && cp delay built";

/// A repository whose commits have these delays, 0 the first; an equal one is a commit without a change. Their hashes.
fn repository(world: &World, delays: &[&str]) -> Vec<String> {
    let folder = world.path("repo");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(world.path("tmp")).unwrap();
    git(&folder, &["init", "-q"]);
    let commit = |(number, delay): (usize, &&str)| {
        std::fs::write(folder.join("delay"), delay).unwrap();
        git(&folder, &["add", "delay"]);
        git(&folder, &["commit", "-q", "--allow-empty", "-m", &format!("change {number}")]);
        git(&folder, &["rev-parse", "HEAD"])
    };
    delays.iter().enumerate().map(commit).collect()
}

fn command(world: &World, arguments: &[&str]) -> std::process::Command {
    let mut command = world.command(arguments);
    command.current_dir(world.path("repo")).env("PRONY", BINARY).env("RUNNER_TEMP", world.path("tmp"));
    command
}

fn bisect(world: &World, good: &str, more: &[&str]) -> Said {
    let load: Vec<&str> = LOAD.split(' ').collect();
    let line = ["bisect", "--good", good, "--build", BUILD, "--serve", SERVE, "--blocks", "3"];
    command(world, &[&line[..], &load, more].concat()).output().unwrap().into()
}

#[track_caller]
fn assert_no_worktrees(world: &World) {
    assert_eq!(git(&world.path("repo"), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0, "folders are left");
    let written = std::fs::read_dir(world.path("state/worktrees")).map_or(0, Iterator::count);
    assert_eq!(written, 0, "entries are left");
}

#[test]
fn the_slow_commit_of_twenty_is_found() {
    let world = World::new();
    // Each but 10 and 11, which are alike, has files of its own. 9 cannot be built, and 14 does not start.
    let delay = |number: usize| match number {
        9 => "broken".to_owned(),
        11 => "1.010ms".to_owned(),
        14 => "wrong ms".to_owned(),
        fast @ ..12 => format!("1.{fast:03}ms"),
        slow => format!("40.{slow:03}ms"),
    };
    let delays: Vec<String> = (0..20).map(delay).collect();
    let commits = repository(&world, &delays.iter().map(String::as_str).collect::<Vec<_>>());
    let said = bisect(&world, &commits[0], &["--json", "-", "-o", "out"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["verdict"], "found", "{report:#}");
    assert_eq!(
        (&report["bad"]["commit"], &report["bad"]["subject"]),
        (&commits[12].as_str().into(), &"change 12".into())
    );
    assert_eq!((&report["good"]["commit"], &report["revisions"]), (&commits[11].as_str().into(), &20.into()));
    let steps: Vec<(u64, &str)> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["position"].as_u64().unwrap(), step["found"].as_str().unwrap()))
        .collect();
    let expected =
        [(19, "bad"), (9, "skipped"), (10, "good"), (14, "skipped"), (15, "bad"), (12, "bad"), (11, "good")];
    assert_eq!(steps, expected, "{report:#}");
    let why = |step: usize| report["steps"][step]["why"].as_str().unwrap().to_owned();
    assert!(why(1).contains("The build of") && why(6).contains("its files are those of"), "{report:#}");
    assert!(why(3).contains("given up after 2 attempts"), "{report:#}");
    let shown = world.read("repo/out/bisect.md");
    let headline = format!("**{} (change 12) is the first bad commit: ", &commits[12][..12]);
    assert!(shown.starts_with(&headline) && shown.contains("| skipped |"), "{shown}");
    let log = format!("repo/out/step-06-{}.jsonl", &commits[12][..12]);
    assert_eq!(world.lines(&log, "header").len(), 1);
    let kept: Value = serde_json::from_str(&world.read("repo/out/bisect.json")).unwrap();
    assert_eq!(kept, report);
    assert_no_worktrees(&world);
    assert_eq!(git(&world.path("repo"), &["rev-parse", "HEAD"]), commits[19], "the checkout is as it was");
    assert!(!world.path("repo/built").exists(), "nothing is built in the checkout");
}

#[test]
fn a_bisection_that_ends_early_says_between_which() {
    let world = World::new();
    let commits = repository(&world, &["1ms", "broken", "40ms"]);
    let said = bisect(&world, &commits[0], &["-o", "out"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    let open =
        format!("became worse between {} (change 0) and {} (change 2)", &commits[0][..12], &commits[2][..12]);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&open) && text.contains("in one of 2 commits: open"), "{said:?}");
    let again = bisect(&world, &commits[0], &["-o", "out"]);
    assert!(again.code == Some(2) && again.err.contains("it is not empty"), "{again:?}");
    let spent = bisect(&world, &commits[0], &["--budget", "1ns", "-o", "spent"]);
    assert!(spent.code == Some(4) && spent.out.contains("the budget is"), "{spent:?}");
    assert_no_worktrees(&world);
}

#[test]
fn blocks_are_added_while_a_commit_is_undecided() {
    let world = World::new();
    let commits = repository(&world, &["1ms", "2ms"]);
    // A p99 of so few requests is withheld, so that nothing can decide.
    let line =
        ["bisect", "--good", &commits[0], "--build", BUILD, "--serve", SERVE, "--blocks", "2", "-n", "20"];
    let more = ["-c", "2", "--fail-if", "p99>+5%", "-o", "out", "--json", "r.json"];
    let said: Said = command(&world, &[&line[..], &more].concat()).output().unwrap().into();
    assert_eq!(said.code, Some(4), "{said:?}");
    let report: Value = serde_json::from_str(&world.read("repo/r.json")).unwrap();
    let steps = report["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{report:#}");
    // Twice as many at each look; a trial that the machine spoils takes its block away.
    let blocks = steps[0]["blocks"].as_u64().unwrap();
    assert!((17..=32).contains(&blocks) && steps[0]["looks"] == 5, "{report:#}");
    assert!(steps[0]["why"].as_str().unwrap().contains("p99 under "), "{report:#}");
    assert!(said.err.matches(" after ").count() == 5 && said.out.contains("is worse than"), "{said:?}");
}

#[test]
fn wrong_revisions_and_conditions_are_refused() {
    let world = World::new();
    let commits = repository(&world, &["1ms", "2ms", "broken"]);
    for (good, more, code, says) in [
        ("--x", &[][..], 2, "--good"),
        (&commits[0], &["--bad=-x"], 2, "--bad \"-x\" is not a commit"),
        (&commits[1], &["--bad", &commits[0]], 2, "is not an ancestor of"),
        (&commits[1], &["--bad", &commits[1]], 2, "is the same commit as"),
        (&commits[0], &["--fail-if", "inconclusive"], 2, "inconclusive"),
        (&commits[0], &["--serve", "true"], 2, "--serve"),
        (&commits[0], &["-o", "broken"], 3, "The build of"),
        (&commits[2], &["--bad", "nowhere"], 3, "could not be fetched"),
    ] {
        let said = bisect(&world, good, more);
        assert_eq!(said.code, Some(code), "{more:?} {said:?}");
        assert!(said.err.contains(says), "{more:?} {said:?}");
        assert_no_worktrees(&world);
    }
}

/// A bisection that builds until it is ended.
fn builds(world: &World, good: &str) -> Child {
    let line =
        ["bisect", "--good", good, "--serve", SERVE, "-o", "cut", "--build", "touch begun; exec sleep 600"];
    let child = command(world, &line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = || {
        let folders = std::fs::read_dir(world.path("tmp")).unwrap().flatten();
        let trees =
            folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        trees.into_iter().any(|tree| tree.path().join("begun").exists())
    };
    wait_until("it builds", begun);
    child
}

#[test]
fn ctrl_c_removes_worktrees_and_after_a_kill_the_next_run_does() {
    let world = World::new();
    let commits = repository(&world, &["1ms", "2ms"]);
    let mut child = builds(&world, &commits[0]);
    send(child.id(), Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_no_worktrees(&world);
    std::fs::remove_dir_all(world.path("repo/cut")).unwrap();
    let mut child = builds(&world, &commits[0]);
    send(child.id(), Signal::SIGKILL);
    child.wait().unwrap();
    assert_eq!(git(&world.path("repo"), &["worktree", "list"]).lines().count(), 2);
    let said = bisect(&world, &commits[0], &["--bad", &commits[0]]);
    assert!(
        said.code == Some(2) && said.err.contains("An earlier run was cut off; its work trees in "),
        "{said:?}"
    );
    assert_no_worktrees(&world);
}

fn exit_of(world: &World, base: &str, more: &[&str]) -> Said {
    let load = format!("{LOAD} --blocks 3");
    let line = ["ci", "compare", "--git-bisect", "--base", base, "--serve", SERVE, "--build", BUILD];
    command(world, &[&line[..], &["--load", &load, "-o", "../out"], more].concat()).output().unwrap().into()
}

#[test]
fn git_bisect_run_takes_the_exit_codes_of_ci_compare() {
    let world = World::new();
    let commits = repository(&world, &["1ms", "1.1ms", "broken", "40ms", "41ms", "42ms"]);
    let folder = world.path("repo");
    git(&folder, &["bisect", "start", &commits[5], &commits[0]]);
    let ran = |world: &World, folder: &Path| {
        let mut run = std::process::Command::new("git");
        let script = format!(
            "\"$PRONY\" ci compare --git-bisect --base {} --serve '{SERVE}' --build '{BUILD}' --load '{LOAD} --blocks 3' \
             --fail-if 'throughput<-80%' -o ../out",
            commits[0]
        );
        run.args(["bisect", "run", "sh", "-c", &script]).current_dir(folder).stdin(Stdio::null());
        for (name, value) in command(world, &[]).get_envs() {
            run.env(name, value.unwrap());
        }
        Said::from(run.output().unwrap())
    };
    let said = ran(&world, &folder);
    // Of two one cannot be built: git names both.
    assert!(said.out.contains(&commits[2]) && said.out.contains(&commits[3]), "{said:?}");
    assert!(said.out.contains("only 'skip'ped commits left"), "{said:?}");
    git(&folder, &["bisect", "reset"]);
    for (at, base, more, code) in [
        (1, commits[0].as_str(), &["--fail-if", "throughput<-80%"][..], 0),
        (3, &commits[0], &[], 1),
        (2, &commits[0], &[], 125),
        // Withheld: too few requests.
        (3, &commits[0], &["--fail-if", "p99>+5%"], 125),
        (3, &commits[0], &["--fail-if", "slowish"], 128),
        (3, "a b\u{7}", &[], 128),
        (3, &commits[2], &[], 128),
    ] {
        git(&folder, &["checkout", "-q", &commits[at]]);
        let said = exit_of(&world, base, more);
        // On a busy machine so few blocks may leave open that a commit is as good: never that it is worse.
        let is_open = code == 0 && said.code == Some(125);
        assert!(said.code == Some(code) || is_open, "{base} {more:?} {said:?}");
    }
    assert_no_worktrees(&world);
}
