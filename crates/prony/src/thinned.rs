//! A series in bounded memory: where it is full, neighbours become one.

/// At most `most` entries, an even number, each of as many of what was added: a power of two.
#[derive(Debug, Clone)]
pub(crate) struct Thinned<T> {
    entries: Vec<T>,
    most: usize,
    each: u64,
    in_last: u64,
}

impl<T: Copy> Thinned<T> {
    pub(crate) fn new(most: usize) -> Thinned<T> {
        Thinned { entries: Vec::new(), most, each: 1, in_last: 0 }
    }

    /// Adds what follows; whether entries became one for it. `join` makes one of two, and has the one before.
    pub(crate) fn add(&mut self, one: T, join: impl Fn(Option<&T>, &T, &T) -> T) -> bool {
        if !self.in_last.is_multiple_of(self.each)
            && let [before @ .., last] = self.entries.as_mut_slice()
        {
            *last = join(before.last(), last, &one);
            self.in_last += 1;
            return false;
        }
        let is_full = self.entries.len() >= self.most;
        if is_full {
            for pair in 0..self.most / 2 {
                let before = pair.checked_sub(1).map(|before| self.entries[before]);
                self.entries[pair] =
                    join(before.as_ref(), &self.entries[2 * pair], &self.entries[2 * pair + 1]);
            }
            self.entries.truncate(self.most / 2);
            self.each *= 2;
        }
        self.entries.push(one);
        self.in_last = 1;
        is_full
    }

    /// All entries; the last one may be of less than the others.
    pub(crate) fn all(&self) -> &[T] {
        &self.entries
    }

    /// Those that are of as many as each is to be.
    pub(crate) fn whole(&self) -> &[T] {
        &self.entries[..self.entries.len() - usize::from(!self.in_last.is_multiple_of(self.each))]
    }

    pub(crate) fn each(&self) -> u64 {
        self.each
    }
}
