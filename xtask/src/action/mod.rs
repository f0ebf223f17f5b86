//! GitHub's action and GitLab's template, tried: `cargo xtask action`. Their steps are run as a runner runs them, on
//! the application of examples/slow-commit: a change that sleeps ten times as long must be slower and fail the job, one
//! that changes nothing must not be. No verdict here depends on speed: a difference has to be of nearly a factor of two
//! to matter, and the slow change sleeps.

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}

mod api;
mod gitlab;
mod machine;
mod metadata;
mod runner;
mod yaml;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use api::Api;
use machine::Machine;
use runner::Job;

use crate::files::{self, anew, make};
use crate::programs::{self, Checks, is_there};

const TOKEN: &str = "t0ken-that-may-write";
/// That of the job which runs the change.
const READS: &str = "t0ken-that-may-read";
/// A build that looks for a token in every process that it may look into.
const BUILD: &str =
    "python3 -m py_compile server.py; cat /proc/[0-9]*/environ > seen 2> /dev/null; test -s seen";
/// What each request takes at least, and what it takes after the slow change.
const DELAYS: [&str; 2] = ["self.delay_s", "0.2"];

type Check = (&'static str, fn(&Place) -> Result<(), String>);
const CHECKS: [Check; 6] = [
    ("action.yml and the templates keep the rules of their formats", metadata::check),
    ("a release is installed, and one with another checksum is not", installs),
    (
        "a slow commit is slower, fails the job and is commented on once, by a job that has the token",
        slow_commit,
    ),
    ("a commit that changes nothing is not slower, and passes", unchanged_commit),
    ("GitLab's job installs a release, fails for a slow commit and comments on it", gitlab::slow_commit),
    ("the nightly job keeps its run logs on a branch", nightly),
];

struct Place {
    root: PathBuf,
    folder: PathBuf,
    binary: PathBuf,
    machine: Machine,
    action: Value,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let binary = crate::prony(root)?;
    let folder = root.join("target/action");
    anew(&folder)?;
    let machine = Machine::prepare(root, &binary, &folder)?;
    let has_python = matches!(machine, Machine::Container { .. }) || is_there("python3", "--version");
    let place = Place { root: root.to_owned(), folder, binary, machine, action: read(root, "action.yml")? };
    let mut all = Checks::default();
    for (at, (name, check)) in CHECKS.iter().enumerate() {
        if at > 1 && !has_python {
            println!("skipped {name}: the application needs python3");
        } else {
            all.count(name, check(&place));
        }
    }
    all.ended("the action")
}

fn read(root: &Path, name: &str) -> Result<Value, String> {
    yaml::parse(&files::read(&root.join(name))?).map_err(|why| format!("{name}: {why}"))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    programs::git(folder, &[&own, arguments].concat())
}

impl Place {
    /// A repository with the example's application, and a commit in which `change` was made to it; the commits of both.
    fn repository(
        &self,
        name: &str,
        change: impl Fn(&str) -> String,
    ) -> Result<(PathBuf, [String; 2]), String> {
        let folder = self.folder.join(name).join("work space");
        make(&folder)?;
        let text = files::read(&self.root.join("examples/slow-commit/server.py"))?;
        git(&folder, &["init", "-q"])?;
        let commit = |text: &str, message: &str| {
            files::write(&folder.join("server.py"), text)?;
            git(&folder, &["add", "."])?;
            git(&folder, &["commit", "-q", "-m", message])?;
            git(&folder, &["rev-parse", "HEAD"])
        };
        let base = commit(&text, "An application")?;
        let changed = change(&text);
        ensure!(changed != text, "the example's text has another form than the change expects");
        let head = commit(&changed, "A change")?;
        Ok((folder, [base, head]))
    }

    fn releases(&self) -> Result<PathBuf, String> {
        let version = env!("CARGO_PKG_VERSION");
        let all = self.folder.join("owner/prony/releases/download");
        let folder = all.join(format!("v{version}"));
        let name = format!("prony-{version}-{ARCH}-linux");
        files::copy(&self.binary, &folder.join(&name).join("bin/prony"))?;
        let archive = format!("{name}.tar.gz");
        programs::text(Command::new("tar").args(["-czf", &archive, &name]).current_dir(&folder))?;
        let sums = programs::text(Command::new("sha256sum").arg(&archive).current_dir(&folder))?;
        files::write(&folder.join("SHA256SUMS"), format!("{sums}\n"))?;
        Ok(all)
    }

    /// A job of the action on a repository, in which Prony is installed already.
    fn job(&self, workspace: &Path) -> Result<Job<'_>, String> {
        let mut job = Job::new(&self.machine, workspace, "runner", self.binary.parent())?;
        job.set(&[
            ("github.server_url", "https://github.invalid"),
            ("github.action_repository", "owner/prony"),
            ("github.action_ref", ""),
            ("github.token", READS),
            ("inputs.version", "installed"),
            ("inputs.serve", "python3 server.py --port {port} --delay 20"),
            ("inputs.build", BUILD),
            ("inputs.load", "-c 4 -d 1s --warmup 0 --blocks 3"),
            ("inputs.budget", ""),
            ("inputs.margin", "throughput=90%,p50=90%,p99=90%"),
        ]);
        Ok(job)
    }

    /// The job after one, on a machine of its own: it has the token, and what that stored.
    fn publishing(&self, after: &Job<'_>, inputs: &[(&str, &str)]) -> Result<Job<'_>, String> {
        let workspace = after.workspace.with_file_name("publishing");
        make(&workspace)?;
        let mut job = Job::new(&self.machine, &workspace, "publisher", self.binary.parent())?;
        job.context.extend(after.context.clone().into_iter().filter(|(name, _)| name.starts_with("github.")));
        job.set(&[("github.token", TOKEN), ("inputs.version", "installed"), ("inputs.mode", "publish")]);
        job.set(inputs);
        for file in files::list(&after.runner.join("temp/prony-prony"))? {
            files::copy(&file, &job.runner.join("temp/prony-prony").join(files::name(&file)))?;
        }
        Ok(job)
    }

    /// Makes a job that of a pull request, and its API this one.
    fn of_pull_request(
        &self,
        job: &mut Job<'_>,
        api: &Api,
        [base, head]: &[String; 2],
    ) -> Result<(), String> {
        let event = job.runner.join("event.json");
        let request = json!({ "number": 7, "base": { "sha": base }, "head": { "sha": head } });
        files::write(&event, json!({ "pull_request": request }).to_string())?;
        let variables = [
            ("GITHUB_EVENT_PATH", event.display().to_string()),
            ("GITHUB_REPOSITORY", "owner/shop".to_owned()),
            ("GITHUB_API_URL", api.url()),
        ];
        job.variables.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        Ok(())
    }
}

fn installs(place: &Place) -> Result<(), String> {
    let workspace = place.folder.join("install/work space");
    make(&workspace)?;
    let version = env!("CARGO_PKG_VERSION");
    let releases = place.releases()?.join(format!("v{version}"));
    let sums = files::read(&releases.join("SHA256SUMS"))?;
    let install = |sums: &str, action_ref: &str, sha256: &str| {
        files::write(&releases.join("SHA256SUMS"), sums)?;
        let mut job = Job::new(&place.machine, &workspace, "runner", None)?;
        job.set(&[
            ("github.server_url", &format!("file://{}", place.folder.display())),
            ("github.action_repository", "owner/prony"),
            ("github.action_ref", action_ref),
            ("github.token", READS),
            ("inputs.sha256", sha256),
        ]);
        job.run(&place.action, &place.root)
    };
    let (tag, commit) = (format!("v{version}"), "0123456789abcdef0123456789abcdef01234567");
    let of_sums = &sha256(&releases.join("SHA256SUMS"))?;
    for (action_ref, sha256) in [(tag.as_str(), ""), (commit, ""), (&tag, of_sums)] {
        let ended = install(&sums, action_ref, sha256)?;
        let said = format!("prony {version}");
        ensure!(ended.codes[0].1 == 0 && ended.said.contains(&said), "{action_ref}: {ended:?}");
        // The step after it found Prony on PATH, and was told that there is nothing to serve.
        ensure!(ended.codes[1].1 == 2, "{ended:?}");
    }
    let (hash, name) = sums.split_once(' ').ok_or("sha256sum prints no hash")?;
    let zeros = "0".repeat(hash.len());
    for (sums, action_ref, sha256, says) in [
        (format!("{zeros} {name}"), tag.as_str(), "", "FAILED"),
        // A list that fits the archive, and is not the one that was meant.
        (sums.clone(), &tag, zeros.as_str(), "FAILED"),
        (sums.clone(), "main", "", "is no version of Prony"),
        (sums.clone(), "v9.9.9", "", "name a released one"),
    ] {
        let ended = install(&sums, action_ref, sha256)?;
        let is_refused = ended.codes.len() == 1 && !ended.succeeded() && ended.said.contains(says);
        ensure!(is_refused, "{action_ref} {sha256} is taken: {ended:?}");
    }
    Ok(())
}

fn sha256(path: &Path) -> Result<String, String> {
    let sum = programs::text(Command::new("sha256sum").arg(path))?;
    Ok(sum.split(' ').next().unwrap_or_default().to_owned())
}

fn ours<'a>(workflow: &'a Value, job: &str) -> Result<&'a Value, String> {
    let steps = workflow["jobs"][job]["steps"].as_array().into_iter().flatten();
    let mut ours = steps.filter(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("/prony@")));
    ours.next().ok_or_else(|| format!("{job} does not use the action"))
}

/// The build, which is the change's, has looked for the token, and there was none.
fn unseen(workspace: &Path) -> Result<(), String> {
    let seen = fs::read(workspace.join("seen")).map_err(|e| format!("the build has not looked: {e}"))?;
    let seen = String::from_utf8_lossy(&seen);
    ensure!(
        seen.contains("PATH=") && !seen.contains(TOKEN) && !seen.contains(READS),
        "the change's build sees a token"
    );
    Ok(())
}

fn slow_commit(place: &Place) -> Result<(), String> {
    let slow = |text: &str| text.replace(&format!("sleep({})", DELAYS[0]), &format!("sleep({})", DELAYS[1]));
    let (workspace, commits) = place.repository("slow", slow)?;
    let api = Api::start()?;
    let mut job = place.job(&workspace)?;
    place.of_pull_request(&mut job, &api, &commits)?;
    // What somebody may write into an input is a text for the application and not a command of the job.
    job.set(&[("inputs.path", "/$(touch${IFS}injected)")]);
    for again in [false, true] {
        let ended = job.run(&place.action, &place.root)?;
        ensure!(ended.codes == [("Measure base and head".into(), 1)], "again: {again}: {ended:?}");
        unseen(&workspace)?;
        let mut publishing = place.publishing(&job, &[])?;
        place.of_pull_request(&mut publishing, &api, &commits)?;
        let ended = publishing.run(&place.action, &place.root)?;
        ensure!(ended.codes == [("Comment on the pull request".into(), 0)], "{ended:?}");
        let of = |name: &str| job.output("compare", name);
        ensure!(of("verdict") == "slower", "the verdict is {:?}: {ended:?}", of("verdict"));
        ensure!(Path::new(&of("report")).is_file(), "no page at {:?}", of("report"));
    }
    ensure!(!workspace.join("injected").exists(), "an input was run by a shell");
    let summary = files::read(&job.runner.join("summary.md")).unwrap_or_default();
    ensure!(summary.matches("head is slower than base").count() == 2, "the summary: {summary}");
    let asked = api.asked();
    let words: Vec<&str> = asked.iter().filter_map(|(line, _)| line.split(' ').next()).collect();
    ensure!(words == ["GET", "POST", "GET", "PATCH"], "asked of the API: {asked:?}");
    ensure!(asked.iter().all(|(line, _)| line.ends_with(TOKEN)), "without the token: {asked:?}");
    ensure!(asked[3].1.contains("head is slower than base"), "the comment: {}", asked[3].1);
    Ok(())
}

fn unchanged_commit(place: &Place) -> Result<(), String> {
    let (workspace, commits) = place.repository("unchanged", |text| format!("{text}\n# Nothing.\n"))?;
    let api = Api::start()?;
    let mut job = place.job(&workspace)?;
    place.of_pull_request(&mut job, &api, &commits)?;
    job.set(&[("inputs.mode", "publsh")]);
    let ended = job.run(&place.action, &place.root)?;
    ensure!(ended.codes == [("Refuse another mode".into(), 2)], "{ended:?}");
    job.set(&[("inputs.mode", "compare")]);
    let ended = job.run(&place.action, &place.root)?;
    let verdict = job.output("compare", "verdict");
    ensure!(ended.succeeded() && verdict != "slower" && !verdict.is_empty(), "{verdict}: {ended:?}");
    Ok(())
}

/// The jobs of ci/nightly.yml, with this repository's commands, on two nights.
fn nightly(place: &Place) -> Result<(), String> {
    let (workspace, [base, _]) = place.repository("nightly", |text| format!("{text}\n# Nothing.\n"))?;
    let origin = workspace.with_file_name("origin.git");
    git(&workspace, &["tag", "v1", &base])?;
    git(&workspace, &["clone", "-q", "--bare", ".", &origin.display().to_string()])?;
    git(&workspace, &["remote", "add", "origin", &origin.display().to_string()])?;
    let workflow = read(&place.root, "ci/nightly.yml")?;
    let steps = workflow["jobs"]["measure"]["steps"].as_array().ok_or("the job has no steps")?;
    let mut job = place.job(&workspace)?;
    let runs: Vec<Value> = steps.iter().filter(|step| step["run"].is_string()).cloned().collect();
    let before = json!({ "inputs": {}, "runs": { "steps": runs } });
    ensure!(job.run(&before, &place.root)?.succeeded(), "the release is not found");
    let tag = job.output("release", "tag");
    ensure!(tag == "v1", "the last release is {tag:?}");
    let keep = ours(&workflow, "keep")?;
    let with = keep["with"]["history"].as_str().ok_or("no history")?;
    let is_whole = keep["with"]["mode"] == "publish" && keep["with"]["comment"] == "false";
    ensure!(is_whole && ours(&workflow, "measure")?["with"]["mode"].is_null(), "{workflow}");
    job.set(&[("inputs.base", &tag), ("inputs.fail-if", "")]);
    for night in 1..=2 {
        let ended = job.run(&place.action, &place.root)?;
        ensure!(ended.succeeded() && ended.codes.len() == 1, "night {night}: {ended:?}");
        let mut keeping = place.publishing(&job, &[("inputs.comment", "false"), ("inputs.history", with)])?;
        // Its own clone, which may push.
        let clone = workspace.with_file_name(format!("clone {night}"));
        git(&workspace, &["clone", "-q", &origin.display().to_string(), &clone.display().to_string()])?;
        keeping.workspace = clone;
        let ended = keeping.run(&place.action, &place.root)?;
        ensure!(ended.codes == [("Keep the run log".into(), 0)], "night {night}: {ended:?}");
        let kept = git(&origin, &["ls-tree", "-r", "--name-only", with])?;
        let logs = kept.lines().filter(|name| name.starts_with("runs/") && name.ends_with(".jsonl")).count();
        ensure!(logs == night && kept.contains("index.html"), "night {night}: {kept}");
        ensure!(!kept.contains("server.py"), "the application is on the branch, too: {kept}");
    }
    // A link in its place is not followed.
    let mut keeping = place.publishing(&job, &[("inputs.comment", "false"), ("inputs.history", with)])?;
    let log = keeping.runner.join("temp/prony-prony/run.jsonl");
    fs::remove_file(&log).and_then(|()| symlink("/proc/self/environ", &log)).map_err(|e| e.to_string())?;
    keeping.workspace.clone_from(&workspace);
    let ended = keeping.run(&place.action, &place.root)?;
    ensure!(ended.codes == [("Keep the run log".into(), 3)], "a link is followed: {ended:?}");
    let shown = git(&origin, &["show", &format!("{with}:history.txt")])?;
    ensure!(shown.starts_with("throughput relative to base of 2 run logs"), "{}", shown);
    Ok(())
}
