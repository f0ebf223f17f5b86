//! What single connections carried in each half of the window, from what they have carried at three edges: a request pays
//! for no more than a count of its connection.

use prony_model::measurement::{BIN_NS, ByConnection};

use super::{AtEdge, Edges, Recorder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) since_ns: u64,
    pub(crate) answered: u64,
    /// The sum of the answers' response times; `None` where nobody adds them up.
    pub(crate) response_sum_ns: Option<u64>,
}

/// What a worker's connections had carried when the window opened and in its middle, and those that the server ended.
#[derive(Debug)]
pub(super) struct ConnectionMarks {
    most: usize,
    start_ns: u64,
    middle_ns: u64,
    at_start: Vec<Option<Carried>>,
    at_middle: Vec<Option<Carried>>,
    ended: Vec<(u64, u64)>,
}

impl ConnectionMarks {
    pub(super) fn of(most: usize) -> ConnectionMarks {
        ConnectionMarks {
            most,
            start_ns: 0,
            middle_ns: u64::MAX,
            at_start: Vec::with_capacity(most),
            at_middle: Vec::with_capacity(most),
            ended: Vec::with_capacity(most),
        }
    }

    /// The window opens. Its middle is the last edge of a bin that is not beyond; none where only a count ends it.
    pub(super) fn open(&mut self, edges: Edges, around: &impl AtEdge) {
        self.start_ns = edges.start_ns;
        self.at_start.extend(around.carried().take(self.most));
        let bins = (edges.end_ns - edges.start_ns) / 2 / BIN_NS;
        if edges.end_ns < u64::MAX && bins > 0 {
            self.middle_ns = edges.start_ns + bins * BIN_NS;
        }
    }

    /// A bin of the window ends here.
    pub(super) fn look(&mut self, edge_ns: u64, around: &impl AtEdge) {
        if edge_ns == self.middle_ns {
            self.at_middle.extend(around.carried().take(self.most));
        }
    }

    /// The window closes: of each connection that stood since before it.
    pub(super) fn close(&mut self, around: &impl AtEdge) -> ByConnection {
        let mut all = ByConnection::default();
        for ((start, middle), end) in self.at_start.iter().zip(&self.at_middle).zip(around.carried()) {
            let (Some(start), Some(middle), Some(end)) = (start, middle, end) else { continue };
            if end.since_ns > self.start_ns {
                continue;
            }
            for (half, (from, to)) in [(*start, *middle), (*middle, end)].into_iter().enumerate() {
                let answered = to.answered - from.answered;
                all.answered[half].push(answered);
                if let (Some(from_ns), Some(to_ns)) = (from.response_sum_ns, to.response_sum_ns) {
                    let mean_ns = (to_ns - from_ns).checked_div(answered).unwrap_or(0);
                    all.mean_response_ns[half].push(mean_ns);
                }
            }
        }
        all.per_worker.extend(u32::try_from(all.answered[0].len()).ok().filter(|count| *count > 0));
        (all.ended_after, all.ended_after_ns) = std::mem::take(&mut self.ended).into_iter().unzip();
        all
    }
}

impl Recorder {
    /// The server ended a connection that had carried so much. The first of them are kept, the warm-up's included.
    pub(crate) fn server_ended(&mut self, now_ns: u64, carried: Carried) {
        let marks = &mut self.by_connection;
        if marks.ended.len() < marks.most {
            marks.ended.push((carried.answered, now_ns.saturating_sub(carried.since_ns)));
        }
    }
}
