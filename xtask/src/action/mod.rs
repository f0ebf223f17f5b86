//! GitHub's action and GitLab's template: `cargo xtask action`. Their files are held against the rules of their formats, and
//! the scripts of their steps are run on the application of examples/slow-commit: a change that sleeps ten times as long
//! must be slower and fail the job. What `prony ci` makes of a job's variables is tested in crates/prony/tests/cli/ci.rs.

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}

mod metadata;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::files::{self, make};
use crate::programs::{self, Checks, git_as as git, is_there};
use crate::release::Release;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What each request takes at least, and what it takes after the slow change.
const DELAYS: [&str; 2] = ["sleep(self.delay_s)", "sleep(0.2)"];
/// Where the template takes its installer from, as GitHub has it.
const RAW: &str = "https://raw.githubusercontent.com/";
/// YAML as JSON, by what check-jsonschema reads it with, or Debian's python3-yaml.
const READER: &str = "import json, sys
try:
    from ruamel.yaml import YAML
    load = YAML(typ='safe', pure=True).load
except ImportError:
    from yaml import safe_load as load
print(json.dumps(load(open(sys.argv[1]))))";

type Check = (&'static str, fn(&Place) -> Result<(), String>);
const CHECKS: [Check; 4] = [
    ("action.yml and the templates keep the rules of their formats", metadata::check),
    ("a release is installed, and one with another checksum is not", installs),
    ("run logs are kept on a branch, and the last release is found", keeps),
    ("GitLab's job installs a release, fails for a slow commit and passes without a change", compares),
];

struct Place {
    root: PathBuf,
    folder: PathBuf,
    binary: PathBuf,
    action: Value,
    nightly: Value,
    gitlab: Value,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let folder = root.join("target/action");
    files::anew(&folder)?;
    if !["import ruamel.yaml", "import yaml"].iter().any(|line| {
        programs::output(Command::new("python3").args(["-c", line])).is_ok_and(|ran| ran.status.success())
    }) {
        println!("skipped: python3 reads no YAML here (pip install check-jsonschema)");
        return Ok(());
    }
    let read = |name: &str| {
        let mut python = Command::new("python3");
        let text = programs::text(python.args(["-c", READER, name]).current_dir(root))?;
        serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))
    };
    let [action, nightly, gitlab] = ["action.yml", "ci/nightly.yml", "ci/gitlab.yml"].map(read);
    let (action, nightly, gitlab) = (action?, nightly?, gitlab?);
    let place = Place { root: root.to_owned(), folder, binary: crate::prony(root)?, action, nightly, gitlab };
    let mut all = Checks::default();
    CHECKS.iter().for_each(|(name, check)| all.count(name, check(&place)));
    all.ended("the action")
}

/// What a script in a shell ended with, and what it said.
type Ran = (i32, String);

fn sha256(path: &Path) -> Result<String, String> {
    let sum = programs::text(Command::new("sha256sum").arg(path))?;
    Ok(sum.split(' ').next().unwrap_or_default().to_owned())
}

/// The step of this name.
fn step<'a>(steps: &'a Value, name: &str) -> Result<&'a Value, String> {
    let mut all = steps.as_array().into_iter().flatten();
    all.find(|step| step["name"] == name).ok_or_else(|| format!("there is no step {name:?}"))
}

impl Place {
    /// Runs a script as a runner's shell does, with these variables and no others; `prony` is on its PATH.
    fn bash(&self, script: &str, folder: &Path, variables: &[(&str, &str)]) -> Result<Ran, String> {
        let programs = self.binary.parent().unwrap_or(&self.root).display();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
        let own = |name: &str| self.folder.join(name);
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder).env_clear();
        // Beside the benches of other tests, which have nothing to fear from a verdict by a factor of ten.
        let own = [("PRONY_TURN", own("turn")), ("PRONY_STATE", own("state")), ("HOME", own("home"))];
        bash.envs(own).env("PATH", path).env("PRONY_DISTURBED", "keep");
        let ran = programs::output(bash.envs(variables.iter().copied()))?;
        let code = ran.status.code().ok_or("the script was killed")?;
        Ok((code, String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()))
    }

    /// A step of the action in a folder.
    fn step(&self, name: &str, folder: &Path, variables: &[(&str, &str)]) -> Result<Ran, String> {
        let script = step(&self.action["runs"]["steps"], name)?["run"].as_str().unwrap_or_default();
        let root = self.root.display().to_string();
        self.bash(script, folder, &[&[("GITHUB_ACTION_PATH", root.as_str())], variables].concat())
    }

    /// A repository with the example's application, tagged v1, and the slow change to it; the commits of both.
    fn repository(&self, name: &str) -> Result<(PathBuf, [String; 2]), String> {
        let folder = self.folder.join(name).join("work space");
        make(&folder)?;
        let text = files::read(&self.root.join("examples/slow-commit/server.py"))?;
        let slow = text.replace(DELAYS[0], DELAYS[1]);
        ensure!(slow != text, "the example's text has another form than the change expects");
        git(&folder, &["init", "-q"])?;
        let commit = |text: &str, tag: &str| {
            files::write(&folder.join("server.py"), text)?;
            git(&folder, &["add", "."])?;
            git(&folder, &["commit", "-q", "-m", tag])?;
            git(&folder, &["rev-parse", "HEAD"])
        };
        let base = commit(&text, "An application")?;
        git(&folder, &["tag", "v1"])?;
        let head = commit(&slow, "A change")?;
        Ok((folder, [base, head]))
    }

    /// The folder that stands for `OWNER/prony/releases/download`, with this version in it.
    fn releases(&self) -> Result<PathBuf, String> {
        let all = self.folder.join("releases");
        let folder = all.join(format!("v{VERSION}"));
        let name = format!("prony-{VERSION}-{ARCH}-linux");
        files::copy(&self.binary, &folder.join(&name).join("bin/prony"))?;
        let archive = format!("{name}.tar.gz");
        programs::text(Command::new("tar").args(["-czf", &archive, &name]).current_dir(&folder))?;
        let sums = programs::text(Command::new("sha256sum").arg(&archive).current_dir(&folder))?;
        files::write(&folder.join("SHA256SUMS"), format!("{sums}\n"))?;
        Ok(all)
    }
}

fn installs(place: &Place) -> Result<(), String> {
    let releases = place.releases()?;
    let file = releases.join(format!("v{VERSION}/SHA256SUMS"));
    let sums = files::read(&file)?;
    let (address, path) = (format!("file://{}", releases.display()), place.folder.join("path"));
    files::write(&path, "")?;
    let install = |sums: &str, version: &str, sha256: &str| -> Result<Ran, String> {
        files::write(&file, sums)?;
        let to = place.folder.join("install/work space");
        files::anew(&to)?;
        let [to, path] = [&to, &path].map(|path| path.display().to_string());
        let names = ["RELEASES", "VERSION", "FOLDER", "SHA256", "GITHUB_PATH"];
        let values = [&address, version, &to, sha256, &path];
        place.step("Install Prony", &place.folder, &[0, 1, 2, 3, 4].map(|at| (names[at], values[at])))
    };
    let (tag, commit) = (format!("v{VERSION}"), "0123456789abcdef0123456789abcdef01234567");
    for (version, sha256) in [(&*tag, ""), (commit, ""), (&tag, &sha256(&file)?)] {
        let (code, said) = install(&sums, version, sha256)?;
        ensure!(code == 0 && said.contains(&format!("prony {VERSION}")), "{version}: {code}: {said}");
    }
    ensure!(files::read(&path)?.lines().all(|line| line.ends_with("work space/bin")), "PATH of later steps");
    let (hash, name) = sums.split_once(' ').ok_or("sha256sum prints no hash")?;
    let zeros = "0".repeat(hash.len());
    for (sums, version, sha256, says) in [
        (&format!("{zeros} {name}"), &*tag, "", "FAILED"),
        // A list that fits the archive, and is not the one that was meant.
        (&sums, &tag, &*zeros, "FAILED"),
        (&sums, "main", "", "is no version of Prony"),
        (&sums, "v9.9.9", "", "name a released one"),
    ] {
        let (code, said) = install(sums, version, sha256)?;
        ensure!(code != 0 && said.contains(says), "{version} {sha256} is taken: {said}");
    }
    files::write(&file, &sums)
}

/// What ci/nightly.yml has done on two nights.
fn keeps(place: &Place) -> Result<(), String> {
    let (workspace, _) = place.repository("nightly")?;
    let release = step(&place.nightly["jobs"]["measure"]["steps"], "Find the last release")?;
    let output = place.folder.join("output");
    let variables = [("GITHUB_OUTPUT", output.to_str().unwrap_or_default())];
    place.bash(release["run"].as_str().unwrap_or_default(), &workspace, &variables)?;
    ensure!(files::read(&output)? == "tag=v1\n", "the last release is another");
    let origin = workspace.with_file_name("origin.git");
    let [at, log] = [&origin, &place.folder.join("run.jsonl")].map(|path| path.display().to_string());
    git(&workspace, &["clone", "-q", "--bare", ".", &at])?;
    git(&workspace, &["remote", "add", "origin", &at])?;
    let keep = || place.step("Keep the run log", &workspace, &[("LOG", &*log), ("BRANCH", "history")]);
    for night in 1..=2 {
        let _ = fs::remove_file(&log);
        // Over a second, by which a log's name differs from the one before.
        let load = "-c 2 -d 300ms --warmup 0 --blocks 2 -q";
        let sides = ["base", "head"].map(|name| format!("--candidate '{name}=prony target --port {{port}}'"));
        let (code, said) =
            place.bash(&format!("prony bench {} {load} -o '{log}'", sides.join(" ")), &workspace, &[])?;
        ensure!(code == 0, "{said}");
        let (code, said) = keep()?;
        let kept = git(&origin, &["ls-tree", "-r", "--name-only", "history"])?;
        let logs = kept.lines().filter(|name| name.starts_with("runs/") && name.ends_with(".jsonl")).count();
        let is_right = code == 0 && logs == night && kept.contains("index.html");
        ensure!(is_right && !kept.contains("server.py"), "night {night}: {code}: {said}: {kept}");
    }
    // A link in its place is not followed.
    fs::remove_file(&log).and_then(|()| symlink("/proc/self/environ", &log)).map_err(|e| e.to_string())?;
    let (code, said) = keep()?;
    ensure!(code == 3, "a link is followed: {code}: {said}");
    let shown = git(&origin, &["show", "history:history.txt"])?;
    ensure!(shown.starts_with("throughput relative to base of 2 run logs"), "{shown}");
    Ok(())
}

/// The scripts of ci/gitlab.yml, joined in one shell as GitLab's runner joins them.
fn compares(place: &Place) -> Result<(), String> {
    if !is_there("python3", "--version") {
        println!("skipped GitLab's job: the application needs python3");
        return Ok(());
    }
    let (workspace, [base, head]) = place.repository("gitlab")?;
    let (address, release) = (Release::read(&place.root)?, &place.gitlab[".prony-release"]);
    let at = |path: &Path| format!("file://{}", path.display());
    let own = [
        (format!("{}/releases/download", address.address()), at(&place.releases()?)),
        (format!("{RAW}{}/v{VERSION}", address.repository), at(&place.root)),
    ];
    let run = |name: &str, folder: &Path, more: &[(&str, &str)]| -> Result<Ran, String> {
        let job = &place.gitlab[name];
        ensure!(job["extends"] == ".prony-release", "{name} extends another");
        let mut variables: Vec<(&str, String)> = Vec::new();
        for (name, value) in [release, job].into_iter().flat_map(|of| of["variables"].as_object()).flatten() {
            let value = value.as_str().unwrap_or_default().replace("$PRONY_VERSION", VERSION);
            let value = own.iter().fold(value, |value, (public, own)| value.replace(public, own));
            ensure!(!value.contains("https:"), "{name} is an address of its own: {value}");
            variables.push((name, value));
        }
        let known = [
            ("PRONY_CI_SERVE", "python3 server.py --port {port} --delay 20"),
            ("PRONY_CI_BUILD", "python3 -m py_compile server.py"),
            ("PRONY_CI_LOAD", "-c 4 -d 1s --warmup 0 --blocks 3"),
            ("PRONY_CI_MARGIN", "throughput=90%,p50=90%,p99=90%"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &*base),
        ];
        let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
        let variables: Vec<_> = variables.chain(known).chain(more.iter().copied()).collect();
        let lines =
            [&release["before_script"], &job["script"]].into_iter().flat_map(Value::as_array).flatten();
        let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
        place.bash(&lines.join("\n"), folder, &variables)
    };
    let (mine, zeros) = (sha256(&place.root.join("ci/install.sh"))?, "0".repeat(64));
    let [mine, zeros] = [&mine, &zeros].map(|sum| ("PRONY_INSTALLER_SHA256", sum.as_str()));
    let token = ("PRONY_CI_TOKEN", "t0ken");
    // Within reach of the change's code a token is refused; so is another installer.
    for (variable, refused) in [(token, 2), (zeros, 1)] {
        let (code, said) = run(".prony", &workspace, &[variable])?;
        ensure!(code == refused, "{variable:?}: {code}: {said}");
    }
    let file = |name: &str| files::read(&workspace.join("prony-ci").join(name)).unwrap_or_default();
    let (code, said) = run(".prony", &workspace, &[mine])?;
    ensure!(code == 1 && file("answer.env").contains("verdict=slower\n"), "{code}: {said}");
    ensure!(file("junit.xml").contains("<testsuite"), "{}", file("junit.xml"));
    ensure!(
        git(&workspace, &["status", "--porcelain"])?.find("install").is_none(),
        "installed in the workspace"
    );
    let (code, said) = run(".prony", &workspace, &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", &*head)])?;
    ensure!(code == 0 && !file("answer.env").contains("verdict=slower\n"), "unchanged: {code}: {said}");
    // Where nothing was stored there is nothing to be said; else there is, by a token that is not there.
    let (code, said) = run(".prony-comment", &place.folder, &[token])?;
    ensure!(code == 0, "{code}: {said}");
    let request =
        [("CI_API_V4_URL", "http://127.0.0.1:9"), ("CI_PROJECT_ID", "42"), ("CI_MERGE_REQUEST_IID", "5")];
    let (code, said) = run(".prony-comment", &workspace, &request)?;
    ensure!(code == 2 && said.contains("PRONY_CI_TOKEN"), "{code}: {said}");
    Ok(())
}
