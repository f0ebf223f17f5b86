//! What numbers and lists that were read from a file may be, so that sums of them fit.

/// The most that a number of a measurement may be: it is exact in an `f64`, and a thousand of them in 64 bits.
const NUMBER_MAX: u64 = 1 << 53;

/// The most lines with a request, of 4 bytes, 200 where it is new: below 256 MB, and seconds at 100,000 a second.
pub const LINES_MAX: usize = 1_000_000;

/// Whether numbers of a measurement, or of what was seen beside it, are exact in an `f64`.
pub fn numbers(all: impl IntoIterator<Item = u64>) -> Result<(), String> {
    within(all, NUMBER_MAX)
}

pub fn within(all: impl IntoIterator<Item = u64>, most: u64) -> Result<(), String> {
    match all.into_iter().find(|number| *number > most) {
        Some(number) => Err(format!("its measurement has the number {number}, which no load can have")),
        None => Ok(()),
    }
}

pub(crate) fn few(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count <= most { Ok(()) } else { Err(format!("it has {count} {what}, and Prony keeps at most {most}")) }
}
