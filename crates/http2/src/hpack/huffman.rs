//! The Huffman code of HPACK (RFC 7541, Appendix B). It is canonical, so that the codes' lengths alone give it.

use super::{Fault, wrong};

/// The symbols: 256 bytes, and the end of a string, which never stands in one.
const SYMBOLS: usize = 257;
const END: u16 = 256;
const SHORTEST_BITS: usize = 5;
const LONGEST_BITS: usize = 30;
/// As many ones as the longest code has bits: the code of the end, whose beginning is what pads a string.
const ONES: u32 = (1 << LONGEST_BITS) - 1;

const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, //
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, //
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, //
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, //
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, //
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
    30,
];

struct Codes {
    lengths: [u8; SYMBOLS],
    codes: [u32; SYMBOLS],
    symbols: [u16; SYMBOLS],
    /// For each length: its first code, where that one's symbol stands in `symbols`, and the first code beyond.
    first: [u32; LONGEST_BITS + 1],
    place: [usize; LONGEST_BITS + 1],
    beyond: [u32; LONGEST_BITS + 1],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut made = Codes {
        lengths: LENGTHS,
        codes: [0; SYMBOLS],
        symbols: [0; SYMBOLS],
        first: [0; LONGEST_BITS + 1],
        place: [0; LONGEST_BITS + 1],
        beyond: [0; LONGEST_BITS + 1],
    };
    let (mut code, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST_BITS {
        code *= 2;
        made.first[length] = code;
        made.place[length] = place;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = code;
                made.symbols[place] = symbol as u16;
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        made.beyond[length] = code;
        length += 1;
    }
    made
}

pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    // The low `count` bits of `bits` are still to be read.
    let (mut bits, mut count) = (0u64, 0usize);
    let mut rest = input.iter();
    loop {
        while count <= 48
            && let Some(byte) = rest.next()
        {
            bits = (bits << 8) | u64::from(*byte);
            count += 8;
        }
        // The next 30 bits; ones where there are no more.
        let ahead = if count >= LONGEST_BITS {
            bits >> (count - LONGEST_BITS)
        } else {
            let missing = LONGEST_BITS - count;
            (bits << missing) | ((1 << missing) - 1)
        };
        let ahead = ahead as u32 & ONES;
        let mut length = SHORTEST_BITS;
        // It ends: no 30 bits are beyond the last code.
        while ahead >> (LONGEST_BITS - length) >= CODES.beyond[length] {
            length += 1;
        }
        if length > count {
            return if count < 8 && ahead == ONES {
                Ok(())
            } else {
                Err(wrong("a Huffman-coded string does not end as one does"))
            };
        }
        let code = ahead >> (LONGEST_BITS - length);
        let symbol = CODES.symbols[CODES.place[length] + (code - CODES.first[length]) as usize];
        if symbol == END {
            return Err(wrong("a Huffman-coded string has the end within it"));
        }
        out.push(symbol as u8);
        count -= length;
    }
}

/// How many bytes a text takes when it is coded.
pub(super) fn coded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(CODES.lengths[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0u32);
    for byte in text {
        let symbol = usize::from(*byte);
        let length = u32::from(CODES.lengths[symbol]);
        bits = (bits << length) | u64::from(CODES.codes[symbol]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push(((bits << (8 - count)) as u8) | (0xff >> count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lengths_are_those_of_a_whole_code() {
        // Every sequence of bits begins with one code: none is missing, none too many.
        assert_eq!(CODES.beyond[LONGEST_BITS], 1 << LONGEST_BITS);
        assert_eq!(CODES.place[LONGEST_BITS], SYMBOLS - 4);
    }

    #[test]
    fn codes_are_those_of_appendix_b() {
        for (symbol, code, bits) in [
            (0, 0x1ff8, 13),
            (9, 0x00ff_ffea, 24),
            (10, 0x3fff_fffc, 30),
            (22, 0x3fff_fffe, 30),
            (31, 0x0fff_fffb, 28),
            (usize::from(b' '), 0x14, 6),
            (usize::from(b'!'), 0x3f8, 10),
            (usize::from(b'/'), 0x18, 6),
            (usize::from(b'0'), 0x0, 5),
            (usize::from(b'<'), 0x7ffc, 15),
            (usize::from(b'Z'), 0xfd, 8),
            (usize::from(b'\\'), 0x7fff0, 19),
            (usize::from(b'a'), 0x3, 5),
            (usize::from(b'z'), 0x7b, 7),
            (usize::from(b'~'), 0x1ffd, 13),
            (127, 0x0fff_fffc, 28),
            (135, 0x007f_ffd9, 23),
            (176, 0x001f_ffe0, 21),
            (195, 0x7fff1, 19),
            (199, 0x01ff_ffec, 25),
            (203, 0x07ff_ffde, 27),
            (220, 0x0fff_fffd, 28),
            (239, 0x007f_fff4, 23),
            (254, 0x07ff_fff0, 27),
            (255, 0x03ff_ffee, 26),
            (256, 0x3fff_ffff, 30),
        ] {
            assert_eq!((CODES.codes[symbol], CODES.lengths[symbol]), (code, bits), "symbol {symbol}");
        }
    }

    fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(bytes, &mut out).ok().map(|()| out)
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        assert_eq!(decoded(&[]), Some(Vec::new()));
        // `0` is five zeros.
        assert_eq!(decoded(&[0b0000_0111]), Some(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0110]), None, "padding with a zero in it");
        assert_eq!(decoded(&[0b0000_0111, 0xff]), None, "eleven bits of padding");
        assert_eq!(decoded(&[0xff]), None, "eight bits of padding");
        assert_eq!(decoded(&[0b0000_0001]), None, "cut within a code");
        assert_eq!(decoded(&[0xff; 4]), None, "the end itself");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc]), None, "more of the end than padding");
    }

    proptest! {
        #[test]
        fn any_text_survives_encoding_and_decoding(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut coded = Vec::new();
            encode(&text, &mut coded);
            prop_assert_eq!(coded.len(), coded_length(&text));
            prop_assert_eq!(decoded(&coded), Some(text));
        }

        #[test]
        fn what_decodes_is_what_its_text_is_coded_as(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(text) = decoded(&bytes) {
                let mut again = Vec::new();
                encode(&text, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
