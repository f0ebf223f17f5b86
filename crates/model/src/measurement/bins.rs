//! The window in tenths of a second.

use serde::{Deserialize, Serialize};

/// The width of a [`Bin`] as it is measured.
pub const BIN_NS: u64 = 100_000_000;

/// A tenth of a second of the window, or in a long one several, summed over workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bin {
    pub completed: u64,
    pub response_sum_ns: u64,
    pub failed: u64,
    pub dispatched: u64,
    pub connection_wait_sum_ns: u64,
}

impl Bin {
    /// Takes in another's: of another worker, or of the time after it.
    pub fn add(&mut self, other: &Bin) {
        self.completed += other.completed;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.failed += other.failed;
        self.dispatched += other.dispatched;
        self.connection_wait_sum_ns =
            self.connection_wait_sum_ns.saturating_add(other.connection_wait_sum_ns);
    }
}

/// The most bins that a measurement keeps: ten minutes of tenths of a second.
pub const BINS_MAX: usize = 6_000;

/// The window's bins, all of one width but the last, which may be shorter; in a run log by column, a column of zeros left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BinColumns", into = "BinColumns")]
pub struct Bins {
    /// The width of each: [`BIN_NS`] times a power of two.
    pub width_ns: u64,
    pub each: Vec<Bin>,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width_ns: BIN_NS, each: Vec::new() }
    }
}

impl Bins {
    /// With room for as many as there will be, written once: pages given later would look as if a load grew.
    pub fn with_room() -> Bins {
        let mut each = vec![Bin { completed: u64::MAX, ..Bin::default() }; BINS_MAX];
        std::hint::black_box(&mut each).clear();
        Bins { each, ..Bins::default() }
    }

    pub fn of(each: &[Bin]) -> Bins {
        let mut bins = Bins::default();
        (0..).zip(each).for_each(|(at, bin)| bins.put(at, bin));
        bins
    }

    /// Adds the bin of [`BIN_NS`] at this place from the window's start, which is none before the last. Where there are
    /// [`BINS_MAX`], they are merged two by two.
    pub fn put(&mut self, place: u64, bin: &Bin) {
        let at = loop {
            let at = usize::try_from(place.saturating_mul(BIN_NS) / self.width_ns).unwrap_or(usize::MAX);
            if at < BINS_MAX {
                break at;
            }
            self.width_ns *= 2;
            for merged in 0..self.each.len().div_ceil(2) {
                let mut sum = self.each[2 * merged];
                self.each.get(2 * merged + 1).iter().for_each(|bin| sum.add(bin));
                self.each[merged] = sum;
            }
            self.each.truncate(self.each.len().div_ceil(2));
        };
        if at >= self.each.len() {
            self.each.resize(at + 1, Bin::default());
        }
        self.each[at].add(bin);
    }
}

/// [`Bins`] as a run log has them.
#[derive(Serialize, Deserialize)]
struct BinColumns {
    width_ns: u64,
    completed: Vec<u64>,
    response_sum_ns: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<u64>,
    dispatched: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connection_wait_sum_ns: Vec<u64>,
}

impl From<Bins> for BinColumns {
    fn from(bins: Bins) -> BinColumns {
        let column = |of: fn(&Bin) -> u64| -> Vec<u64> { bins.each.iter().map(of).collect() };
        let filled = |of| Some(column(of)).filter(|c| c.iter().any(|v| *v > 0)).unwrap_or_default();
        BinColumns {
            width_ns: bins.width_ns,
            completed: column(|bin| bin.completed),
            response_sum_ns: column(|bin| bin.response_sum_ns),
            failed: filled(|bin| bin.failed),
            dispatched: column(|bin| bin.dispatched),
            connection_wait_sum_ns: filled(|bin| bin.connection_wait_sum_ns),
        }
    }
}

impl From<BinColumns> for Bins {
    /// A column that is short ends in zeros; a width of 0 is read as [`BIN_NS`]; of more bins than any load has one more
    /// is read, which [`Measurement::check`](super::Measurement::check) refuses.
    fn from(columns: BinColumns) -> Bins {
        let at = |column: &[u64], i: usize| column.get(i).copied().unwrap_or(0);
        let each = (0..columns.completed.len().min(BINS_MAX + 1)).map(|i| Bin {
            completed: columns.completed[i],
            response_sum_ns: at(&columns.response_sum_ns, i),
            failed: at(&columns.failed, i),
            dispatched: at(&columns.dispatched, i),
            connection_wait_sum_ns: at(&columns.connection_wait_sum_ns, i),
        });
        Bins { width_ns: if columns.width_ns == 0 { BIN_NS } else { columns.width_ns }, each: each.collect() }
    }
}
