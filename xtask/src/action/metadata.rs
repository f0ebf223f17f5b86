//! What action.yml and the templates must be: valid by GitHub's and GitLab's schemas, no input within a shell's text, equal
//! names, a token for nobody but the step that comments.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use super::{Place, step};
use crate::{files, programs};

/// What workflows are written with, which stays.
const INPUTS: &str = "mode sha256 build serve path load duet precision budget fail-if slo margin comment token version \
                      working-directory";
/// What `prony ci compare` writes for steps after it (crates/prony/src/commands/ci/files.rs).
const OUTPUTS: [&str; 6] = ["verdict", "figure", "change", "low", "high", "report"];
/// Where the job before has left its files.
const LEFT: &str = "${{ runner.temp }}/prony-${{ inputs.name }}";
/// Variables of `prony ci` that are no input of the same name.
const OTHERS: [(&str, &str); 2] =
    [("PRONY_CI_DIRECTORY", "${{ inputs.working-directory }}"), ("PRONY_CI_OUTPUT", LEFT)];
/// Steps, and the job that they are of.
const MODES: [(&str, &str); 3] =
    [("Measure base and head", "compare"), (COMMENT, "publish"), ("Keep the run log", "publish")];
const COMMENT: &str = "Comment on the pull request";
/// Its checks are of a schema that GitHub's own editor uses.
const CHECKER: &str = "check-jsonschema";

pub(super) fn check(place: &Place) -> Result<(), String> {
    let action = &place.action;
    let text = files::read(&place.root.join("action.yml"))?;
    for (name, input) in fields(&action["inputs"]) {
        ensure!(input["default"].is_string() || input["required"] == true, "{name} has no default");
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
    for (name, output) in fields(&action["outputs"]) {
        let from = format!("${{{{ steps.compare.outputs.{name} }}}}");
        ensure!(output["value"] == from, "the output {name}");
        ensure!(OUTPUTS.contains(&name.as_str()), "Prony writes no output {name}");
    }
    steps(&action["runs"])?;
    templates(place)?;
    pinned(place)?;
    variables(place, &text)?;
    by_schema(place)
}

fn fields(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flat_map(Map::iter)
}

fn steps(runs: &Value) -> Result<(), String> {
    for step in runs["steps"].as_array().ok_or("no steps")? {
        let name = step["name"].as_str().ok_or("a step has no name")?;
        if let Some(run) = step["run"].as_str() {
            ensure!(step["shell"] == "bash", "{name} names no shell");
            ensure!(!run.contains("${{"), "{name} puts an expression into a shell's text");
        }
        for (variable, value) in fields(&step["env"]) {
            let value = value.as_str().unwrap_or_default();
            ensure!(name == COMMENT || !value.contains("token"), "{name} has a token");
            let Some(input) = variable.strip_prefix("PRONY_CI_") else { continue };
            let input = format!("${{{{ inputs.{} }}}}", input.to_ascii_lowercase().replace('_', "-"));
            let is_other = OTHERS.contains(&(variable, value));
            ensure!(is_other || value == input, "{name}: {variable} is {value}");
        }
    }
    for (name, mode) in MODES {
        let when = step(&runs["steps"], name)?["if"].as_str().unwrap_or_default();
        ensure!(when.contains(&format!("inputs.mode == '{mode}'")), "{name} is of another job: {when}");
    }
    let kept = &step(&runs["steps"], "Keep the run log")?["env"];
    ensure!(kept["LOG"] == format!("{LEFT}/run.jsonl"), "what is kept is {}", kept["LOG"]);
    Ok(())
}

/// The one step of a workflow's job that uses the action: its inputs.
fn ours<'a>(workflow: &'a Value, job: &str) -> Result<&'a Value, String> {
    let mut steps = workflow["jobs"][job]["steps"].as_array().into_iter().flatten();
    let ours = steps.find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("/prony@")));
    ours.map(|step| &step["with"]).ok_or_else(|| format!("{job} does not use the action"))
}

fn templates(place: &Place) -> Result<(), String> {
    let Place { nightly, gitlab, .. } = place;
    let (measure, keep) = (ours(nightly, "measure")?, ours(nightly, "keep")?);
    for (name, _) in fields(measure).chain(fields(keep)) {
        ensure!(!place.action["inputs"][name].is_null(), "ci/nightly.yml: no input {name}");
    }
    let is_whole = keep["mode"] == "publish" && keep["comment"] == "false" && keep["history"].is_string();
    let of_release = measure["base"] == "${{ steps.release.outputs.tag }}" && measure["mode"].is_null();
    ensure!(is_whole && of_release, "ci/nightly.yml: {measure} {keep}");
    let (whole, measures) = (&nightly["permissions"], &nightly["jobs"]["measure"]);
    let right = whole["contents"] == "read" && measures["permissions"].is_null();
    ensure!(right, "ci/nightly.yml: what runs the change may write: {whole} {measures}");
    let mut steps = measures["steps"].as_array().ok_or("no steps")?.iter();
    ensure!(
        steps.any(|step| step["with"]["persist-credentials"] == false),
        "ci/nightly.yml: checkout leaves its token"
    );
    let reports = &gitlab[".prony"]["artifacts"]["reports"];
    // What the change's code writes there would be variables of the job that has the token.
    let right = reports["junit"] == "prony-ci/junit.xml" && reports["dotenv"].is_null();
    ensure!(right, "ci/gitlab.yml: {reports}");
    let has = gitlab[".prony-comment"]["environment"]["name"] == "prony-comment";
    ensure!(has && gitlab[".prony"]["environment"].is_null(), "ci/gitlab.yml: the token's environment");
    Ok(())
}

/// Actions of others are named by a commit, with its version beside it: a tag can be moved.
fn pinned(place: &Place) -> Result<(), String> {
    let files = crate::tidy::tracked(&place.root)?;
    for file in files.iter().filter(|file| [".md", ".yml"].iter().any(|ending| file.ends_with(ending))) {
        let text = files::read(&place.root.join(file))?;
        let uses = text.lines().map(|line| line.trim().trim_start_matches("- "));
        for used in uses.filter_map(|line| line.strip_prefix("uses: ")) {
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

/// Files, and by which of the checker's schemas; of pages the jobs that they show, in this order.
const SCHEMAS: [(&str, &[&str]); 6] = [
    ("action.yml", &["github-actions"]),
    ("ci/nightly.yml", &["github-workflows"]),
    (".github/workflows/release.yml", &["github-workflows"]),
    ("ci/gitlab.yml", &["gitlab-ci"]),
    ("docs/ci.md", &["github-workflows", "gitlab-ci"]),
    ("docs/slo-in-ci.md", &["github-workflows", "gitlab-ci"]),
];

fn by_schema(place: &Place) -> Result<(), String> {
    if !programs::is_there(CHECKER, "--version") {
        println!("skipped: the schemas of GitHub and GitLab; {CHECKER} is not here (pip install {CHECKER})");
        return Ok(());
    }
    for (name, schemas) in SCHEMAS {
        let text = files::read(&place.root.join(name))?;
        let shown = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let blocks: Vec<&str> = if name.ends_with(".md") { shown.collect() } else { vec![&text] };
        ensure!(blocks.len() == schemas.len(), "{name} shows {} jobs", blocks.len());
        for (schema, block) in schemas.iter().zip(blocks) {
            let file = place.folder.join(Path::new(name).with_extension("shown.yml"));
            files::write(&file, block)?;
            let mut checker = Command::new(CHECKER);
            checker.args(["--builtin-schema", &format!("vendor.{schema}")]).arg(&file);
            programs::text(checker.current_dir(&place.root)).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}
