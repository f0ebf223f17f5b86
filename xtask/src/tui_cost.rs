//! What the terminal's view costs the engine: `cargo xtask tui --cost [--pairs N] [--prony PATH]`. Loads with and
//! without it alternate on one CPU, each on a pseudo terminal of script(1). Compared are neighbours, by CPU time over requests,
//! which other work moves less than throughput.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::web_cost::{Asked, Cost, print};
use crate::{files, programs};

const PAIRS: usize = 24;

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
    let folder = std::env::temp_dir();
    let at = |what: &str| folder.join(format!("prony-tui-cost-{}.{what}", std::process::id()));
    let (result, terminal) = (at("json"), at("terminal"));
    let line = format!(
        "stty rows 40 cols 120; exec '{}' load {url} -c 20 -d 2s --warmup 300ms --pin 0 --json '{}' {}",
        prony.display(),
        result.display(),
        if view { "" } else { "-q" }
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line]).arg(&terminal).env("TERM", "xterm-256color");
    programs::text(&mut script)?;
    let (text, written) = (files::read(&result)?, fs::read(&terminal).map_err(files::at(&terminal))?);
    [result, terminal].iter().for_each(|path| drop(fs::remove_file(path)));
    let drawn = written.windows(8).any(|bytes| bytes == b"\x1b[?1049h");
    Ok(Load { cost: Cost::of(&text)?, bytes: written.len(), drawn })
}
