//! What the terminal's view costs the engine: `cargo xtask tui --cost [--pairs N] [--prony PATH]`. Loads with and
//! without it alternate on one CPU, each on a pseudo terminal. Compared are neighbours, by CPU time over requests,
//! which other work moves less than throughput.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use nix::pty::{Winsize, openpty};

use crate::web_cost::{Asked, Cost, print};

const PAIRS: usize = 24;
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

struct Load {
    cost: Cost,
    bytes: usize,
    drawn: bool,
}

/// Asserts nothing but that the view was there: a shared machine moves the rest by more than what it is.
pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let measured = asked.pairs(root, PAIRS, |prony, url, view| {
        let load = one(prony, url, view)?;
        if load.drawn == view {
            return Ok(load);
        }
        Err("the view was not there where it should be, or there where it should not".to_owned())
    })?;
    let bytes = measured.iter().map(|[_, view]| view.bytes).sum::<usize>() / measured.len().max(1);
    println!("{} pairs of loads of 2 s on one CPU, with the view and without it", measured.len());
    print(&measured.iter().map(|pair| pair.each_ref().map(|load| &load.cost)).collect::<Vec<_>>())?;
    println!("{bytes} bytes a load to the terminal");
    Ok(())
}

fn one(prony: &Path, url: &str, view: bool) -> Result<Load, String> {
    let said = |e: &dyn std::fmt::Display| format!("{}: {e}", prony.display());
    let pty = openpty(Some(&SIZE), None).map_err(|e| said(&e))?;
    let result = std::env::temp_dir().join(format!("prony-tui-cost-{}.json", std::process::id()));
    let mut command = Command::new(prony);
    command.args(["load", url, "-c", "20", "-d", "2s", "--warmup", "300ms", "--pin", "0", "--json"]);
    command.arg(&result).env("TERM", "xterm-256color");
    if !view {
        command.arg("-q");
    }
    let end = || pty.slave.try_clone().map(Stdio::from).map_err(|e| said(&e));
    let mut child = command.stdin(end()?).stdout(end()?).stderr(end()?).spawn().map_err(|e| said(&e))?;
    let written = read_all(pty.master);
    // The command holds the terminal's streams too: the reader ends when nobody does.
    drop((command, pty.slave));
    child.wait().map_err(|e| said(&e))?;
    let written = written.join().map_err(|_| "the terminal ended early".to_owned())?;
    let text = fs::read_to_string(&result).map_err(|e| said(&e))?;
    let _ = fs::remove_file(&result);
    let drawn = written.windows(8).any(|bytes| bytes == b"\x1b[?1049h");
    Ok(Load { cost: Cost::of(&text)?, bytes: written.len(), drawn })
}

fn read_all(master: OwnedFd) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut master, mut all, mut some) = (File::from(master), Vec::new(), [0; 8192]);
        while let Ok(n @ 1..) = master.read(&mut some) {
            all.extend_from_slice(&some[..n]);
        }
        all
    })
}
