//! A child process: its standard input, what it says last, and its end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use prony_model::printable::harmless;

const END_TIMEOUT: Duration = Duration::from_secs(2);
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(5);
pub(crate) const LINE_MAX_BYTES: u64 = 4096;

/// A process that ends with its standard input; it is ended when this is dropped.
pub struct ChildHandle {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    said: Arc<Mutex<Said>>,
    listens: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Said {
    last_line: String,
    tunnel_port: Option<u16>,
}

impl ChildHandle {
    pub(crate) fn start(mut command: Command) -> io::Result<(ChildHandle, Option<ChildStdout>)> {
        let mut child = command.spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let said = Arc::<Mutex<Said>>::default();
        let keeps = Arc::clone(&said);
        let listens = errors.map(|errors| thread::spawn(move || listen(errors, &keeps)));
        Ok((ChildHandle { child, input, said, listens }, output))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or_else(|| io::Error::other("it has no standard input"))?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush())
    }

    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// The port on its host that ssh says a tunnel was given.
    pub(crate) fn tunnel_port(&self) -> Option<u16> {
        locked(&self.said).tunnel_port
    }

    /// Its last words on standard error, safe to show: all, of one that has ended, unless somebody else holds the pipe.
    pub(crate) fn last_words(&mut self) -> String {
        let hears = |handle: &mut ChildHandle| {
            !handle.is_running() && handle.listens.as_ref().is_some_and(|thread| !thread.is_finished())
        };
        let began = Instant::now();
        while hears(self) && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        harmless(&locked(&self.said).last_line).trim().trim_end_matches('.').to_owned()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits a moment for its end, and ends it where it does not: it may be stopped, or cut off.
    pub(crate) fn end(&mut self) {
        self.input = None;
        let began = Instant::now();
        while self.is_running() && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        self.kill();
    }
}

impl Drop for ChildHandle {
    fn drop(&mut self) {
        self.end();
    }
}

fn locked(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(errors: ChildStderr, said: &Mutex<Said>) {
    let mut errors = BufReader::new(errors);
    while let Some(line) = next_line(&mut errors) {
        match tunnel_port(&line) {
            Some(port) => locked(said).tunnel_port = Some(port),
            None if line.is_empty() => {}
            None => locked(said).last_line = line,
        }
    }
}

/// The next line, or what of it is within the bound; `None` at the end.
pub(crate) fn next_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = from.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line);
    matches!(read, Ok(1..)).then(|| String::from_utf8_lossy(&line).trim().to_owned())
}

/// `Allocated port 40001 for remote forward to 127.0.0.1:4222`.
fn tunnel_port(line: &str) -> Option<u16> {
    let port = line.strip_prefix("Allocated port ")?.split_whitespace().next()?;
    port.parse().ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_tunnel_is_read_from_what_ssh_says() {
        assert_eq!(tunnel_port("Allocated port 40001 for remote forward to 127.0.0.1:4222"), Some(40_001));
        for other in ["Allocated port x for", "Allocated port 0 for", "Warning: Permanently added", ""] {
            assert_eq!(tunnel_port(other), None);
        }
    }
}
