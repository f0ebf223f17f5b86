//! A server that notes when each request arrives, so that a load's evenness is seen from outside of Prony.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::loopback::serve;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

/// It ends with the process.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    began: Instant,
    arrived: Arc<Mutex<Vec<Instant>>>,
}

impl Recorder {
    /// Listens on a free port; each connection has a thread.
    pub(crate) fn start() -> Result<Recorder, String> {
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&arrived);
        let address = serve(move |stream| note(stream, &notes))?;
        Ok(Recorder { address, began: Instant::now(), arrived })
    }

    pub(crate) fn arrivals_ns(&self) -> Vec<u64> {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        let after = |at: &Instant| u64::try_from((*at - self.began).as_nanos()).unwrap_or(u64::MAX);
        let mut all: Vec<u64> = arrived.iter().map(after).collect();
        all.sort_unstable();
        all
    }
}

/// Requests of a kept connection that sends one at a time, each in one packet.
fn note(mut stream: TcpStream, notes: &Mutex<Vec<Instant>>) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer) {
        let now = Instant::now();
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(now);
        if stream.write_all(ANSWER).is_err() {
            return;
        }
    }
}

/// The median gap, and the 99th percentile of how late each is on the grid on which none is early. `None` below two.
pub(crate) fn evenness_ns(arrivals_ns: &[u64], gap_ns: u64) -> Option<(u64, u64)> {
    let mut gaps: Vec<u64> = arrivals_ns.iter().zip(arrivals_ns.iter().skip(1)).map(|(a, b)| b - a).collect();
    gaps.sort_unstable();
    let offset = |(k, at): (u64, &u64)| i128::from(*at) - i128::from(k * gap_ns);
    let mut offsets: Vec<i128> = (0..).zip(arrivals_ns).map(offset).collect();
    offsets.sort_unstable();
    let (first, late) = (offsets.first()?, offsets.get((offsets.len() - 1) * 99 / 100)?);
    Some((*gaps.get(gaps.len() / 2)?, u64::try_from(late - first).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_are_even_and_late_ones_are_late() {
        let even: Vec<u64> = (0..1000).map(|k| 77 + k * 1_000_000).collect();
        assert_eq!(evenness_ns(&even, 1_000_000), Some((1_000_000, 0)));
        // Every tenth is 300 µs late.
        let late: Vec<u64> =
            even.iter().zip(0..).map(|(at, k)| at + 300_000 * u64::from(k % 10 == 5)).collect();
        assert_eq!(evenness_ns(&late, 1_000_000), Some((1_000_000, 300_000)));
        // A rate that is 1 % too low falls behind.
        let slow: Vec<u64> = (0..1000).map(|k| k * 1_010_000).collect();
        assert_eq!(evenness_ns(&slow, 1_000_000), Some((1_010_000, 9_890_000)));
        assert_eq!(evenness_ns(&[5], 1), None);
    }
}
