//! Which of a line of revisions made a figure worse: the decisions alone, which a command, or a simulation, measures
//! for. Each revision is compared with the good one, in a run of its own. What is bad is asked of the last revision by
//! the conditions that are given, and of those between by one of them ([`fail_if::dividing`]): of a loss that lies half
//! its size from either answer few blocks tell, where equivalence would take many.

use std::collections::BTreeSet;

use crate::comparison::Comparison;
use crate::comparison::fail_if::{self, FailIf, Reading};

mod report;
#[cfg(test)]
mod tests;

pub use report::{BisectionReport, BisectionStep, BisectionVerdict, Found, Revision, SCHEMA};

/// Looks at a revision at most, each at twice the blocks of the one before: the fifth has an error of 0.06 %
/// ([`crate::look::Level`]), and a sixth would take more time than all before.
const LOOKS_MAX: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Measure this revision beside the first one, up to so many blocks in its run, and say what was found.
    Measure { revision: usize, blocks: u32 },
    /// Nothing is left to be measured.
    Ended(BisectionVerdict),
}

/// Revisions are numbered in their order: 0 is the good one.
#[derive(Debug, Clone)]
pub struct Bisection {
    conditions: Vec<FailIf>,
    dividing: Option<FailIf>,
    /// The last one known to be good, and the first one known, or said, to be bad.
    good: usize,
    bad: usize,
    passed_over: BTreeSet<usize>,
    blocks: u32,
    next: Next,
}

impl Bisection {
    /// Of at least two revisions; `blocks` is the first look's at each.
    pub fn new(conditions: Vec<FailIf>, revisions: usize, blocks: u32) -> Bisection {
        let bad = revisions.saturating_sub(1);
        let next = Next::Measure { revision: bad, blocks };
        Bisection { conditions, dividing: None, good: 0, bad, passed_over: BTreeSet::new(), blocks, next }
    }

    pub fn next(&self) -> Next {
        self.next
    }

    pub fn conditions(&self) -> &[FailIf] {
        self.dividing.as_ref().map_or(&self.conditions, std::slice::from_ref)
    }

    /// The condition that divides good from bad, where the last revision was shown to be bad.
    pub fn dividing(&self) -> Option<FailIf> {
        self.dividing
    }

    /// The last revision known to be good and the first one known, or said, to be bad.
    pub fn between(&self) -> (usize, usize) {
        (self.good, self.bad)
    }

    /// Takes in the comparison of what [`Bisection::next`] asks for.
    pub fn take(&mut self, comparison: &Comparison) -> Reading {
        let reading = fail_if::reading(self.conditions(), comparison);
        if self.dividing.is_none() && matches!(reading, Reading::Bad(_)) {
            self.dividing = fail_if::dividing(&self.conditions, comparison);
        }
        self.hear(&reading);
        reading
    }

    /// Takes in that what is asked for cannot be measured.
    pub fn pass_over(&mut self) {
        let Next::Measure { revision, .. } = self.next else { return };
        self.passed_over.insert(revision);
        self.go_on();
    }

    /// Takes in what is asked for, as it was read already of a revision with the same files.
    pub fn hear(&mut self, reading: &Reading) {
        let Next::Measure { revision, blocks } = self.next else { return };
        match reading {
            Reading::Bad(_) => self.bad = revision,
            Reading::Good if self.dividing.is_none() => {
                self.next = Next::Ended(BisectionVerdict::NotWorse);
                return;
            }
            Reading::Good => self.good = revision,
            Reading::Open(_) if blocks < self.blocks << (LOOKS_MAX - 1) => {
                self.next = Next::Measure { revision, blocks: blocks * 2 };
                return;
            }
            Reading::Open(_) => _ = self.passed_over.insert(revision),
        }
        self.go_on();
    }

    fn go_on(&mut self) {
        // Twice the middle, so that of an even number the two in the middle are equally near.
        let far = |revision: &usize| (2 * revision).abs_diff(self.good + self.bad);
        let left = (self.good + 1..self.bad).filter(|revision| !self.passed_over.contains(revision));
        let middle = left.min_by_key(far).filter(|_| self.dividing.is_some());
        self.next = match middle {
            Some(revision) => Next::Measure { revision, blocks: self.blocks },
            None if self.dividing.is_some() && self.good + 1 == self.bad => {
                Next::Ended(BisectionVerdict::Found)
            }
            None => Next::Ended(BisectionVerdict::Open),
        };
    }
}
