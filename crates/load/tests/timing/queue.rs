//! A simulated queue: what a load of constant arrivals over a few connections
//! must see at a server that is silent for part of each period.

/// Response times in nanoseconds, sorted, of `rate` arrivals a second for
/// `periods` periods over `connections` connections, each carrying one request
/// at a time, first come first served, towards a server that reads nothing in
/// the first `silence_ns` of each period and answers `delay_ns` after it read.
/// One period is run ahead and not counted.
pub fn responses_ns(
    rate: u64,
    connections: usize,
    delay_ns: u64,
    silence_ns: u64,
    period_ns: u64,
    periods: u64,
) -> Vec<u64> {
    let awake = |at: u64| if at % period_ns < silence_ns { at - at % period_ns + silence_ns } else { at };
    let mut free_at = vec![0u64; connections];
    let mut responses = Vec::new();
    let per_period = rate * period_ns / 1_000_000_000;
    for k in 0..per_period * (periods + 1) {
        let due = k * 1_000_000_000 / rate;
        let connection = (0..connections).min_by_key(|c| free_at[*c]).unwrap();
        let sent = due.max(free_at[connection]);
        let answered = awake(sent) + delay_ns;
        free_at[connection] = answered;
        if k >= per_period {
            responses.push(answered - due);
        }
    }
    responses.sort_unstable();
    responses
}

/// The value below or at which a share `q` of the sorted values lies.
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[test]
fn with_connections_to_spare_it_is_the_known_distribution() {
    let r = responses_ns(2000, 500, 2_000_000, 200_000_000, 2_000_000_000, 5);
    // A tenth of the requests falls into the silence and waits 200 ms at most, evenly.
    for (q, want_ms) in [(0.5, 2.0), (0.92, 42.0), (0.95, 102.0), (0.99, 182.0)] {
        let got_ms = quantile(&r, q) as f64 / 1e6;
        assert!((got_ms - want_ms).abs() < 0.6, "q {q}: {got_ms} ms, want {want_ms}");
    }
}
