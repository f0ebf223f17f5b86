//! `prony publish` and the plots of Markdown: what is written, and where it is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::world::{BINARY, Said, World};

/// A short bench of two servers, and a load of one.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("runs")).unwrap();
    let server = format!("{BINARY} target --port {{port}}");
    let [a, b] = ["one", "two"].map(|name| format!("{name}={server}"));
    let bench =
        ["bench", "--candidate", &a, "--candidate", &b, "-n", "200", "-c", "2", "--blocks", "2", "-q"];
    let said = world.prony(&[&bench[..], &["--disturbed", "keep", "-o", "runs/bench.jsonl"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.prony(&["load", "-n", "300", "-q", "-o", "runs/load.jsonl"]).code, Some(0));
    world
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[track_caller]
fn refused(said: &Said, what: &str) {
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains(what) && said.out.is_empty(), "{what}: {said:?}");
}

#[test]
fn a_folder_of_runs_becomes_a_site_and_again() {
    let world = world();
    world.write("runs/broken.jsonl", "{}\n");
    let said = world.prony(&["publish", "-o", "site"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("site/index.html: 2 runs, 2 experiments, 3 servers"), "{said:?}");
    assert!(said.err.contains("left out  runs/broken.jsonl"), "{said:?}");
    let site = world.path("site");
    let expected = ["bench.csv", "bench.json", "load.csv", "load.json"].map(str::to_owned);
    assert_eq!(names(&site.join("data/runs")), expected.into());
    assert!(names(&site.join("servers")).contains("one.html"));
    let index = world.read("site/index.html");
    assert!(index.contains("runs/bench.html") && index.contains("broken.jsonl"), "{index}");
    // The page has what the terminal says.
    let terminal = world.prony(&["report", "runs/bench.jsonl"]).out;
    let page = world.read("site/runs/bench.html");
    let answer = terminal.lines().next().unwrap();
    assert!(page.contains(&format!("<strong>{answer}")), "{answer}: {page}");
    let json = world.prony(&["report", "runs/bench.jsonl", "--format", "json"]).out;
    assert_eq!(world.read("site/data/runs/bench.json"), json);

    // Without the load its pages are gone; what others put there is not.
    world.write("site/mine.txt", "mine");
    fs::remove_file(world.path("runs/load.jsonl")).unwrap();
    let said = world.prony(&["publish", "runs/bench.jsonl", "-o", "site"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(names(&site.join("runs")), ["bench.html".to_owned()].into());
    assert_eq!(world.read("site/mine.txt"), "mine");
}

#[test]
fn what_is_no_site_and_no_run_is_refused() {
    let world = world();
    fs::create_dir(world.path("mine")).unwrap();
    world.write("mine/notes.txt", "mine");
    refused(&world.prony(&["publish", "runs", "-o", "mine"]), "name a new or an empty folder");
    assert_eq!(names(&world.path("mine")), ["notes.txt".to_owned()].into());
    refused(&world.prony(&["publish", "runs", "-o", "mine/notes.txt"]), "cannot be a site's folder");
    refused(&world.prony(&["publish", "nowhere", "-o", "site"]), "nowhere is neither a file nor a folder");
    world.write("broken.jsonl", "{}\n");
    refused(&world.prony(&["publish", "broken.jsonl", "-o", "site"]), "no run log that can be read");
    assert_eq!(world.prony(&["publish", "runs"]).code, Some(2), "without a folder");
}

#[test]
fn markdown_has_its_plots_as_files_beside_it() {
    let world = world();
    for run in ["bench", "load"] {
        let (log, page) = (format!("runs/{run}.jsonl"), format!("{run}.md"));
        let said = world.prony(&["report", &log, "--format", "markdown", "--plots", "-o", &page]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let text = world.read(&page);
        let shown: Vec<&str> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!shown.is_empty(), "{text}");
        for file in shown {
            assert!(world.read(file).starts_with("<svg xmlns="), "{file}");
        }
    }
    for flags in [&["--format", "markdown"][..], &["--format", "markdown", "-o", "-"], &["-o", "x.txt"]] {
        let said = world.prony(&[&["report", "runs/bench.jsonl", "--plots"][..], flags].concat());
        refused(&said, "--plots goes with --format markdown and -o FILE");
    }
}
