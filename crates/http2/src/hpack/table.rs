//! The dynamic table (RFC 7541, sections 2.3.2 and 4): the last fields that were to be remembered, within a size.

use std::collections::VecDeque;

/// What an entry counts beside its name and value (RFC 7541, section 4.1).
pub(super) const ENTRY_BYTES: usize = 32;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where its name begins, counted from the table's first byte ever; its value follows.
    at: usize,
    name: usize,
    value: usize,
}

/// The entries, in one piece of memory that is at most twice as long as they are.
#[derive(Debug)]
pub(super) struct Table {
    bytes: Vec<u8>,
    /// How many bytes have been left behind in front of `bytes`.
    gone: usize,
    /// The oldest first.
    entries: VecDeque<Entry>,
    size: usize,
    limit: usize,
}

impl Table {
    pub(super) fn new(limit: usize) -> Table {
        Table { bytes: Vec::new(), gone: 0, entries: VecDeque::new(), size: 0, limit }
    }

    /// Takes a new size; what does not fit into it goes.
    pub(super) fn resize(&mut self, limit: usize) {
        self.limit = limit;
        self.evict(0);
    }

    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_BYTES;
        self.evict(size);
        if size > self.limit {
            return;
        }
        self.entries.push_back(Entry {
            at: self.gone + self.bytes.len(),
            name: name.len(),
            value: value.len(),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
    }

    /// The field of an index, 0 for the youngest.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.len().checked_sub(index + 1).and_then(|at| self.entries.get(at))?;
        let from = entry.at - self.gone;
        self.bytes.get(from..from + entry.name + entry.value).map(|field| field.split_at(entry.name))
    }

    fn evict(&mut self, room: usize) {
        while self.size + room > self.limit
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.name + oldest.value + ENTRY_BYTES;
        }
        let end = self.gone + self.bytes.len();
        let left_behind = self.entries.front().map_or(end, |oldest| oldest.at) - self.gone;
        if left_behind * 2 > self.bytes.len() {
            self.bytes.drain(..left_behind);
            self.gone += left_behind;
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}
