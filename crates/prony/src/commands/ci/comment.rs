//! `prony ci comment`: what was compared, on the pull request: one comment, written again by each job. It goes through
//! curl: Prony's own engine is made for loads, not for somebody's API behind proxies.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use prony_model::foreign_file;
use prony_model::printable::harmless_lines;
use serde_json::{Value, json};

use super::files::COMMENT;
use super::request::{self, Comments};
use crate::cli::CiCommentArguments;
use crate::commands::sides::{TOKEN, given};
use crate::failure::Failure;
use crate::printer::Printer;

/// Characters of a comment, which GitHub takes 65,536 of.
const COMMENT_MAX: usize = 60_000;
const FILE_MAX_BYTES: u64 = 4 << 20;
/// Comments on a page of the list, and pages that are looked through for the one of before.
const PER_PAGE: usize = 100;
const PAGES_MAX: usize = 30;
/// Of an API's answer: a page of the longest comments.
const ANSWER_MAX_BYTES: u64 = 32 << 20;

pub(super) fn run(arguments: &CiCommentArguments, printer: &Printer) -> Result<(), Failure> {
    let path = Path::new(&arguments.output).join(COMMENT);
    let text = left(&path)
        .map_err(|e| Failure::usage(format!("{}: {e}. `prony ci compare` writes it.", path.display())))?;
    let Some(comments) = request::comments()? else {
        printer.note("This is not a CI job of a pull request or merge request: no comment was made.");
        return Ok(());
    };
    let token = std::env::var(TOKEN).unwrap_or_default();
    if token.is_empty() || token.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Failure::usage(format!(
            "${TOKEN} is not set: set it to a token that may comment on the pull request or merge request."
        )));
    }
    let api = Api { comments, token };
    let mark = mark(given(arguments.name.as_ref()).unwrap_or("prony"));
    let body = body(&mark, &text);
    match api.own(&mark)? {
        Some(id) => {
            api.ask(api.comments.change, &format!("{}/{id}", api.comments.one), Some(&body))?;
            printer.note("The existing comment was updated.");
        }
        None => {
            api.ask("POST", &api.comments.all, Some(&body))?;
            printer.note("A comment was made.");
        }
    }
    Ok(())
}

/// What the job before left, which ran the change's code: it may be a link to what is nobody's to read, or have no end.
fn left(path: &Path) -> io::Result<String> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    Ok(harmless_lines(&foreign_file::read_text(path, FILE_MAX_BYTES)?))
}

/// The first line of a comment of ours, which nobody sees.
fn mark(name: &str) -> String {
    // Two hyphens, or a >, would end the HTML comment.
    let name: String =
        name.chars().map(|c| if "-<>".contains(c) || c.is_control() { '_' } else { c }).collect();
    format!("<!-- prony ci: {name} -->")
}

fn body(mark: &str, text: &str) -> Value {
    let mut body = format!("{mark}\n{text}");
    if let Some((end, _)) = body.char_indices().nth(COMMENT_MAX) {
        body.truncate(end);
        body.push_str("\n\n… The rest is in the files of the job.\n");
    }
    json!({ "body": body })
}

#[derive(Debug)]
struct Api {
    comments: Comments,
    token: String,
}

impl Api {
    /// The comment of before. A stranger can write our first line, too, and change what stands below it later.
    fn own(&self, mark: &str) -> Result<Option<u64>, Failure> {
        for page in 1..=PAGES_MAX {
            let url = format!("{}?per_page={PER_PAGE}&page={page}", self.comments.all);
            let answer = self.ask("GET", &url, None)?;
            let Some(found) = answer.as_array() else {
                return Err(Failure::not_measured(format!("{url} did not answer with a list of comments.")));
            };
            let ours = found.iter().find(|comment| {
                let is_ours = comment["body"].as_str().is_some_and(|body| body.starts_with(mark));
                is_ours && is_trusted(comment)
            });
            if let Some(id) = ours.and_then(|comment| comment["id"].as_u64()) {
                return Ok(Some(id));
            }
            if found.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }

    fn ask(&self, method: &str, url: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let wrong = |why: &str| Failure::not_measured(format!("{method} {url}: {why}"));
        let io = |e: io::Error| wrong(&format!("curl: {e}."));
        let mut lines = vec![
            ("url", url.to_owned()),
            ("request", method.to_owned()),
            ("header", format!("{} {}", self.comments.token, self.token)),
            ("header", "Accept: application/json".to_owned()),
            ("header", "Content-Type: application/json".to_owned()),
            ("user-agent", "prony".to_owned()),
            ("max-time", "60".to_owned()),
            ("write-out", "\n%{http_code}".to_owned()),
        ];
        let mut file = tempfile::NamedTempFile::new().map_err(io)?;
        if let Some(body) = body {
            file.write_all(body.to_string().as_bytes()).map_err(io)?;
            lines.push(("data-binary", format!("@{}", file.path().display())));
        }
        // The token is in no command line, which other users see.
        let config: String =
            lines.iter().map(|(name, value)| format!("{name} = {}\n", quoted(value))).collect();
        let mut curl = Command::new("curl")
            .args(["--disable", "--silent", "--show-error", "--config", "-"])
            .env_remove(TOKEN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io)?;
        if let Some(mut stdin) = curl.stdin.take() {
            stdin.write_all(config.as_bytes()).map_err(io)?;
        }
        let mut answer = Vec::new();
        if let Some(stdout) = curl.stdout.take() {
            stdout.take(ANSWER_MAX_BYTES).read_to_end(&mut answer).map_err(io)?;
        }
        let ended = curl.wait_with_output().map_err(io)?;
        if !ended.status.success() {
            return Err(wrong(String::from_utf8_lossy(&ended.stderr).trim()));
        }
        let answer = String::from_utf8_lossy(&answer);
        let (text, status) = answer.rsplit_once('\n').ok_or_else(|| wrong("curl printed no status."))?;
        if !status.starts_with('2') {
            let said: String = text.chars().take(300).collect();
            let advice = if matches!(status, "401" | "403" | "404") {
                " The token may not comment on it: on GitHub a job needs `pull-requests: write`, which pull requests from \
                 forks do not get."
            } else {
                ""
            };
            return Err(wrong(&format!("status {status}: {}.{advice}", said.trim())));
        }
        serde_json::from_str(text).map_err(|e| wrong(&format!("the response is not JSON: {e}.")))
    }
}

/// Whether a comment is by somebody who may write to the repository anyway, or by a program. (GitLab's say nothing of it,
/// and only their author can change them by its interface.)
fn is_trusted(comment: &Value) -> bool {
    let by = comment["author_association"].as_str();
    comment["user"]["type"] == "Bot" || by.is_none_or(|by| matches!(by, "OWNER" | "MEMBER" | "COLLABORATOR"))
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_comparison_is_cut_and_says_so() {
        let mark = mark("a --> b\n<x");
        assert_eq!(mark, "<!-- prony ci: a ___ b__x -->");
        let short = body(&mark, "# ä");
        assert_eq!(short["body"], format!("{mark}\n# ä"));
        let long = body(&mark, &"ä".repeat(COMMENT_MAX));
        let text = long["body"].as_str().unwrap();
        assert!(text.starts_with(&mark) && text.ends_with("in the files of the job.\n"));
        assert!(text.chars().count() < 65_536);
    }

    #[test]
    fn a_comment_of_a_stranger_with_our_first_line_is_not_ours() {
        let by = |kind: &str, association: &str| {
            is_trusted(&json!({ "user": { "type": kind }, "author_association": association }))
        };
        assert!(by("Bot", "NONE") && by("User", "MEMBER") && by("User", "OWNER"));
        assert!(!by("User", "NONE") && !by("User", "CONTRIBUTOR") && !by("User", "FIRST_TIMER"));
    }
}
