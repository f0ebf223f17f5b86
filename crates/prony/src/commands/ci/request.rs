//! What the environment of a job says of its pull request (GitHub) or merge request (GitLab).

use std::env;
use std::fs::File;
use std::io::Read;

use serde_json::Value;

use crate::failure::Failure;

const EVENT_MAX_BYTES: u64 = 32 << 20;

#[derive(Debug)]
pub(super) struct Base {
    pub(super) commit: String,
    /// The last commit of the request, where the job may have checked out a merge of it.
    pub(super) head: Option<String>,
}

#[derive(Debug)]
pub(super) struct Comments {
    pub(super) all: String,
    /// One of them, but for its number.
    pub(super) one: String,
    pub(super) change: &'static str,
    /// The header that carries the token, but for the token.
    pub(super) token: &'static str,
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The base of this job's request; `None` in a job without one.
pub(super) fn base() -> Result<Option<Base>, Failure> {
    if let Some(request) = pull_request()? {
        let sha = |side: &str| request[side]["sha"].as_str().map(str::to_owned);
        return Ok(sha("base").map(|commit| Base { commit, head: sha("head") }));
    }
    Ok(variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").map(|commit| Base { commit, head: None }))
}

/// Where this job's request is commented on; `None` in a job without one.
pub(super) fn comments() -> Result<Option<Comments>, Failure> {
    if let Some(request) = pull_request()? {
        let api = variable("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned());
        let (Some(number), Some(repository)) = (request["number"].as_u64(), variable("GITHUB_REPOSITORY"))
        else {
            return Err(Failure::usage(
                "The pull request has no number in $GITHUB_EVENT_PATH, or its repository is not in $GITHUB_REPOSITORY.",
            ));
        };
        let issues = format!("{api}/repos/{}/issues", part(&repository)?);
        return Ok(Some(Comments {
            all: format!("{issues}/{number}/comments"),
            one: format!("{issues}/comments"),
            change: "PATCH",
            token: "Authorization: Bearer",
        }));
    }
    let of_gitlab = ["CI_API_V4_URL", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID"].map(variable);
    let [Some(api), Some(project), Some(number)] = of_gitlab else { return Ok(None) };
    let notes = format!("{api}/projects/{}/merge_requests/{}/notes", part(&project)?, part(&number)?);
    Ok(Some(Comments { all: notes.clone(), one: notes, change: "PUT", token: "PRIVATE-TOKEN:" }))
}

fn part(text: &str) -> Result<&str, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if text.chars().all(plain) && !text.contains("..") {
        return Ok(text);
    }
    Err(Failure::usage(format!(
        "{text:?} in this job's environment is not the name of a repository, or not a number."
    )))
}

fn pull_request() -> Result<Option<Value>, Failure> {
    let Some(path) = variable("GITHUB_EVENT_PATH") else { return Ok(None) };
    let wrong = |why: String| Failure::usage(format!("{path} ($GITHUB_EVENT_PATH): {why}."));
    let mut text = String::new();
    let file = File::open(&path).map_err(|e| wrong(e.to_string()))?;
    file.take(EVENT_MAX_BYTES).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    let mut event: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    Ok(Some(event["pull_request"].take()).filter(|request| !request.is_null()))
}
