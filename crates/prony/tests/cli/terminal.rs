//! A terminal for tests: a pseudo terminal with a command on it, and what it shows.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{OpenptyResult, openpty};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::world::{BINARY, PATIENCE, World};

/// Takes the alternate screen.
pub const ENTER: &str = "\x1b[?1049h";
/// Leaves it.
pub const LEAVE: &str = "\x1b[?1049l";

/// A pseudo terminal with a command on it, which has it as its controlling terminal.
pub struct OnTerminal {
    pub child: Child,
    pub master: File,
    /// Kept open, so that the mode can be looked at when the command is gone.
    slave: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

pub fn winsize(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}

impl OnTerminal {
    pub fn start(
        world: &World,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> OnTerminal {
        let OpenptyResult { master, slave } = openpty(None, None).unwrap();
        let (master, slave) = (File::from(master), File::from(slave));
        tcsetwinsize(&master, winsize(columns, rows)).unwrap();
        // setsid gives the command the terminal as its own, as a login does.
        let mut command = Command::new("setsid");
        command.args(["--ctty", BINARY]).args(arguments).current_dir(world.path("."));
        command.env(prony_host::bench_lock::VARIABLE, world.path("turn"));
        command.env(prony_host::state::VARIABLE, world.path("state"));
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.envs(environment.iter().copied());
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, sink) = (master.try_clone().unwrap(), Arc::clone(&seen));
        thread::spawn(move || {
            let mut some = [0; 4096];
            // It ends with an error when nobody has the other side open.
            while let Ok(n @ 1..) = reader.read(&mut some) {
                sink.lock().unwrap().extend_from_slice(&some[..n]);
            }
        });
        OnTerminal { child, master, slave, seen }
    }

    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub fn wait_for(&self, what: &str, whether: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !whether(&self.seen()) {
            assert!(Instant::now() < until, "waited for {what}: {:?}", self.seen());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn type_in(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Waits for the end; the code, and all that was shown.
    pub fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mode = tcgetattr(&self.slave).unwrap().local_modes;
        assert!(mode.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{mode:?}");
        // What was written before the end may still be on its way: a mark of our own comes after it.
        self.slave.write_all(b"<end>").unwrap();
        self.wait_for("the mark", |seen| seen.ends_with("<end>"));
        (status.code(), self.seen())
    }
}

/// The alternate screen after each frame, as a terminal shows it that knows the few codes the view writes.
pub fn frames(seen: &str) -> Vec<String> {
    let Some((_, view)) = seen.split_once(ENTER) else { return Vec::new() };
    let view = view.split_once(LEAVE).map_or(view, |(view, _)| view);
    let (mut cells, mut frames) = (vec![vec![' '; 200]; 60], Vec::new());
    let (mut row, mut column) = (0, 0);
    let mut rest = view.chars();
    while let Some(character) = rest.next() {
        if character != '\x1b' {
            cells[row][column] = character;
            column += 1;
            continue;
        }
        // The last code may still be on its way.
        let Some(bracket) = rest.next() else { break };
        assert_eq!(bracket, '[', "a code that this terminal does not know");
        let all = rest.as_str();
        let Some(length) = all.find(|c: char| c.is_ascii_alphabetic()) else { break };
        let (numbers, code) = (&all[..length], &all[length..=length]);
        rest = all[length + 1..].chars();
        match (numbers, code) {
            (_, "m") | ("?25" | "?2026", "h") | ("?25", "l") => {}
            ("?2026", "l") => {
                let lines = cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned());
                frames.push(lines.collect::<Vec<_>>().join("\n"));
            }
            ("2", "J") => cells.iter_mut().for_each(|line| line.fill(' ')),
            (at, "H") => {
                let (y, x) = at.split_once(';').unwrap();
                (row, column) = (y.parse::<usize>().unwrap() - 1, x.parse::<usize>().unwrap() - 1);
            }
            other => panic!("a code that this terminal does not know: {other:?}"),
        }
    }
    frames
}
