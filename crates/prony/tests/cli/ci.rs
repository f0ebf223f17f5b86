//! `prony ci` as a job calls it: in the environment that a runner sets, with an API of our own to comment on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::world::{BINARY, Said, World, serve};

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]);
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// An application in a folder of a repository, whose build writes what its start reads; the commits of main, of a change,
/// and of the merge of both, which is checked out.
fn repository(world: &World) -> [String; 3] {
    let folder = world.path("repo");
    std::fs::create_dir_all(folder.join("app")).unwrap();
    git(&folder, &["init", "-q"]);
    let commit = |message: &str| {
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "-qm", message]);
        git(&folder, &["rev-parse", "HEAD"])
    };
    std::fs::write(folder.join("app/delay"), "1ms").unwrap();
    let first = commit("an application");
    git(&folder, &["checkout", "-qb", "change"]);
    std::fs::write(folder.join("app/delay"), "20ms").unwrap();
    let change = commit("a slow change");
    git(&folder, &["checkout", "-q", "main"]);
    std::fs::write(folder.join("other"), "x").unwrap();
    let base = commit("somebody else's change");
    git(&folder, &["checkout", "-q", "--detach"]);
    git(&folder, &["merge", "-q", "--no-ff", "-m", "merge", "change"]);
    assert_ne!(first, base);
    [first, base, change]
}

/// Files of a step and tokens that a runner has, beside those of [`job`].
const OF_THE_RUNNER: [&str; 4] = ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "ACTIONS_RUNTIME_TOKEN"];

/// The variables of a job of this pull request, whose event names an older base than the merge has.
fn job(world: &World, [first, _, change]: &[String; 3]) -> Vec<(&'static str, String)> {
    let event =
        json!({ "pull_request": { "number": 7, "base": { "sha": first }, "head": { "sha": change } } });
    world.write("event.json", &event.to_string());
    let path = |name: &str| world.path(name).display().to_string();
    vec![
        ("GITHUB_EVENT_PATH", path("event.json")),
        ("GITHUB_OUTPUT", path("output")),
        ("GITHUB_STEP_SUMMARY", path("summary.md")),
        ("GITHUB_REPOSITORY", "owner/application".to_owned()),
        ("RUNNER_TEMP", path("tmp")),
        ("PRONY_CI_DIRECTORY", "app".to_owned()),
        ("PRONY_CI_OUTPUT", path("out")),
        ("PRONY_CI_BUILD", "cp delay built; env > environment".to_owned()),
        ("PRONY_CI_SERVE", format!("exec {BINARY} target --port {{port}} --delay $(cat built)")),
        ("PRONY_CI_LOAD", "-c 2 -d 200ms --warmup 0 --blocks 2 -H 'X-A: $(touch injected)'".to_owned()),
        ("PRONY_CI_TOKEN", "t0ken".to_owned()),
        // What a workflow leaves out.
        ("PRONY_CI_BASE", String::new()),
        ("PRONY_CI_DUET", String::new()),
        ("PRONY_CI_PRECISION", String::new()),
        ("PRONY_CI_FAIL_IF", String::new()),
    ]
}

fn run(world: &World, job: &[(&'static str, String)], arguments: &[&str]) -> Said {
    let mut command = world.command(arguments);
    for name in ["CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_API_V4_URL", "GITHUB_API_URL"] {
        command.env_remove(name);
    }
    command.current_dir(world.path("repo")).envs(job.iter().cloned()).output().unwrap().into()
}

#[test]
fn a_pull_requests_job_is_compared_with_the_base_of_its_merge() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("tmp")).unwrap();
    let mut job = job(&world, &commits);
    job.extend(OF_THE_RUNNER.map(|name| (name, world.path("t0ken").display().to_string())));
    let said = run(&world, &job, &["ci", "compare", "--slo", "max<1ns"]);
    assert_eq!(said.code, Some(1), "no maximum is below a nanosecond: {said:?}");
    assert!(said.err.contains(&commits[1][..12]), "the merge's own base: {}", said.err);
    assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0, "the base's folder is gone");
    assert_eq!(git(&world.path("repo"), &["worktree", "list"]).lines().count(), 1);
    assert!(!world.path("repo/app/injected").exists(), "a flag went through a shell");
    let environment = world.read("repo/app/environment");
    for name in OF_THE_RUNNER.iter().chain(&["t0ken", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"]) {
        assert!(!environment.contains(name), "the change's build sees {name}: {environment}");
    }

    let results = world.lines("out/run.jsonl", "result");
    assert_eq!(results.len(), 4);
    let comparison: Value = serde_json::from_str(&world.read("out/comparison.json")).unwrap();
    let answer = world.read("out/answer.env");
    assert_eq!(world.read("output"), answer);
    let names: Vec<&str> = answer.lines().map(|line| line.split_once('=').unwrap().0).collect();
    assert_eq!(names, ["verdict", "figure", "change", "low", "high", "report"]);
    assert_eq!(comparison[0]["b"]["candidate"], "head");
    let shown = world.read("out/comparison.md");
    let headline = comparison[0]["headline"].as_str().unwrap().split(':').next().unwrap();
    assert!(
        shown.starts_with(&format!("**{headline}")) && shown.contains("### head against base"),
        "{shown}"
    );
    assert_eq!(world.read("summary.md").trim_end(), shown.trim_end());
    let junit = world.read("out/junit.xml");
    let xml = roxmltree::Document::parse(&junit).unwrap();
    assert!(xml.descendants().any(|node| node.attribute("name") == Some("head against base")), "{junit}");
}

#[test]
fn a_job_without_a_judged_gate_ends_with_4_but_keeps_its_files() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("tmp")).unwrap();
    let mut job = job(&world, &commits);
    // A few requests have no p99.
    job.retain(|(name, _)| !["PRONY_CI_LOAD", "PRONY_CI_FAIL_IF"].contains(name));
    job.push(("PRONY_CI_LOAD", "-c 2 -n 40 --warmup 0 --blocks 2".to_owned()));
    let with = |condition: &str| {
        let job = [
            &job[..],
            &[("PRONY_CI_FAIL_IF", condition.to_owned()), ("PRONY_CI_SLO", "p999<60s".to_owned())],
        ]
        .concat();
        run(&world, &job, &["ci", "compare"])
    };
    let said = with("p99>+500%");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("Not judged: --fail-if: p99 under "), "{said:?}");
    let shown = world.read("out/comparison.md");
    assert!(shown.starts_with("**NOT JUDGED** ") && shown.contains("### head against base"), "{shown}");
    let comparison: Value = serde_json::from_str(&world.read("out/comparison.json")).unwrap();
    let not_judged = comparison[0]["not_judged"].as_array().unwrap();
    assert!(
        not_judged.len() == 3 && not_judged[1].as_str().unwrap().starts_with("p999<60s"),
        "{not_judged:?}"
    );
    assert!(world.read("out/junit.xml").contains("type=\"not_judged\""));
    assert!(world.read("out/answer.env").contains("verdict="));
    assert_eq!(with("p99>+500%,inconclusive").code, Some(1), "what failed comes first");
}

#[test]
fn wrong_inputs_of_a_job_are_refused_with_the_reason() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("tmp")).unwrap();
    let with = |changes: &[(&'static str, &str)]| {
        let mut job = job(&world, &commits);
        for (name, value) in changes {
            job.retain(|(known, _)| known != name);
            job.push((name, (*value).to_owned()));
        }
        run(&world, &job, &["ci", "compare"])
    };
    for (changes, code, says) in [
        (&[("GITHUB_EVENT_PATH", "")][..], 2, "--base"),
        (&[("GITHUB_EVENT_PATH", "nowhere.json")], 2, "nowhere.json"),
        (&[("PRONY_CI_BASE", "--upload-pack=x")], 2, "not a commit, tag or branch"),
        (&[("PRONY_CI_BASE", "v9")], 3, "could not be fetched from origin"),
        (&[("PRONY_CI_BUILD", "exit 7")], 3, "The build of base"),
        (&[("PRONY_CI_DIRECTORY", "nowhere")], 2, "nowhere"),
        (&[("PRONY_CI_LOAD", "-H 'A")], 2, "not closed"),
        (&[("PRONY_CI_LOAD", "--no-such-flag")], 2, "--no-such-flag"),
        (&[("PRONY_CI_FAIL_IF", "slowish")], 2, "slowish"),
        (&[("PRONY_CI_SERVE", "true")], 2, "{port}"),
        (&[("PRONY_CI_SERVE", " ")], 2, "--serve is empty"),
        (&[("PRONY_CI_DUET", "true")], 2, "-R"),
    ] {
        let said = with(changes);
        assert_eq!(said.code, Some(code), "{changes:?} {said:?}");
        assert!(said.err.contains(says), "{changes:?} {said:?}");
        assert!(!world.path("output").exists(), "{changes:?} left outputs");
        assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0, "{changes:?}");
    }
}

#[test]
fn blocks_are_added_until_precise_unless_their_number_is_given() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("tmp")).unwrap();
    let planned = |load: &str, duet: &str| {
        let mut job = job(&world, &commits);
        job.retain(|(name, _)| !["PRONY_CI_LOAD", "PRONY_CI_DUET"].contains(name));
        job.extend([("PRONY_CI_LOAD", format!("-c 2 --dry-run {load}")), ("PRONY_CI_DUET", duet.to_owned())]);
        let said = run(&world, &job, &["ci", "compare"]);
        assert!(said.code == Some(2) && said.err.contains("run.jsonl"), "nothing was measured: {said:?}");
        said.out
    };
    let said = planned("", "");
    assert!(said.contains("±2.0 % requested"), "{said}");
    assert!(!planned("--blocks 6", "").contains("requested"));
    assert!(!planned("--blocks=6", "false").contains("requested"));
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert!(!planned("-R 100", "true").contains("requested"));
    }
}

#[test]
fn both_sides_get_the_load_of_a_plan_file_that_flags_override() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("tmp")).unwrap();
    let mut job = job(&world, &commits);
    job.retain(|(name, _)| *name != "PRONY_CI_LOAD");
    job.push(("PRONY_CI_LOAD", "-c 3 -d 200ms --warmup 0 --blocks 1".to_owned()));
    let plan = "schema = \"prony.plan/1\"\n[[plan]]\nurl = \"http://127.0.0.1:1/?a=b\"\nconnections = 7\nthreads = 3\n\
                headers = { X-A = \"b c\" }\nslo = \"max<1ns\"\njson = \"a.json\"\n";
    world.write("repo/plan.toml", plan);
    let said = run(&world, &job, &["ci", "compare", "plan.toml"]);
    assert_eq!(said.code, Some(1), "no maximum is below a nanosecond: {said:?}");
    assert!(said.err.contains("plan.toml:8: \"json\" is not used here"), "{said:?}");
    let plan = world.lines("out/run.jsonl", "result")[0]["trial"]["plan"].clone();
    assert_eq!((&plan["connections"], &plan["threads"]), (&3.into(), &3.into()), "{plan}");
    assert!(plan["url"].as_str().unwrap().ends_with("/?a=b"), "{plan}");
    assert_eq!(plan["headers"][0], json!(["X-A", "b c"]), "{plan}");
    world.write("repo/plan.toml", "schema = \"prony.plan/1\"\n[[plan]]\nthread = 3\n");
    let said = run(&world, &job, &["ci", "compare", "plan.toml"]);
    assert!(said.code == Some(2) && said.err.contains("plan.toml:3: unknown key \"thread\""), "{said:?}");
}

/// A request as it came: its first line and its token, and its body.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers GET by `list`, and all else by `{}`, once a connection.
fn answer(mut stream: TcpStream, asked: &Asked, list: &Value) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    let (head, length) = loop {
        let n = stream.read(&mut piece).unwrap_or(0);
        seen.extend_from_slice(&piece[..n]);
        if let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&seen[..end]).into_owned();
            let length = head.to_ascii_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            seen.drain(..end + 4);
            break (head, length.unwrap_or(0));
        }
        if n == 0 {
            return;
        }
    };
    while seen.len() < length {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => seen.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
    let token = |line: &&str| line.starts_with("Authorization: ") || line.starts_with("PRIVATE-TOKEN: ");
    let first = head.lines().next().unwrap();
    let shown = format!("{first} {}", head.lines().find(token).unwrap_or_default());
    asked.lock().unwrap().push((shown, serde_json::from_slice(&seen).unwrap_or_default()));
    let (status, text) = match first.split(' ').next() {
        _ if !head.contains("t0ken") => ("403 Forbidden", "{\"message\":\"not accessible\"}".to_owned()),
        Some("GET") => ("200 OK", list.to_string()),
        _ => ("201 Created", "{}".to_owned()),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

/// What `prony ci comment` asks of an API where these comments are.
fn commented(list: &Value, variables: &[(&'static str, &str)]) -> (Said, Vec<(String, Value)>) {
    commented_of(|file| std::fs::write(file, "### head against \"base\"\n").unwrap(), list, variables)
}

/// The same, of a comparison that the job before has left so.
fn commented_of(
    leave: impl Fn(&Path),
    list: &Value,
    variables: &[(&'static str, &str)],
) -> (Said, Vec<(String, Value)>) {
    let world = World::new();
    std::fs::create_dir(world.path("out")).unwrap();
    std::fs::create_dir(world.path("repo")).unwrap();
    leave(&world.path("out/comparison.md"));
    let asked = Asked::default();
    let api = { (asked.clone(), list.clone()) };
    let address = serve(0, move |stream| answer(stream, &api.0, &api.1));
    let names = ["1", "2", "3"].map(str::to_owned);
    let mut job = job(&world, &names);
    for (name, value) in variables {
        job.retain(|(known, _)| known != name);
        job.push((name, value.replace("{api}", &format!("http://{address}"))));
    }
    let said = run(&world, &job, &["ci", "comment"]);
    let asked = asked.lock().unwrap().clone();
    (said, asked)
}

const MARK: &str = "<!-- prony ci: prony -->\n";
const GITHUB: (&str, &str) = ("GITHUB_API_URL", "{api}");

#[test]
fn the_first_job_comments_and_the_next_updates_the_comment() {
    let body = json!({ "body": format!("{MARK}### head against \"base\"\n") });
    let stranger = json!({ "id": 1, "body": MARK, "user": { "type": "User" }, "author_association": "NONE" });
    let other = json!({ "id": 2, "body": "LGTM", "user": { "type": "User" }, "author_association": "OWNER" });
    let (said, asked) = commented(&json!([stranger, other]), &[GITHUB]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let [get, post] = asked.as_slice() else { panic!("{asked:?}") };
    let comments = "/repos/owner/application/issues/7/comments";
    assert_eq!(get.0, format!("GET {comments}?per_page=100&page=1 HTTP/1.1 Authorization: Bearer t0ken"));
    assert_eq!(*post, (format!("POST {comments} HTTP/1.1 Authorization: Bearer t0ken"), body.clone()));

    let ours = json!({ "id": 3, "body": format!("{MARK}old"), "user": { "type": "Bot" }, "author_association": "NONE" });
    let (said, asked) = commented(&json!([stranger, other, ours]), &[GITHUB]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let patch = "PATCH /repos/owner/application/issues/comments/3 HTTP/1.1 Authorization: Bearer t0ken";
    assert_eq!(asked[1..], [(patch.to_owned(), body)]);
}

#[test]
fn what_the_job_before_has_left_is_taken_for_hostile() {
    let refused = |leave: &dyn Fn(&Path), says: &str| {
        let (said, asked) = commented_of(leave, &json!([]), &[GITHUB]);
        assert!(said.code == Some(2) && said.err.contains(says) && asked.is_empty(), "{said:?} {asked:?}");
        assert!(!said.err.contains("t0ken"), "{said:?}");
    };
    // This one has the token in it.
    refused(&|file| std::os::unix::fs::symlink("/proc/self/environ", file).unwrap(), "it is a link");
    refused(&|file| std::fs::File::create(file).unwrap().set_len(5 << 30).unwrap(), "longer than");
    refused(&|file| std::fs::write(file, b"\xff").unwrap(), "UTF-8");
    refused(&|file| std::fs::create_dir(file).unwrap(), "directory");
    refused(&|file| assert!(Command::new("mkfifo").arg(file).status().unwrap().success()), "a pipe");
    let steers = |file: &Path| std::fs::write(file, "a\u{1b}[2J\u{202e}b\n").unwrap();
    let (said, asked) = commented_of(steers, &json!([]), &[GITHUB]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(asked[1].1["body"], format!("{MARK}a\u{fffd}[2J\u{fffd}b\n"));
}

#[test]
fn gitlab_has_its_own_addresses_and_header() {
    let gitlab = [
        ("GITHUB_EVENT_PATH", ""),
        ("CI_API_V4_URL", "{api}/api/v4"),
        ("CI_PROJECT_ID", "42"),
        ("CI_MERGE_REQUEST_IID", "5"),
    ];
    let (said, asked) = commented(&json!([{ "id": 9, "body": format!("{MARK}old") }]), &gitlab);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(asked[1].0, "PUT /api/v4/projects/42/merge_requests/5/notes/9 HTTP/1.1 PRIVATE-TOKEN: t0ken");
}

#[test]
fn a_comment_that_cannot_be_made_is_said_with_its_reason() {
    let refused = commented(&json!([]), &[GITHUB, ("PRONY_CI_TOKEN", "read-only")]).0;
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.err.contains("403") && refused.err.contains("pull-requests: write"), "{refused:?}");
    assert!(!refused.err.contains("read-only"), "the token is shown: {refused:?}");
    let none = commented(&json!([]), &[GITHUB, ("PRONY_CI_TOKEN", "")]).0;
    assert!(none.code == Some(2) && none.err.contains("PRONY_CI_TOKEN"), "{none:?}");
    let (said, asked) = commented(&json!([]), &[GITHUB, ("GITHUB_EVENT_PATH", "")]);
    assert!(said.code == Some(0) && said.err.contains("no comment was made"), "{said:?}");
    assert!(asked.is_empty(), "{asked:?}");
    let (said, asked) = commented(&json!([]), &[GITHUB, ("GITHUB_REPOSITORY", "a/../../user")]);
    assert!(said.code == Some(2) && asked.is_empty(), "{said:?} {asked:?}");
    let said = commented(&json!({ "message": "no list" }), &[GITHUB]).0;
    assert!(said.code == Some(3) && said.err.contains("list of comments"), "{said:?}");
}
