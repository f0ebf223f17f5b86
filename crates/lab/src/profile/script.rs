//! What `perf script` prints, folded: how many samples of a window had each stack. Its text has names from other
//! people's programs, so nothing in it is believed, and memory is bounded however long it is.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::ops::Range;

use prony_model::printable::harmless;
use prony_model::profile::{DEPTH_MAX, FRAMES_MAX, NAME_MAX_BYTES, Profile, STACKS_MAX};
use prony_model::secret::redacted;

/// Fields of a sample, as [`fold`] reads them.
pub(super) const FIELDS: &str = "time,period,event,ip,sym,dso";
/// Bytes of a line that are looked at: what is longer is cut.
const LINE_MAX: u64 = 64 << 10;
const SHOWN: usize = 120;
const UNKNOWN: &str = "[unknown]";
const OTHERS: &str = "[others]";

/// Samples between two instants of CLOCK_MONOTONIC, as the part of a profile that they are.
pub fn fold(text: impl BufRead, window: Range<u64>) -> Result<Profile, String> {
    let mut folding = Folding::default();
    let mut lines = Lines { text, line: Vec::new() };
    let mut number = 0_u64;
    while lines.next().map_err(|why| format!("What `perf script` prints could not be read: {why}."))? {
        number += 1;
        let line = String::from_utf8_lossy(&lines.line);
        let read = match line.trim_end() {
            "" => {
                folding.end_sample();
                Some(())
            }
            frame if frame.starts_with('\t') => folding.frame(frame),
            sample => folding.sample(sample, &window),
        };
        read.ok_or_else(|| {
            let shown: String = line.trim().chars().take(SHOWN).collect();
            format!("Line {number} of what `perf script` prints is no sample: {}.", harmless(&shown))
        })?;
    }
    folding.end_sample();
    Ok(folding.profile())
}

struct Lines<R> {
    text: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Whether there is another line, then in `line` as far as it is looked at.
    fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        let read = self.text.by_ref().take(LINE_MAX).read_until(b'\n', &mut self.line)?;
        if read as u64 == LINE_MAX && self.line.last() != Some(&b'\n') {
            self.text.skip_until(b'\n')?;
        }
        Ok(read > 0)
    }
}

#[derive(Default)]
struct Folding {
    names: HashMap<String, u32>,
    stacks: HashMap<Vec<u32>, u32>,
    event: String,
    samples: u64,
    cpu_ns: u64,
    /// The functions of the sample that is read, the innermost first; `None` between samples, and of one that was not taken
    /// in the window.
    sample: Option<Vec<u32>>,
}

impl Folding {
    /// `664.038137148:    1003009 cpu-clock:`; what has no callers has its function on the same line.
    fn sample(&mut self, line: &str, window: &Range<u64>) -> Option<()> {
        self.end_sample();
        let (time, rest) = line.split_once(':')?;
        let (seconds, fraction) = time.trim().split_once('.')?;
        let fraction = (fraction.len() == 9).then_some(fraction)?;
        let ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
        let ns = ns.checked_add(fraction.parse().ok()?)?;
        let (period, rest) = rest.trim_start().split_once(' ')?;
        let (event, rest) =
            rest.trim_start().split_once(": ").or(rest.trim_start().strip_suffix(':').map(|e| (e, "")))?;
        if window.contains(&ns) {
            self.cpu_ns = self.cpu_ns.saturating_add(period.parse().ok()?);
            self.samples += 1;
            self.event = event.chars().take(64).collect();
            self.sample = Some(Vec::new());
            if !rest.trim().is_empty() {
                self.frame(rest)?;
            }
        }
        Some(())
    }

    /// `\t    7f3a5b6d47d7 py::burn:/app/server.py (/tmp/perf-21581.map)`.
    fn frame(&mut self, line: &str) -> Option<()> {
        let (address, rest) = line.trim().split_once(' ')?;
        u64::from_str_radix(address, 16).ok()?;
        // The names of C++ have brackets and spaces, and a path may be `(deleted)`.
        let cut = rest.rfind(" (/").or_else(|| rest.rfind(" ([")).or_else(|| rest.rfind(" ("))?;
        let file = rest[cut + 2..].trim_end_matches(')');
        if self.sample.is_none() {
            return Some(());
        }
        let id = self.id(name(rest[..cut].trim(), file));
        let unknown = self.names.get(UNKNOWN) == Some(&id);
        let stack = self.sample.as_mut()?;
        // What cannot be followed is one gap, however many addresses are in it.
        if stack.len() < DEPTH_MAX && !(unknown && stack.last() == Some(&id)) {
            stack.push(id);
        }
        Some(())
    }

    fn end_sample(&mut self) {
        let Some(mut stack) = self.sample.take() else { return };
        if stack.is_empty() {
            stack.push(self.id(UNKNOWN.to_owned()));
        }
        stack.reverse();
        if self.stacks.len() + 1 >= STACKS_MAX && !self.stacks.contains_key(&stack) {
            stack = vec![self.id(OTHERS.to_owned())];
        }
        let count = self.stacks.entry(stack).or_default();
        *count = count.saturating_add(1);
    }

    /// A name's number. There is room for both of Prony's own.
    fn id(&mut self, name: String) -> u32 {
        let own = [UNKNOWN, OTHERS].contains(&name.as_str());
        let known = self.names.contains_key(&name);
        let name =
            if self.names.len() + 2 >= FRAMES_MAX && !known && !own { OTHERS.to_owned() } else { name };
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.names.entry(name).or_insert(next)
    }

    fn profile(self) -> Profile {
        let mut frames = vec![String::new(); self.names.len()];
        self.names.into_iter().for_each(|(name, id)| frames[id as usize] = name);
        let counted = self.stacks.into_iter().map(|(stack, count)| [vec![count], stack].concat());
        let mut stacks: Vec<Vec<u32>> = counted.collect();
        stacks.sort_by(|a, b| a[1..].cmp(&b[1..]));
        let (event, samples, cpu_ns) = (self.event, self.samples, self.cpu_ns);
        Profile { event, samples, cpu_ns, frames, stacks, ..Profile::default() }
    }
}

/// A function as it is shown: alike in two builds of a program, wherever they lie.
fn name(symbol: &str, file: &str) -> String {
    let in_kernel = file.starts_with("[kernel") || file.starts_with("[guest");
    let name = match symbol {
        UNKNOWN if in_kernel => "[kernel]".to_owned(),
        UNKNOWN if file.starts_with('/') && !file.starts_with("/tmp/perf-") => {
            format!("[{}]", last_part(file))
        }
        UNKNOWN | "" => UNKNOWN.to_owned(),
        known if in_kernel => format!("{known} [kernel]"),
        known => of_interpreter(known).unwrap_or_else(|| without_suffix(known).to_owned()),
    };
    let mut name = redacted(&harmless(&name));
    while name.len() > NAME_MAX_BYTES {
        name.pop();
    }
    name
}

/// `py::burn:/app/server.py` of Python and `JS:*burn /app/server.js:3:14` of Node are `burn (server.py)`: lines move between
/// commits, and a function of Node is compiled several times.
fn of_interpreter(symbol: &str) -> Option<String> {
    if let Some((function, path)) = symbol.strip_prefix("py::").and_then(|rest| rest.rsplit_once(':')) {
        return Some(format!("{function} ({})", last_part(path)));
    }
    let of_node = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    let rest = of_node
        .iter()
        .find_map(|kind| symbol.strip_prefix(kind))?
        .trim_start_matches(['*', '~', '^', '+', '\'']);
    let (function, place) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let path = place.split(':').rev().find(|part| part.parse::<u32>().is_err())?;
    let function = if function.is_empty() { "(anonymous)" } else { function };
    Some(format!("{function} ({})", last_part(path)))
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Without what a compiler puts behind a name, which may differ from build to build: `burn.constprop.0`.
fn without_suffix(symbol: &str) -> &str {
    let suffixes = [".constprop.", ".isra.", ".part.", ".llvm.", ".cold"];
    let cut = suffixes.iter().filter_map(|suffix| symbol.find(suffix)).min().filter(|at| *at > 0);
    &symbol[..cut.unwrap_or(symbol.len())]
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
