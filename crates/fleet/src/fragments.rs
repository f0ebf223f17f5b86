//! Messages in pieces that a NATS server takes: a megabyte, as it is set by default.

use std::collections::VecDeque;

/// The most bytes of a message in one piece.
const FRAGMENT_BYTES: usize = 512 << 10;
pub(crate) const MESSAGE_MAX_BYTES: usize = 48 << 20;
/// Messages of which pieces wait for the rest, and their bytes in all. What is lost is sent again whole.
const OPEN_MAX: usize = 8;
const OPEN_MAX_BYTES: usize = MESSAGE_MAX_BYTES;
const HEAD_BYTES: usize = 16;

pub(crate) fn split(number: u64, message: &[u8]) -> Vec<Vec<u8>> {
    let count = message.len().div_ceil(FRAGMENT_BYTES).max(1) as u32;
    let piece = |at: u32| {
        let from = at as usize * FRAGMENT_BYTES;
        let bytes = &message[from..message.len().min(from + FRAGMENT_BYTES)];
        [&number.to_le_bytes()[..], &at.to_le_bytes(), &count.to_le_bytes(), bytes].concat()
    };
    (0..count).map(piece).collect()
}

/// Pieces on their way to be messages again. Only what the other side has sealed is to come here.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    open: VecDeque<(u64, Vec<Option<Vec<u8>>>)>,
    bytes: usize,
}

impl Joining {
    /// Takes a piece; gives the message that it completes. What is no piece is left out.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let (head, bytes) = piece.split_at_checked(HEAD_BYTES)?;
        let number = u64::from_le_bytes(head[..8].try_into().ok()?);
        let at = u32::from_le_bytes(head[8..12].try_into().ok()?) as usize;
        let count = u32::from_le_bytes(head[12..].try_into().ok()?) as usize;
        if at >= count || count > MESSAGE_MAX_BYTES / FRAGMENT_BYTES || bytes.len() > FRAGMENT_BYTES {
            return None;
        }
        if count == 1 {
            return Some(bytes.to_vec());
        }
        let place = self.open.iter().position(|(open, _)| *open == number).unwrap_or_else(|| {
            self.open.push_back((number, vec![None; count]));
            self.open.len() - 1
        });
        let pieces = &mut self.open[place].1;
        if pieces.len() != count {
            return None;
        }
        let before = pieces[at].replace(bytes.to_vec()).map_or(0, |before| before.len());
        self.bytes = self.bytes + bytes.len() - before;
        if pieces.iter().all(Option::is_some) {
            let whole = self.close(place)?;
            return Some(whole.into_iter().flatten().flatten().collect());
        }
        while self.open.len() > OPEN_MAX || self.bytes > OPEN_MAX_BYTES {
            self.close(0)?;
        }
        None
    }

    fn close(&mut self, place: usize) -> Option<Vec<Option<Vec<u8>>>> {
        let (_, pieces) = self.open.remove(place)?;
        self.bytes -= pieces.iter().flatten().map(Vec::len).sum::<usize>();
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_are_the_message_again() {
        for length in [0, 1, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 3 * FRAGMENT_BYTES + 7] {
            let message: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut pieces = split(9, &message);
            pieces.reverse();
            assert!(pieces.iter().all(|piece| piece.len() <= FRAGMENT_BYTES + HEAD_BYTES));
            let mut joining = Joining::default();
            let (last, before) = pieces.split_last().unwrap();
            assert!(before.iter().all(|piece| joining.add(piece).is_none()));
            assert_eq!(joining.add(last), Some(message));
        }
    }

    #[test]
    fn malformed_pieces_are_left_out_and_open_ones_are_bounded() {
        let mut joining = Joining::default();
        let long = vec![1; 2 * FRAGMENT_BYTES];
        for number in 0..100 {
            assert_eq!(joining.add(&split(number, &long)[0]), None);
            assert!(joining.open.len() <= OPEN_MAX);
        }
        assert_eq!(joining.add(b"short"), None);
        let head =
            |at: u32, count: u32| [&[0; 8][..], &at.to_le_bytes(), &count.to_le_bytes(), b"x"].concat();
        assert_eq!(joining.add(&head(1, 1)), None);
        assert_eq!(joining.add(&head(0, u32::MAX)), None);
        assert_eq!(joining.add(&head(0, 1)), Some(b"x".to_vec()));
    }

    #[test]
    fn the_oldest_piece_makes_room_and_all_bytes_are_bounded() {
        let mut joining = Joining::default();
        let small = |number: u64| [&number.to_le_bytes()[..], &[0; 4], &2u32.to_le_bytes(), b"x"].concat();
        for number in 0..OPEN_MAX as u64 {
            assert_eq!(joining.add(&small(u64::MAX - number)), None);
        }
        let message = vec![7; FRAGMENT_BYTES + 1];
        let pieces = split(1, &message);
        assert_eq!(joining.add(&pieces[0]), None);
        assert_eq!(joining.add(&pieces[1]), Some(message), "high numbers are in nobody's way");
        // All but one piece of messages of the greatest length.
        let longest = vec![1; MESSAGE_MAX_BYTES];
        for number in 10..13 {
            let pieces = split(number, &longest);
            for piece in &pieces[1..] {
                assert_eq!(joining.add(piece), None);
                let pieces = joining.open.iter().flat_map(|(_, pieces)| pieces.iter().flatten());
                let held: usize = pieces.map(Vec::len).sum();
                assert!(held <= OPEN_MAX_BYTES && held == joining.bytes);
            }
        }
        assert_eq!(
            joining.add(&split(12, &longest)[0]).map(|message| message.len()),
            Some(MESSAGE_MAX_BYTES)
        );
    }
}
