//! Where a server's CPU time went in one trial under `perf record`: a record of its own, of which no figure is made,
//! since a server that is sampled is slower.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{few, numbers};

/// Different stacks of a profile, functions in them, and functions on one (perf walks 127, and the kernel's besides).
pub const STACKS_MAX: usize = 20_000;
pub const FRAMES_MAX: usize = 20_000;
pub const DEPTH_MAX: usize = 256;
/// Bytes of a function's name: those of templates may have thousands.
pub const NAME_MAX_BYTES: usize = 256;

/// A trial under `perf record`. It counts for no figure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The candidate's label.
    pub candidate: String,
    /// The plan's name.
    pub plan: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// What was sampled: `cpu-clock`; with `:u`, without the kernel's part.
    pub event: String,
    /// How callers were found: `dwarf` or `fp` (frame pointers).
    pub unwinding: String,
    /// The window's length.
    pub window_ns: u64,
    /// Requests completed in it.
    pub requests: u64,
    /// Samples taken in it.
    pub samples: u64,
    /// The CPU time that they stand for.
    pub cpu_ns: u64,
    /// The functions.
    pub frames: Vec<String>,
    /// Each stack: how many samples had it, then indices of functions, the outermost first.
    pub stacks: Vec<Vec<u32>>,
}

impl Profile {
    /// Whether it can be one that Prony wrote; in a sentence where it cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        few("functions", self.frames.len(), FRAMES_MAX)?;
        few("stacks", self.stacks.len(), STACKS_MAX)?;
        let longest = self.frames.iter().map(String::len).max().unwrap_or(0);
        few("bytes in the name of a function", longest, NAME_MAX_BYTES)?;
        numbers([self.window_ns, self.requests, self.samples, self.cpu_ns])?;
        let mut counted = 0;
        for stack in &self.stacks {
            few("functions on a stack", stack.len().saturating_sub(1), DEPTH_MAX)?;
            let (count, functions) = stack.split_first().ok_or("a stack in it has no count")?;
            if functions.iter().any(|at| *at as usize >= self.frames.len()) {
                return Err("a stack in it has a function that it does not name".to_owned());
            }
            counted += u64::from(*count);
        }
        if counted != self.samples || self.requests == 0 || self.samples == 0 {
            return Err(format!(
                "it has {} samples, {counted} of them in stacks, of {} requests",
                self.samples, self.requests
            ));
        }
        Ok(())
    }

    pub fn counted(&self) -> impl Iterator<Item = (u64, Vec<&str>)> {
        let name = |at: &u32| self.frames.get(*at as usize).map_or("", String::as_str);
        self.stacks.iter().filter_map(move |stack| {
            let (count, functions) = stack.split_first()?;
            Some((u64::from(*count), functions.iter().map(name).collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile {
            requests: 4,
            samples: 3,
            cpu_ns: 12,
            frames: vec!["main".to_owned(), "burn".to_owned()],
            stacks: vec![vec![2, 0, 1], vec![1, 0]],
            ..Profile::default()
        }
    }

    #[test]
    fn what_no_profile_can_have_is_refused() {
        assert_eq!(profile().check(), Ok(()));
        assert_eq!(profile().counted().next(), Some((2, vec!["main", "burn"])));
        let refused = |change: fn(&mut Profile)| {
            let mut of = profile();
            change(&mut of);
            of.check().unwrap_err()
        };
        assert!(refused(|p| p.samples = 4).contains("3 of them in stacks"));
        assert!(refused(|p| p.requests = 0).contains("of 0 requests"));
        assert!(refused(|p| p.stacks[0][1] = 2).contains("does not name"));
        assert!(refused(|p| p.stacks[0].clear()).contains("no count"));
        assert!(refused(|p| p.cpu_ns = u64::MAX).contains("no load can have"));
        assert!(refused(|p| p.frames[0] = "f".repeat(257)).contains("bytes in the name"));
        assert!(refused(|p| p.stacks[0] = vec![0; 258]).contains("functions on a stack"));
        assert!(refused(|p| p.stacks = vec![vec![0]; 20_001]).contains("stacks"));
    }
}
