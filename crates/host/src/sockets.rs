//! Which sockets there are.

/// TCP sockets in TIME_WAIT in this network namespace: each holds a port.
pub fn time_wait() -> u64 {
    counted(&std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default())
}

/// `TCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1`.
fn counted(sockstat: &str) -> u64 {
    let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"));
    let mut words = tcp.unwrap_or_default().split_ascii_whitespace();
    words.find(|word| *word == "tw").and_then(|_| words.next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_wait_are_counted() {
        assert_eq!(counted("sockets: used 1\nTCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1\nUDP: inuse 0\n"), 7);
        assert_eq!(counted(""), 0);
    }
}
