//! What action.yml and the templates must be: GitHub's rules for actions, no input within a shell's text, equal names.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Place, read};
use crate::{files, programs};

const TOP: [&str; 7] = ["name", "description", "author", "branding", "inputs", "outputs", "runs"];
const OF_INPUT: [&str; 3] = ["description", "required", "default"];
const OF_STEP: [&str; 9] = ["name", "id", "if", "shell", "env", "run", "working-directory", "uses", "with"];
const COLORS: [&str; 8] = ["white", "black", "yellow", "blue", "green", "orange", "red", "purple"];
/// What workflows are written with, which stays.
const INPUTS: &str = "mode sha256 build serve path load duet precision budget fail-if slo margin comment token version \
                      working-directory";
/// What `prony ci compare` writes for steps after it (crates/prony/src/commands/ci/files.rs).
const OUTPUTS: [&str; 6] = ["verdict", "figure", "change", "low", "high", "report"];
/// Its checks are of a schema that GitHub's own editor uses.
const CHECKER: &str = "check-jsonschema";

pub(super) fn check(place: &Place) -> Result<(), String> {
    let action = &place.action;
    keys(action, &TOP, "action.yml")?;
    for name in ["name", "description"] {
        ensure!(action[name].as_str().is_some_and(|text| !text.is_empty()), "no {name}");
    }
    let color = action["branding"]["color"].as_str().unwrap_or_default();
    ensure!(COLORS.contains(&color), "branding has the color {color:?}");
    let text = files::read(&place.root.join("action.yml"))?;
    for (name, input) in action["inputs"].as_object().into_iter().flatten() {
        keys(input, &OF_INPUT, name)?;
        ensure!(input["description"].is_string(), "{name} has no description");
        ensure!(input["default"].is_string() || input["required"] == "true", "{name} has no default");
        ensure!(text.contains(&format!("inputs.{name}")), "{name} is not used");
    }
    let page = files::read(&place.root.join("docs/ci.md"))?;
    for name in INPUTS.split(' ').chain(OUTPUTS) {
        let there = !action["inputs"][name].is_null() || !action["outputs"][name].is_null();
        ensure!(there && page.contains(&format!("`{name}`")), "no {name}, or not on docs/ci.md");
    }
    for used in text.split("inputs.").skip(1) {
        let name: String = used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        ensure!(!action["inputs"][&name].is_null(), "there is no input {name:?}");
    }
    for (name, output) in action["outputs"].as_object().into_iter().flatten() {
        let from = format!("${{{{ steps.compare.outputs.{name} }}}}");
        ensure!(output["value"] == from && output["description"].is_string(), "the output {name}");
        ensure!(OUTPUTS.contains(&name.as_str()), "Prony writes no output {name}");
    }
    ensure!(action["runs"]["using"] == "composite", "it is no composite action");
    for step in action["runs"]["steps"].as_array().ok_or("no steps")? {
        self::step(step)?;
    }
    templates(place)?;
    pinned(place)?;
    variables(place, &text)?;
    by_schema(place)
}

fn keys(of: &Value, known: &[&str], what: &str) -> Result<(), String> {
    let all = of.as_object().ok_or_else(|| format!("{what} is no mapping"))?;
    match all.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{what} has {key:?}, which means nothing")),
        None => Ok(()),
    }
}

fn step(step: &Value) -> Result<(), String> {
    let name = step["name"].as_str().ok_or("a step has no name")?;
    keys(step, &OF_STEP, name)?;
    match (step["run"].as_str(), step["uses"].as_str()) {
        (Some(run), None) => {
            ensure!(step["shell"] == "bash", "{name} names no shell");
            ensure!(!run.contains("${{"), "{name} puts an expression into a shell's text");
            Ok(())
        }
        (None, Some(_)) => Ok(()),
        _ => Err(format!("{name} has to have one of run and uses")),
    }
}

fn templates(place: &Place) -> Result<(), String> {
    let nightly = read(&place.root, "ci/nightly.yml")?;
    for job in ["measure", "keep"] {
        let with = super::ours(&nightly, job)?["with"].as_object().ok_or("no inputs")?;
        for name in with.keys() {
            ensure!(!place.action["inputs"][name].is_null(), "ci/nightly.yml: no input {name}");
        }
    }
    let (whole, measures) = (&nightly["permissions"], &nightly["jobs"]["measure"]);
    let right = whole["contents"] == "read" && measures["permissions"].is_null();
    ensure!(right, "ci/nightly.yml: what runs the change may write: {whole} {measures}");
    let steps = measures["steps"].as_array().ok_or("no steps")?;
    let leaves = steps.iter().find(|step| step["with"]["persist-credentials"] == "false");
    ensure!(leaves.is_some(), "ci/nightly.yml: checkout leaves its token");
    let gitlab = read(&place.root, "ci/gitlab.yml")?;
    let reports = &gitlab[".prony"]["artifacts"]["reports"];
    // What the change's code writes there would be variables of the job that has the token.
    let right = reports["junit"] == "prony-ci/junit.xml" && reports["dotenv"].is_null();
    ensure!(right, "ci/gitlab.yml: {reports}");
    Ok(())
}

/// Actions of others are named by a commit, with its version beside it: a tag can be moved.
fn pinned(place: &Place) -> Result<(), String> {
    for file in crate::tidy::tracked(&place.root)?
        .iter()
        .filter(|file| [".md", ".yml"].iter().any(|ending| file.ends_with(ending)))
    {
        let text = files::read(&place.root.join(file))?;
        for used in
            text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "))
        {
            let (action, version) = used.split_once('@').unwrap_or((used, ""));
            let (commit, comment) = version.split_at_checked(40).unwrap_or(("", ""));
            let is_pinned = commit.bytes().all(|b| b.is_ascii_hexdigit()) && comment.starts_with(" # v");
            ensure!(action.ends_with("/prony") || is_pinned, "{file}: {used} is no commit");
        }
    }
    Ok(())
}

/// Every variable that the files set is one that Prony reads.
fn variables(place: &Place, action: &str) -> Result<(), String> {
    let help = |command: &str| programs::text(Command::new(&place.binary).args(["ci", command, "--help"]));
    let known = help("compare")? + &help("comment")?;
    let gitlab = files::read(&place.root.join("ci/gitlab.yml"))?;
    for rest in action.split("PRONY_CI_").chain(gitlab.split("PRONY_CI_")).skip(1) {
        let name: String = rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
        let variable = format!("PRONY_CI_{name}");
        ensure!(name.is_empty() || known.contains(&variable), "Prony reads no {variable}");
    }
    Ok(())
}

/// The jobs that pages show, and by which schema each is checked, in the order of a page.
const SHOWN: [(&str, [&str; 2]); 2] = [
    ("docs/ci.md", ["vendor.github-workflows", "vendor.gitlab-ci"]),
    ("docs/slo-in-ci.md", ["vendor.github-workflows", "vendor.gitlab-ci"]),
];

fn by_schema(place: &Place) -> Result<(), String> {
    if !programs::is_there(CHECKER, "--version") {
        println!(
            "skipped: the schemas of GitHub and GitLab; {CHECKER} is not installed (pip install {CHECKER})"
        );
        return Ok(());
    }
    let valid = |schema: &str, file: &Path| {
        let mut checker = Command::new(CHECKER);
        programs::text(checker.args(["--builtin-schema", schema]).arg(file).current_dir(&place.root))
            .map(drop)
    };
    for (schema, file) in [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "ci/nightly.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.gitlab-ci", "ci/gitlab.yml"),
    ] {
        valid(schema, Path::new(file))?;
    }
    for (page, schemas) in SHOWN {
        let text = files::read(&place.root.join(page))?;
        let blocks: Vec<&str> =
            text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        ensure!(blocks.len() == schemas.len(), "{page} shows {} jobs", blocks.len());
        for (schema, block) in schemas.into_iter().zip(blocks) {
            let file = place.folder.join("shown.yml");
            files::write(&file, block)?;
            valid(schema, &file).map_err(|why| format!("{page}: {why}"))?;
        }
    }
    Ok(())
}
