//! Reading header blocks.

use super::static_table::FIELDS;
use super::table::{ENTRY_BYTES, Table};
use super::{CUT, huffman, integer, wrong};
use crate::Fault;

/// The table that fields of responses may take: the standard's initial one, as servers build their blocks for browsers.
pub const TABLE_MAX_BYTES: usize = 4096;
/// The most that a block's fields may take together, each with 32 bytes beside its name and value.
pub const LIST_MAX_BYTES: usize = 256 << 10;

const SCRATCH_KEPT_BYTES: usize = 4 << 10;

/// Reads a connection's header blocks, each of which must pass it, and in their order.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    changes: u64,
    /// Names and values that stand in a block in another form.
    scratch: Vec<u8>,
}

/// A name or a value: as it stands somewhere, or a part of the scratch memory.
enum Text<'a> {
    Given(&'a [u8]),
    Made { from: usize, to: usize },
}

impl Text<'_> {
    fn of<'a>(&'a self, scratch: &'a [u8]) -> &'a [u8] {
        match self {
            Text::Given(text) => text,
            Text::Made { from, to } => &scratch[*from..*to],
        }
    }
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder { table: Table::new(TABLE_MAX_BYTES), changes: 0, scratch: Vec::new() }
    }

    /// How often a block changed the table: between two equal counts the same bytes are the same fields.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Reads a whole block and gives its names and values, in their order.
    pub fn decode(&mut self, block: &[u8], mut field: impl FnMut(&[u8], &[u8])) -> Result<(), Fault> {
        let mut rest = block;
        let mut listed = 0;
        let mut may_resize = true;
        self.scratch.clear();
        self.scratch.shrink_to(SCRATCH_KEPT_BYTES);
        while let Some(first) = rest.first() {
            let first = *first;
            if first & 0b1110_0000 == 0b0010_0000 {
                let size = integer(&mut rest, 5)?;
                if !may_resize {
                    return Err(wrong("a header block resizes the table after its first field"));
                }
                if size > TABLE_MAX_BYTES {
                    return Err(wrong("a header block makes the table larger than 4,096 bytes"));
                }
                self.table.resize(size);
                self.changes += 1;
                continue;
            }
            may_resize = false;
            self.scratch.clear();
            if first & 0x80 != 0 {
                let (name, value) = entry(&self.table, integer(&mut rest, 7)?)?;
                listed += name.len() + value.len() + ENTRY_BYTES;
                if listed > LIST_MAX_BYTES {
                    return Err(TOO_LONG);
                }
                field(name, value);
                continue;
            }
            let kept = first & 0x40 != 0;
            let name = match integer(&mut rest, if kept { 6 } else { 4 })? {
                0 => string(&mut rest, &mut self.scratch)?,
                index => {
                    // The entry may have to go for the one that takes its name.
                    self.scratch.extend_from_slice(entry(&self.table, index)?.0);
                    Text::Made { from: 0, to: self.scratch.len() }
                }
            };
            let value = string(&mut rest, &mut self.scratch)?;
            let (name, value) = (name.of(&self.scratch), value.of(&self.scratch));
            listed += name.len() + value.len() + ENTRY_BYTES;
            if listed > LIST_MAX_BYTES {
                return Err(TOO_LONG);
            }
            field(name, value);
            if kept {
                self.table.insert(name, value);
                self.changes += 1;
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }
}

const TOO_LONG: Fault = Fault::calm("header fields take more than 256 KiB");

fn entry(table: &Table, index: usize) -> Result<(&[u8], &[u8]), Fault> {
    const NONE: Fault = wrong("a header block names an entry that the tables do not have");
    let index = index.checked_sub(1).ok_or(NONE)?;
    match FIELDS.get(index) {
        Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
        None => table.get(index - FIELDS.len()).ok_or(NONE),
    }
}

/// Reads a string; one that is Huffman-coded goes to the scratch memory.
fn string<'a>(input: &mut &'a [u8], scratch: &mut Vec<u8>) -> Result<Text<'a>, Fault> {
    let coded = input.first().ok_or(CUT)? & 0x80 != 0;
    let length = integer(input, 7)?;
    let (text, rest) = input.split_at_checked(length).ok_or(CUT)?;
    *input = rest;
    if !coded {
        return Ok(Text::Given(text));
    }
    let from = scratch.len();
    huffman::decode(text, scratch)?;
    Ok(Text::Made { from, to: scratch.len() })
}
