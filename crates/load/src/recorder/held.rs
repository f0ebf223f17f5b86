//! How long requests wait for a server's leave to send more of their bodies (HTTP/2's windows).

/// A count over time, integrated where it changes.
#[derive(Debug, Default)]
pub(crate) struct Held {
    count: u64,
    until_ns: u64,
    total_ns: u64,
}

impl Held {
    /// On one connection so many wait from now on, instead of so many before.
    pub(crate) fn change(&mut self, now_ns: u64, before: usize, after: usize) {
        self.integrate(now_ns);
        self.count = (self.count + after as u64).saturating_sub(before as u64);
    }

    /// The time that all of them together have waited since it was last taken.
    pub(super) fn take(&mut self, now_ns: u64) -> u64 {
        self.integrate(now_ns);
        std::mem::take(&mut self.total_ns)
    }

    fn integrate(&mut self, now_ns: u64) {
        self.total_ns += self.count * now_ns.saturating_sub(self.until_ns);
        self.until_ns = self.until_ns.max(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_over_the_edge_of_a_part_is_of_both() {
        let mut held = Held::default();
        held.change(10, 0, 2);
        assert_eq!(held.take(20), 2 * 10);
        held.change(25, 2, 1);
        held.change(25, 0, 3);
        assert_eq!(held.take(30), 2 * 5 + 4 * 5);
        held.change(40, 3, 0);
        held.change(50, 1, 0);
        assert_eq!(held.take(90), 4 * 10 + 10);
    }
}
