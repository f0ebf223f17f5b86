//! How much memory a text's histograms may take together: few bytes of text can be hundreds of kilobytes of histogram.

use std::cell::Cell;

thread_local! {
    /// Bytes that this thread's text may still unpack; `None`: nobody asked for a bound.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What `read` makes of a text whose histograms may take so many bytes, and how many they took.
pub(crate) fn within<T>(most: usize, read: impl FnOnce() -> T) -> (T, usize) {
    let before = LEFT.replace(Some(most));
    let made = read();
    let left = LEFT.replace(before).unwrap_or_default();
    (made, most.saturating_sub(left))
}

pub(crate) fn take(bytes: usize) -> Result<(), &'static str> {
    let Some(left) = LEFT.get() else { return Ok(()) };
    let rest = left.checked_sub(bytes);
    LEFT.set(Some(rest.unwrap_or(0)));
    rest.map(|_| ()).ok_or("its histograms take more memory than those of a line by Prony")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_memory_is_counted_and_bounded_only_within_the_call() {
        assert_eq!(take(usize::MAX), Ok(()));
        assert_eq!(within(10, || take(4).and_then(|()| take(6))), (Ok(()), 10));
        let (refused, taken) = within(10, || (take(4), take(7), take(1)));
        assert!(refused.0.is_ok() && refused.1.is_err() && refused.2.is_err());
        assert_eq!(taken, 10);
        assert_eq!(take(11), Ok(()));
    }
}
