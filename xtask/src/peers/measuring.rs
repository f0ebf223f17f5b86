//! What measuring each request takes over HTTP/2: its header block decoded, status, stream, duration, and a histogram.

use std::time::Instant;

use prony_http2::frame::{Piece, Reader, kind, write};
use prony_http2::hpack::Decoder;
use prony_model::histogram::Histogram;

#[derive(Debug)]
pub(super) struct Measuring {
    reader: Reader,
    decoder: Decoder,
    /// By stream, as many as are open at once: when its request was sent.
    sent: Vec<Instant>,
    wrong: u64,
}

impl Measuring {
    /// For so many streams at once, of which the first ones begin now. The server's settings have come.
    pub(super) fn new(streams: usize) -> Result<Measuring, String> {
        let sent = vec![Instant::now(); streams.next_power_of_two()];
        let mut one = Measuring { reader: Reader::default(), decoder: Decoder::new(), sent, wrong: 0 };
        let mut settings = Vec::new();
        write::settings(&mut settings, &[]);
        one.take(&settings, Instant::now(), &mut Histogram::default())?;
        Ok(one)
    }

    fn place(&self, stream: u32) -> usize {
        (stream as usize / 2) & (self.sent.len() - 1)
    }

    /// So many requests are sent at `now`, on the streams from `next` on.
    pub(super) fn begin(&mut self, next: u32, count: usize, now: Instant) {
        for stream in (next..).step_by(2).take(count) {
            let place = self.place(stream);
            self.sent[place] = now;
        }
    }

    /// Takes what was read at `now`, and gives how many responses ended.
    pub(super) fn take(
        &mut self,
        mut read: &[u8],
        now: Instant,
        durations: &mut Histogram,
    ) -> Result<usize, String> {
        let mut ended = 0;
        loop {
            match self.reader.next(&mut read).map_err(|fault| fault.reason.to_owned())? {
                Piece::More => break,
                Piece::Whole(frame, block) if frame.kind == kind::HEADERS => {
                    let mut is_right = false;
                    let field = |name: &[u8], value: &[u8]| is_right |= name == b":status" && value == b"200";
                    self.decoder.decode(block, field).map_err(|fault| fault.reason.to_owned())?;
                    self.wrong += u64::from(!is_right);
                }
                Piece::Data { frame, last: true, .. } => {
                    let took = now.saturating_duration_since(self.sent[self.place(frame.stream)]);
                    durations.record(took.as_nanos() as u64);
                    ended += 1;
                }
                Piece::Part(_) | Piece::Data { .. } | Piece::Whole(..) => {}
            }
        }
        if self.wrong > 0 { Err("a status is not 200".to_owned()) } else { Ok(ended) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::canned;
    use std::time::Duration;

    #[test]
    fn each_response_in_any_pieces_is_timed_from_its_own_request() {
        let mut bytes = Vec::new();
        canned::answer(&mut bytes, 1, b"Hello");
        canned::answer(&mut bytes, 3, b"Hello");
        let start = Instant::now();
        for piece in 1..=bytes.len() {
            let (mut one, mut durations) = (Measuring::new(2).unwrap(), Histogram::default());
            one.begin(1, 1, start);
            one.begin(3, 1, start + Duration::from_nanos(300));
            let now = start + Duration::from_nanos(1_000);
            let ended = bytes.chunks(piece).map(|read| one.take(read, now, &mut durations).unwrap());
            assert_eq!(ended.sum::<usize>(), 2);
            assert_eq!(durations.buckets().collect::<Vec<_>>(), [(700, 1), (1_000, 1)]);
        }
    }
}
