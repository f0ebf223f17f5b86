//! What figures are counted in, and what people read.

/// The unit of a figure's values and the one that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Requests per second.
    RequestsPerS,
    /// Requests per second of the server's CPU time.
    RequestsPerCpuS,
    /// Nanoseconds, read as milliseconds.
    Milliseconds,
    /// Nanoseconds, read as microseconds.
    Microseconds,
    /// Bytes, read as megabytes (10⁶).
    Megabytes,
    /// Bytes per second, read as megabytes per second.
    MegabytesPerS,
    /// A share from 0 to 1, read as percent.
    Share,
}

impl Unit {
    /// The unit of the values, as JSON names it.
    pub fn stored(self) -> &'static str {
        match self {
            Unit::RequestsPerS => "requests_per_s",
            Unit::RequestsPerCpuS => "requests_per_cpu_s",
            Unit::Milliseconds | Unit::Microseconds => "ns",
            Unit::Megabytes => "bytes",
            Unit::MegabytesPerS => "bytes_per_s",
            Unit::Share => "share",
        }
    }

    /// The unit that people read.
    pub fn shown(self) -> &'static str {
        match self {
            Unit::RequestsPerS => "req/s",
            Unit::RequestsPerCpuS => "req/CPU s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
            Unit::Megabytes => "MB",
            Unit::MegabytesPerS => "MB/s",
            Unit::Share => "",
        }
    }

    /// The base unit of OpenMetrics, and how much of this unit one of it is.
    pub fn base(self) -> (&'static str, f64) {
        match self {
            Unit::RequestsPerS => ("requests_per_second", 1.0),
            Unit::RequestsPerCpuS => ("requests_per_cpu_second", 1.0),
            Unit::Milliseconds | Unit::Microseconds => ("seconds", 1e9),
            Unit::Megabytes => ("bytes", 1.0),
            Unit::MegabytesPerS => ("bytes_per_second", 1.0),
            Unit::Share => ("ratio", 1.0),
        }
    }
}
