//! How far away a server's host is: a byte to it and back, over TCP, as a request goes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use prony_host::monotonic_ns;
use prony_model::histogram::nearest_rank;
use serde::Serialize;

/// Of these, those of the first hundred are not counted.
const TRIPS: usize = 1_100;
const WARM_UP: usize = 100;
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RoundTrips {
    pub min_ns: u64,
    pub p50_ns: u64,
    /// The 99th percentile: the noise of the way and of both machines.
    pub p99_ns: u64,
}

impl RoundTrips {
    /// To somebody who sends back what comes, one byte at a time.
    pub(super) fn measure(address: SocketAddr) -> Result<RoundTrips, String> {
        let refused = |e: std::io::Error| format!("The round trip to {address} could not be measured: {e}.");
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(refused)?;
        let mut trips = Vec::with_capacity(TRIPS);
        for _ in 0..TRIPS {
            let (begun_ns, mut byte) = (monotonic_ns(), [0]);
            stream.write_all(&byte).and_then(|()| stream.read_exact(&mut byte)).map_err(refused)?;
            trips.push(monotonic_ns().saturating_sub(begun_ns));
        }
        Ok(RoundTrips::of(trips.split_off(WARM_UP)))
    }

    fn of(mut trips: Vec<u64>) -> RoundTrips {
        trips.sort_unstable();
        let rank = |quantile| usize::try_from(nearest_rank(quantile, trips.len() as u64)).ok();
        let at = |quantile| rank(quantile).and_then(|rank| trips.get(rank - 1)).copied().unwrap_or(0);
        let [min_ns, p50_ns, p99_ns] = [0.0, 0.5, 0.99].map(at);
        RoundTrips { min_ns, p50_ns, p99_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_round_trips_are_of_the_nearest_rank() {
        let trips = RoundTrips::of((1..=1_000).rev().collect());
        assert_eq!(trips, RoundTrips { min_ns: 1, p50_ns: 500, p99_ns: 990 });
    }
}
