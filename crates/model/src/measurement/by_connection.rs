//! What single connections carried: whether some are served faster than others, and when the server ends them.

use serde::{Deserialize, Serialize};

use crate::histogram::COUNT_MAX;
use crate::limits::{few, numbers, within};

pub const CONNECTIONS_MAX: usize = 256;

/// The first connections that stood over the whole window, and the first that the server ended, by column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ByConnection {
    /// How many of those that stood each worker has; theirs follow each other in the columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_worker: Vec<u32>,
    /// Responses in the window's halves, whatever their status; over HTTP/2 requests. Empty of a window that a count ends.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub answered: [Vec<u64>; 2],
    /// The mean response of these; 0 without any. Empty over HTTP/2.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub mean_response_ns: [Vec<u64>; 2],
    /// Responses (over HTTP/2, requests) that each connection had carried when the server ended it, over the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_after: Vec<u64>,
    /// For how long each of those had been open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_after_ns: Vec<u64>,
}

impl ByConnection {
    /// All workers', in their order, as many as are kept.
    pub fn of_workers(workers: impl Iterator<Item = ByConnection>) -> ByConnection {
        let mut all = ByConnection::default();
        for own in workers {
            let room = CONNECTIONS_MAX - all.answered[0].len();
            let taken = own.answered[0].len().min(room);
            all.per_worker.extend(u32::try_from(taken).ok().filter(|taken| *taken > 0));
            let columns = all.answered.iter_mut().chain(&mut all.mean_response_ns);
            for (all, own) in columns.zip(own.answered.iter().chain(&own.mean_response_ns)) {
                all.extend(own.iter().take(taken));
            }
            let room = CONNECTIONS_MAX - all.ended_after.len();
            all.ended_after.extend(own.ended_after.iter().take(room));
            all.ended_after_ns.extend(own.ended_after_ns.iter().take(room));
        }
        all
    }

    /// Whether its columns fit each other, and their numbers can be a load's.
    pub fn check(&self) -> Result<(), String> {
        let columns = || self.answered.iter().chain(&self.mean_response_ns);
        let most = columns().map(Vec::len).chain([self.ended_after.len(), self.per_worker.len()]).max();
        let most = most.unwrap_or(0);
        few("connections with figures of their own", most, CONNECTIONS_MAX)?;
        let counts = self.answered.iter().flatten().chain(&self.ended_after);
        within(counts.copied(), COUNT_MAX)?;
        numbers(self.mean_response_ns.iter().flatten().chain(&self.ended_after_ns).copied())?;
        let stood: u64 = self.per_worker.iter().map(|count| u64::from(*count)).sum();
        let is_full = |column: &Vec<u64>| column.len() as u64 == stood;
        let fits = self.answered.iter().all(is_full)
            && (self.mean_response_ns.iter().all(is_full) || self.mean_response_ns.iter().all(Vec::is_empty))
            && self.ended_after.len() == self.ended_after_ns.len();
        if fits { Ok(()) } else { Err("its columns of connections differ in length".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(connections: usize) -> ByConnection {
        ByConnection {
            per_worker: vec![connections as u32],
            answered: [vec![5; connections], vec![6; connections]],
            mean_response_ns: Default::default(),
            ended_after: vec![7; connections],
            ended_after_ns: vec![8; connections],
        }
    }

    #[test]
    fn workers_follow_each_other_up_to_the_most() {
        let all = ByConnection::of_workers([of(200), of(50), of(50), of(3)].into_iter());
        assert_eq!((all.per_worker.as_slice(), all.ended_after.len()), (&[200, 50, 6][..], 256));
        assert_eq!((all.answered[1].len(), all.mean_response_ns[0].len()), (256, 0));
        assert_eq!(all.check(), Ok(()));
        assert_eq!(ByConnection::of_workers([ByConnection::default()].into_iter()), ByConnection::default());
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        assert!(of(257).check().is_err());
        assert!(ByConnection { per_worker: vec![4], ..of(5) }.check().is_err());
        assert!(ByConnection { ended_after: vec![], ..of(5) }.check().is_err());
        assert!(ByConnection { answered: [vec![5; 5], vec![]], ..of(5) }.check().is_err());
        assert!(ByConnection { mean_response_ns: [vec![5; 5], vec![]], ..of(5) }.check().is_err());
        assert!(ByConnection { per_worker: vec![0; 257], ..ByConnection::default() }.check().is_err());
        assert!(ByConnection { ended_after: vec![u64::MAX; 5], ..of(5) }.check().is_err());
    }
}
