//! The commands of both jobs of docs/slo-in-ci.md run as they stand there, only shorter, on a server that responds.

use std::path::Path;

use crate::world::{TargetProcess, World};

/// Where the page's GitLab job has the program.
const INSTALLED: &str = "~/.local/bin/prony ";
/// The load's length on the page, and the one in which too few requests for its p99 are made on any machine.
const LENGTHS: [&str; 2] = ["-d 2m", "-d 2m -n 20 --warmup 0"];

/// The commands of each YAML block that begin with `prony`.
fn jobs(page: &str) -> Vec<Vec<String>> {
    let block = |rest: &str| {
        let text =
            rest.split("```").next().unwrap_or_default().replace("\\\n", " ").replace(INSTALLED, "prony ");
        let line = |line: &str| line.trim().trim_start_matches("- ").to_owned();
        text.lines().map(line).filter(|line| line.starts_with("prony ")).collect()
    };
    page.split("```yaml").skip(1).map(block).collect()
}

#[test]
fn the_commands_of_the_page_s_jobs_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/slo-in-ci.md");
    let jobs = jobs(&std::fs::read_to_string(path).unwrap());
    assert_eq!(jobs.len(), 2, "one of GitHub and one of GitLab");
    let target = TargetProcess::start(&[]);
    for commands in jobs {
        let world = World::new();
        std::fs::create_dir(world.path("slo")).unwrap();
        for command in &commands {
            let short = command.replace(LENGTHS[0], LENGTHS[1]);
            let said = world.shell(&format!("STAGING_URL={}; {short}", target.url()));
            // So few requests have no p99 to judge.
            let expected = if command.starts_with("prony load") { 4 } else { 0 };
            assert_eq!(said.code, Some(expected), "{short}\n{said:?}");
        }
        assert!(world.read("slo/comparison.md").contains("p99<300ms"), "{commands:?}");
        assert!(world.read("slo/junit.xml").contains("<testcase"), "{commands:?}");
    }
}
