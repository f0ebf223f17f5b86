//! Whether requests that wait hold up others: `GET /sleep` on several connections at once.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use prony_load::dial::Dialer;
use prony_model::run_log::Sleep;

use super::client::{Connection, Fault, Request};

const WAIT: Duration = Duration::from_millis(50);
/// Requests at once for each worker: a server that blocks then needs as many turns.
const TURNS: u32 = 4;
/// Connections at least: a server may have more that do the work than its recipe starts (a web server before PHP).
const AT_ONCE_MIN: u32 = 16;
/// Connections at once: more workers than a quarter of these are asked no more.
const AT_ONCE_MAX: u32 = 64;
/// A busy host can hold up some requests by chance, and not each time.
const TRIES: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) sleep: Sleep,
    at_once: u32,
    took: Duration,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { at_once, .. } = self;
        let (wait_ms, took_ms) = (WAIT.as_millis(), self.took.as_millis());
        write!(f, "{at_once} concurrent requests that wait {wait_ms} ms each took {took_ms} ms in all: ")?;
        f.write_str(match self.sleep {
            Sleep::Concurrent => "they are served concurrently.",
            Sleep::Blocks => "a request that waits blocks others.",
        })
    }
}

/// Asks at once as often as [`TURNS`] times the workers, or [`AT_ONCE_MIN`].
pub(super) fn sleep(dialer: &Dialer, workers: u32) -> Result<Seen, Fault> {
    judged(workers, |at_once| all_at_once(dialer, at_once))
}

/// A server that blocks cannot be done before so many turns, whatever the host: done earlier, it does not block. Done
/// later three times, it does. `ask` says how long so many requests at once took.
fn judged(workers: u32, mut ask: impl FnMut(u32) -> Result<Duration, Fault>) -> Result<Seen, Fault> {
    let at_once = workers.max(1).saturating_mul(TURNS).clamp(AT_ONCE_MIN, AT_ONCE_MAX);
    let turns = at_once.div_ceil(workers.max(1)).min(TURNS);
    // Timers that count in whole milliseconds end up to one early, in each turn.
    let least = (WAIT - Duration::from_millis(1)) * turns;
    let mut shortest = Duration::MAX;
    for _ in 0..TRIES {
        shortest = shortest.min(ask(at_once)?);
        if shortest < least {
            return Ok(Seen { sleep: Sleep::Concurrent, at_once, took: shortest });
        }
    }
    Ok(Seen { sleep: Sleep::Blocks, at_once, took: shortest })
}

/// From the first request to the last answer. Each connection is closed after its answer: some
/// servers serve one connection at a time.
fn all_at_once(dialer: &Dialer, count: u32) -> Result<Duration, Fault> {
    let path = format!("/sleep?ms={}", WAIT.as_millis());
    let connections: Vec<Connection> =
        (0..count).map(|_| Connection::open(dialer)).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let host = dialer.host();
    let request = Request { method: "GET", path: &path, host, headers: &[], body: None, fragmented: false };
    thread::scope(|scope| {
        let asked: Vec<_> =
            connections.into_iter().map(|mut one| scope.spawn(move || one.exchange(&request))).collect();
        for thread in asked {
            let answer = thread.join().unwrap_or(Err(Fault::Closed))?;
            if answer.status != 200 {
                let status = answer.status;
                return Err(Fault::Ended(format!("Status {status} to one of {count} at once")));
            }
        }
        Ok(begun.elapsed())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen where requests at once take so many milliseconds, try after try; and how often it was asked.
    fn seen(workers: u32, took_ms: &[u64]) -> (Seen, usize) {
        let mut tries = took_ms.iter();
        let ask = |_| tries.next().map(|ms| Duration::from_millis(*ms)).ok_or(Fault::Closed);
        let seen = judged(workers, ask).unwrap();
        (seen, took_ms.len() - tries.len())
    }

    #[test]
    fn sleeps_done_sooner_than_one_after_another_are_concurrent() {
        // One worker: 16 at once, four turns of 50 ms at least, each up to a millisecond early.
        for (took_ms, expected, asked) in [
            (&[51][..], Sleep::Concurrent, 1),
            (&[195], Sleep::Concurrent, 1),
            (&[196, 900, 195], Sleep::Concurrent, 3),
            (&[196, 196, 196], Sleep::Blocks, 3),
            (&[800, 800, 800, 51], Sleep::Blocks, 3),
        ] {
            let (seen, tries) = seen(1, took_ms);
            assert_eq!((seen.sleep, tries), (expected, asked), "{took_ms:?}");
        }
    }

    #[test]
    fn concurrent_sleeps_are_four_per_worker_within_bounds() {
        let at_once = [0, 1, 4, 5, 16, 40, u32::MAX].map(|workers| seen(workers, &[10]).0.at_once);
        assert_eq!(at_once, [16, 16, 16, 20, 64, 64, 64]);
        // Forty workers do 64 requests in two turns.
        assert_eq!(seen(40, &[97]).0.sleep, Sleep::Concurrent);
        assert_eq!(seen(40, &[98, 98, 98]).0.sleep, Sleep::Blocks);
        assert_eq!(judged(1, |_| Err(Fault::Closed)), Err(Fault::Closed));
    }

    #[test]
    fn the_result_of_the_concurrent_sleeps_is_a_sentence() {
        let said = |took_ms: &[u64]| seen(1, took_ms).0.to_string();
        assert_eq!(
            said(&[60]),
            "16 concurrent requests that wait 50 ms each took 60 ms in all: they are served concurrently."
        );
        assert!(said(&[800, 801, 802]).ends_with("took 800 ms in all: a request that waits blocks others."));
    }
}
