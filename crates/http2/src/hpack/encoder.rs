//! Header blocks of requests, made once before the load. A connection's first request puts what all share into the
//! server's table; later ones name the entries. Nothing else enters it: a request's block is one of three made in
//! advance.

use super::static_table::FIELDS;
use super::table::ENTRY_BYTES;
use super::{TABLE_MAX_BYTES, huffman, write_integer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexing {
    /// It is the same in all requests, and enters the table.
    Shared,
    /// It differs between requests, and does not.
    Once,
    /// It is secret: it is in no table, nor may anybody on the way put it into one.
    Never,
}

#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// In lower case; of a pseudo-header with its colon.
    pub name: &'a str,
    pub value: &'a [u8],
    pub indexing: Indexing,
}

/// The fields that all requests of a load share, in the three forms of a connection's life.
#[derive(Debug, Clone, Default)]
pub struct Forms {
    /// Nothing enters the table or is taken from it: for a server whose table is smaller than `table_bytes`.
    pub plain: Vec<u8>,
    pub first: Vec<u8>,
    pub indexed: Vec<u8>,
    pub table_bytes: usize,
}

impl Forms {
    /// The forms of these fields. Those that do not fit into a table of the standard's initial size stay outside.
    pub fn of(fields: &[Field<'_>]) -> Forms {
        let mut table_bytes = 0;
        let enters: Vec<bool> = fields
            .iter()
            .map(|field| {
                let bytes = field.name.len() + field.value.len() + ENTRY_BYTES;
                let enters = field.indexing == Indexing::Shared
                    && in_static_table(field).0.is_none()
                    && table_bytes + bytes <= TABLE_MAX_BYTES;
                table_bytes += if enters { bytes } else { 0 };
                enters
            })
            .collect();
        let mut forms = Forms { table_bytes, ..Forms::default() };
        // The youngest entry has the lowest index.
        let mut index = FIELDS.len() + enters.iter().filter(|enters| **enters).count();
        for (field, enters) in fields.iter().zip(enters) {
            write_field(&mut forms.plain, field);
            if enters {
                literal(&mut forms.first, 0x40, 6, field);
                write_integer(&mut forms.indexed, 0x80, 7, index);
                index -= 1;
            } else {
                write_field(&mut forms.first, field);
                write_field(&mut forms.indexed, field);
            }
        }
        forms
    }
}

pub fn write_field(out: &mut Vec<u8>, field: &Field<'_>) {
    match in_static_table(field).0 {
        Some(index) if field.indexing != Indexing::Never => write_integer(out, 0x80, 7, index),
        _ if field.indexing == Indexing::Never => literal(out, 0x10, 4, field),
        _ => literal(out, 0x00, 4, field),
    }
}

/// Appends an update of the table's size; it may stand only before a block's first field.
pub fn write_size_update(out: &mut Vec<u8>, bytes: usize) {
    write_integer(out, 0x20, 5, bytes);
}

fn in_static_table(field: &Field<'_>) -> (Option<usize>, Option<usize>) {
    let whole = FIELDS.iter().position(|(n, v)| *n == field.name && v.as_bytes() == field.value);
    let name = FIELDS.iter().position(|(n, _)| *n == field.name);
    (whole.map(|at| at + 1), name.map(|at| at + 1))
}

fn literal(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, field: &Field<'_>) {
    let index = in_static_table(field).1;
    write_integer(out, flags, prefix_bits, index.unwrap_or(0));
    if index.is_none() {
        string(out, field.name.as_bytes());
    }
    string(out, field.value);
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        write_integer(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        write_integer(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
