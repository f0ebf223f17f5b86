//! Commands of others, with a bound on time and on what they print.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use prony_host::process;
use prony_model::secret::redacted;

/// A command's end is looked for this often: it takes seconds, and nothing is measured meanwhile.
const POLL: Duration = Duration::from_millis(10);
const CAPTURED_BYTES_MAX: u64 = 4 << 10;
/// As much of a log as is looked at for its last lines.
const TAIL_BYTES: u64 = 16 << 10;

/// What a short command printed.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether it ended, by itself and with 0.
    pub(crate) success: bool,
    /// Its exit code, if it ended by itself.
    pub(crate) code: Option<i32>,
}

/// Runs a short command; `None` if it cannot be started or does not end in time.
pub(crate) fn capture(
    argv: &[String],
    cwd: &Path,
    env: &[(String, String)],
    timeout: Duration,
) -> Option<Captured> {
    let (program, arguments) = argv.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(cwd).envs(env.iter().cloned());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let deadline = Instant::now() + timeout;
    let status = wait(&mut child, deadline)?;
    // A grandchild may hold the pipe for longer than its parent lives: the reader is left to it.
    let rest = || deadline.saturating_duration_since(Instant::now()).max(POLL);
    Some(Captured {
        stdout: stdout.recv_timeout(rest()).unwrap_or_default(),
        stderr: stderr.recv_timeout(rest()).unwrap_or_default(),
        success: status.success(),
        code: status.code(),
    })
}

/// Reads the beginning and drops the rest, so that the writer is not held up.
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

/// One command of an installation.
pub(crate) struct Run<'a> {
    /// What errors call it; the log has the whole command.
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: &'a Path,
    pub(crate) env: Vec<(String, String)>,
    /// Everything it prints is appended here.
    pub(crate) log: &'a Path,
    pub(crate) timeout: Duration,
}

impl Run<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// A sentence with the command, and the last lines it printed.
    pub(crate) fn run(&self) -> Result<(), String> {
        let line = &self.name;
        let log_error = |e: std::io::Error| format!("The log {} cannot be written: {e}.", self.log.display());
        if let Some(parent) = self.log.parent() {
            fs::create_dir_all(parent).map_err(log_error)?;
        }
        let mut log = OpenOptions::new().create(true).append(true).open(self.log).map_err(log_error)?;
        writeln!(log, "$ {}", self.argv.join(" ")).map_err(log_error)?;
        let begins = log.metadata().map_or(0, |m| m.len());
        let (program, arguments) = self.argv.split_first().ok_or("An empty command.")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.cwd)
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(log_error)?)
            .stderr(log.try_clone().map_err(log_error)?)
            .spawn()
            .map_err(|e| format!("`{line}` cannot be started: {e}."))?;
        let why = match wait(&mut child, Instant::now() + self.timeout) {
            Some(status) if status.success() => return Ok(()),
            Some(status) => format!("`{line}` failed ({status})"),
            None => format!("`{line}` did not end within {} s", self.timeout.as_secs()),
        };
        let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect();
        let tail: String =
            last_lines(self.log, begins, 8, plain).iter().map(|line| format!("\n{line}")).collect();
        Err(format!("{why}; the whole output is in {}:{tail}", self.log.display()))
    }
}

/// Waits until the deadline, then ends the child and all that it started.
fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let descendants = process::descendants(child.id());
            let _ = child.kill();
            for process in descendants {
                process.identity().kill();
            }
            let _ = child.wait();
            return None;
        }
        thread::sleep(POLL);
    }
}

/// The last lines of a log from `begins` on that are not blank, each without secrets and `shown` so; none where it cannot
/// be read.
pub(crate) fn last_lines(
    log: &Path,
    begins: u64,
    lines_max: usize,
    shown: impl Fn(&str) -> String,
) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES).max(begins)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
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
    fn a_failed_command_shows_its_last_lines_and_not_those_of_the_one_before() {
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

    #[test]
    fn captured_output_is_bounded_in_bytes_and_time() {
        let many = capture(&sh("head -c 100000 /dev/zero; echo e >&2"), Path::new("/"), &[], PATIENCE);
        let many = many.unwrap();
        assert_eq!((many.stdout.len(), &many.stderr[..], many.success), (4096, &b"e\n"[..], true));
        assert!(capture(&sh("sleep 600"), Path::new("/"), &[], Duration::from_millis(50)).is_none());
        assert!(capture(&["/no/such".to_owned()], Path::new("/"), &[], PATIENCE).is_none());
    }
}
