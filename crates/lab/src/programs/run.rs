//! Commands of others, with a bound on time and on what they print.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use prony_host::process;
use prony_model::secret::{redacted, redacted_command};

use super::environment;

/// A command's end is looked for this often: it takes seconds, and nothing is measured meanwhile.
const POLL: Duration = Duration::from_millis(10);
const CAPTURED_BYTES_MAX: u64 = 4 << 10;
const TAIL_BYTES: u64 = 16 << 10;

/// Ends a command that Prony may not end itself, since it is another user's, and the exit codes by which it says so: of
/// one that ended when it was told to, and of one that had to be killed.
pub(crate) const TIMEOUT: &str = "/usr/bin/timeout";
const TIMED_OUT: [i32; 2] = [124, 137];

static ENDED: AtomicBool = AtomicBool::new(false);

/// Ends what [`Run::run`] waits for, now and ever after.
pub(crate) fn end_runs() {
    ENDED.store(true, Ordering::Relaxed);
}

#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether it ended, by itself and with 0.
    pub(crate) success: bool,
    pub(crate) code: Option<i32>,
}

/// Runs a short command; `None` if it does not start or end in time. An empty `env`: Prony's own without `@env:`'s.
pub(crate) fn capture(
    argv: &[String],
    cwd: &Path,
    env: &[(String, String)],
    timeout: Duration,
) -> Option<Captured> {
    let (program, arguments) = argv.split_first()?;
    let env = if env.is_empty() { environment::own() } else { env.to_vec() };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(cwd).env_clear().envs(env);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let deadline = Instant::now() + timeout;
    let status = wait(&mut child, deadline, || false)?;
    // A grandchild may hold the pipe for longer than its parent lives: the reader is left to it.
    let rest = || deadline.saturating_duration_since(Instant::now()).max(POLL);
    Some(Captured {
        stdout: stdout.recv_timeout(rest()).unwrap_or_default(),
        stderr: stderr.recv_timeout(rest()).unwrap_or_default(),
        success: status.success(),
        code: status.code(),
    })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(CAPTURED_BYTES_MAX).read_to_end(&mut bytes);
            let _ = send.send(bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
    });
    receive
}

pub(crate) struct Run<'a> {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: &'a Path,
    /// What it finds in its environment beside what builds may see.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) log: &'a Path,
    pub(crate) timeout: Duration,
}

impl Run<'_> {
    pub(crate) fn run(&self) -> Result<(), String> {
        self.run_unless(|| ENDED.load(Ordering::Relaxed))
    }

    pub(crate) fn run_unless(&self, over: impl Fn() -> bool) -> Result<(), String> {
        let line = &self.name;
        let log_error = |e: std::io::Error| format!("The log {} cannot be written: {e}.", self.log.display());
        if let Some(parent) = self.log.parent() {
            fs::create_dir_all(parent).map_err(log_error)?;
        }
        // Root would write where a link of the folder's owner leads.
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(self.log)
            .map_err(log_error)?;
        writeln!(log, "$ {}", self.argv.join(" ")).map_err(log_error)?;
        let begins = log.metadata().map_or(0, |m| m.len());
        let (program, arguments) = self.argv.split_first().ok_or("An empty command.")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.cwd)
            .env_clear()
            .envs(environment::of_builds())
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(log_error)?)
            .stderr(log.try_clone().map_err(log_error)?)
            .spawn()
            .map_err(|e| format!("`{line}` cannot be started: {e}."))?;
        let too_long = || format!("`{line}` did not end within {} s", self.timeout.as_secs());
        let by_timeout = self.argv.iter().any(|word| word == TIMEOUT);
        let why = match wait(&mut child, Instant::now() + self.timeout, &over) {
            Some(status) if status.success() => return Ok(()),
            Some(status) if by_timeout && status.code().is_some_and(|c| TIMED_OUT.contains(&c)) => too_long(),
            Some(status) => format!("`{line}` failed ({status})"),
            None if over() => format!("`{line}` was interrupted"),
            None => too_long(),
        };
        let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect();
        let tail: String =
            last_lines(self.log, begins, 8, plain).iter().map(|line| format!("\n{line}")).collect();
        Err(format!("{why}; the whole output is in {}:{tail}", self.log.display()))
    }
}

/// Waits until the deadline or until it is `over`, then ends the child and all that it started, as far as it may.
fn wait(child: &mut Child, deadline: Instant, over: impl Fn() -> bool) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline || over() {
            let descendants = process::descendants(child.id());
            let killed = child.kill();
            for process in descendants {
                process.identity().kill();
            }
            // What is another user's may not be killed, and would be waited for without end.
            if killed.is_ok() {
                let _ = child.wait();
            }
            return None;
        }
        thread::sleep(POLL);
    }
}

/// The last lines of a log from `begins` on that are not blank, without secrets, `shown` so; none if unreadable.
pub(crate) fn last_lines(
    log: &Path,
    begins: u64,
    lines_max: usize,
    shown: impl Fn(&str) -> String,
) -> Vec<String> {
    let read = || -> std::io::Result<(Vec<u8>, bool)> {
        let mut file = fs::File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(from.max(begins)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok((bytes, from > begins))
    };
    let (bytes, is_cut) = read().unwrap_or_default();
    // A secret may have several lines, and the first line may begin within one.
    let text = redacted_command(&String::from_utf8_lossy(&bytes));
    let text = text.split_once('\n').filter(|_| is_cut).map_or(&*text, |(_, whole)| whole);
    let is_blank = |line: &str| line.trim().is_empty();
    let lines = text.lines().filter(|line| !is_blank(line)).map(|line| shown(&redacted(line)));
    let lines: Vec<String> = lines.filter(|line| !is_blank(line)).collect();
    lines[lines.len().saturating_sub(lines_max)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::testing::PATIENCE;

    fn sh(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(String::from).into()
    }

    #[test]
    fn a_failed_command_shows_its_own_last_lines_only() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("a/install.log");
        let run = |script: &str, timeout| {
            Run {
                name: script.to_owned(),
                argv: sh(script),
                cwd: dir.path(),
                env: vec![],
                log: &log,
                timeout,
            }
            .run()
        };
        run("echo before", PATIENCE).unwrap();
        let error = run("echo out; echo err >&2; exit 3", PATIENCE).unwrap_err();
        assert!(
            error.starts_with("`echo out;")
                && error.contains("(exit status: 3)")
                && error.ends_with(":\nout\nerr"),
            "{error}"
        );
        let error = run("sleep 600 & sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("did not end within 0 s"), "{error}");
        let whole = fs::read_to_string(&log).unwrap();
        assert!(whole.starts_with("$ sh -c echo before\nbefore\n"), "{whole}");
    }

    fn quiet(argv: Vec<String>, log: &Path) -> Run<'_> {
        Run { name: "it".to_owned(), argv, cwd: Path::new("/"), env: vec![], log, timeout: PATIENCE }
    }

    #[test]
    fn a_command_ends_when_it_is_over_and_with_it_what_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let started = dir.path().join("started");
        let script = format!("sleep 600 & echo $! >{0}.new; mv {0}.new {0}; wait", started.display());
        let over = || started.exists();
        let error = quiet(sh(&script), &dir.path().join("log")).run_unless(over).unwrap_err();
        assert!(error.starts_with("`it` was interrupted; "), "{error}");
        let sleeper: u32 = fs::read_to_string(&started).unwrap().trim().parse().unwrap();
        let has_ended = || process::stat(sleeper).is_none_or(|process| process.is_zombie);
        prony_host::testing::wait_until("its end", has_ended);
    }

    #[test]
    fn a_command_ended_by_timeout_says_that_it_took_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let argv = [TIMEOUT, "--kill-after=1", "0.05", "sleep", "600"].map(String::from).to_vec();
        let error = quiet(argv, &dir.path().join("log")).run().unwrap_err();
        assert!(error.contains("`it` did not end within"), "{error}");
    }

    #[test]
    fn a_link_in_place_of_the_log_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (log, precious) = (dir.path().join("log"), dir.path().join("precious"));
        fs::write(&precious, "whole").unwrap();
        std::os::unix::fs::symlink(&precious, &log).unwrap();
        let error = quiet(sh("true"), &log).run().unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "whole");
    }

    #[test]
    fn a_build_sees_what_builds_may_see_and_what_it_is_given() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("install.log");
        let env = vec![("GIVEN".to_owned(), "value".to_owned())];
        let (name, argv) = ("env".to_owned(), vec!["/usr/bin/env".to_owned()]);
        Run { name, argv, cwd: dir.path(), env, log: &log, timeout: PATIENCE }.run().unwrap();
        let text = fs::read_to_string(&log).unwrap();
        let lines = text.lines().skip(1);
        let mut seen: Vec<&str> = lines.filter_map(|line| Some(line.split_once('=')?.0)).collect();
        let allowed = environment::of_builds();
        let mut expected: Vec<&str> = allowed.keys().map(String::as_str).chain(["GIVEN"]).collect();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected);
        // What every test process has of cargo, and no build may see.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !text.contains("CARGO_MANIFEST_DIR"));
    }

    #[test]
    fn a_captured_command_has_only_the_environment_it_is_given() {
        let env = [("GIVEN".to_owned(), "value".to_owned())];
        let argv = ["/usr/bin/env".to_owned()];
        let said = capture(&argv, Path::new("/"), &env, PATIENCE).unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "GIVEN=value\n");
        // What every test process has of cargo, and none needs.
        let seen =
            || String::from_utf8(capture(&argv, Path::new("/"), &[], PATIENCE).unwrap().stdout).unwrap();
        let variable = "CARGO_PKG_VERSION_MINOR=";
        assert!(seen().contains(variable));
        prony_model::secret::text_or_variable("-b", "@env:CARGO_PKG_VERSION_MINOR").unwrap();
        assert!(!seen().contains(variable), "it was asked for as a secret");
    }

    #[test]
    fn a_secret_of_several_lines_or_a_cut_one_is_in_no_last_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        prony_model::Secret::of_header("X-Key", "first-line\nother-line").unwrap();
        let end = "\nbegin\nfirst-line\nother-line\nend\n";
        let long = "other-line".repeat(usize::try_from(TAIL_BYTES).unwrap() / 10);
        fs::write(&log, long + end).unwrap();
        let lines = last_lines(&log, 0, 9, str::to_owned);
        assert_eq!(lines, ["begin", "[redacted]", "end"]);
    }

    #[test]
    fn captured_output_is_bounded_in_bytes_and_time() {
        let many = capture(&sh("head -c 100000 /dev/zero; echo e >&2"), Path::new("/"), &[], PATIENCE);
        let many = many.unwrap();
        assert_eq!((many.stdout.len(), &many.stderr[..], many.success), (4096, &b"e\n"[..], true));
        assert!(capture(&sh("sleep 600"), Path::new("/"), &[], Duration::from_millis(50)).is_none());
        assert!(capture(&["/no/such".to_owned()], Path::new("/"), &[], PATIENCE).is_none());
    }
}
