//! HPACK (RFC 7541): header fields as compact blocks, relative to a table that both sides keep in step.

mod decoder;
mod encoder;
mod huffman;
mod static_table;
mod table;

pub use decoder::{Decoder, LIST_MAX_BYTES, TABLE_MAX_BYTES};
pub use encoder::{Field, Forms, Indexing, write_field, write_size_update};

use crate::{Code, Fault};

const CUT: Fault = wrong("a header block ends within a field");

const fn wrong(reason: &'static str) -> Fault {
    Fault { code: Code::COMPRESSION_ERROR, reason }
}

/// Reads an integer from the first byte's low bits and, where they do not suffice, the next (RFC 7541, section 5.1).
fn integer(input: &mut &[u8], prefix_bits: u32) -> Result<usize, Fault> {
    let (first, mut rest) = input.split_first().ok_or(CUT)?;
    let most = (1u32 << prefix_bits) - 1;
    let mut value = u32::from(*first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (byte, after) = rest.split_first().ok_or(CUT)?;
            rest = after;
            // Four bytes hold 2^28 - 1, beyond every limit here; a fifth would come near the type's end.
            if shift > 21 {
                return Err(wrong("a header block has a number beyond 2^28"));
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Ok(value as usize)
}

fn write_integer(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, value: usize) {
    let most = (1usize << prefix_bits) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut left = value - most;
    while left >= 128 {
        out.push((left % 128) as u8 | 0x80);
        left /= 128;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests;
