//! From an answer that is due to frames, as far as the client's windows and the outbox have room.

use std::mem;

use prony_http2::Code;
use prony_http2::frame::{FRAME_MAX_BYTES, write};
use prony_http2::hpack::{Field, Indexing, write_field, write_size_update};

use super::{Http2, Phase};
use crate::answer::{Answer, Writer};
use crate::ledger::Counts;
use crate::outbox::{Account, Outbox};

impl Http2 {
    /// Sends an answer's head, unless its stream is gone or to be reset; its body goes with [`Http2::pump`].
    pub(crate) fn respond(
        &mut self,
        id: u32,
        answer: Answer,
        account: Account,
        writer: &Writer,
        outbox: &mut Outbox,
        tally: &mut Counts,
    ) {
        // Our settings come before any answer.
        self.unload(outbox);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let number = stream.number;
        if number > 0
            && self.config.reset_every.is_some_and(|every| number.is_multiple_of(every.get().into()))
        {
            tally.streams_reset += 1;
            self.forget(id, Code::INTERNAL_ERROR);
            return;
        }
        let is_head = answer.is_head;
        let reply = answer.content.reply(&writer.rows);
        let length = reply.body.bytes(writer).len();
        let ends = is_head || length == 0;
        if !ends {
            stream.phase = Phase::Answering { body: reply.body, sent: 0, account };
            self.answering.push_back(id);
        }
        let mut block = self.block_start();
        // Of "200 OK" the number.
        let status = reply.status.as_bytes().get(..3).unwrap_or_default();
        write_field(&mut block, &once(":status", status));
        write_field(&mut block, &once("content-type", reply.kind.as_bytes()));
        write_field(&mut block, &once("content-length", length.to_string().as_bytes()));
        if !reply.encoding.is_empty() {
            write_field(&mut block, &once("content-encoding", reply.encoding.as_bytes()));
        }
        if !reply.allow.is_empty() {
            write_field(&mut block, &once("allow", reply.allow.as_bytes()));
        }
        outbox.push(part_of(account, ends), |out| write::headers(out, id, ends, &[&block]));
        if ends {
            self.close(id);
        }
    }

    /// What is no answer's, and what the windows allow of bodies, a frame of each in turn, until `room` is used. True
    /// where only room was missing.
    pub(crate) fn pump(&mut self, writer: &Writer, outbox: &mut Outbox, room: usize) -> bool {
        self.unload(outbox);
        let mut held = 0;
        while self.outflow > 0
            && held < self.answering.len()
            && let Some(id) = self.answering.pop_front()
        {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            let Phase::Answering { body, sent, account } = &mut stream.phase else { continue };
            let window = self.outflow.min(stream.outflow).clamp(0, i64::from(FRAME_MAX_BYTES)) as usize;
            let left = body.bytes(writer).get(*sent..).unwrap_or_default();
            let now = left.get(..window).unwrap_or(left);
            if now.is_empty() {
                held += 1;
                self.answering.push_back(id);
                continue;
            }
            if outbox.unsent_bytes() >= room {
                self.answering.push_front(id);
                return true;
            }
            held = 0;
            let ends = now.len() == left.len();
            outbox.push(part_of(*account, ends), |out| write::data(out, id, ends, now));
            *sent += now.len();
            stream.outflow -= now.len() as i64;
            self.outflow -= now.len() as i64;
            if ends {
                self.close(id);
            } else {
                self.answering.push_back(id);
            }
        }
        false
    }

    fn unload(&mut self, outbox: &mut Outbox) {
        if !self.out.is_empty() {
            outbox.push(Account::Uncounted, |out| out.append(&mut self.out));
        }
    }

    /// Tells the client to send its request's body.
    pub(super) fn go_on(&mut self, id: u32) {
        let mut block = self.block_start();
        write_field(&mut block, &once(":status", b"100"));
        write::headers(&mut self.out, id, false, &[&block]);
    }

    fn block_start(&mut self) -> Vec<u8> {
        let mut block = Vec::new();
        // No answer uses the table: at nothing it stays.
        if mem::take(&mut self.resized) {
            write_size_update(&mut block, 0);
        }
        block
    }
}

fn once<'a>(name: &'a str, value: &'a [u8]) -> Field<'a> {
    Field { name, value, indexing: Indexing::Once }
}

/// What a part of an answer is counted as: the last one makes it answered; all of the ledger's are left out.
fn part_of(account: Account, ends: bool) -> Account {
    if ends || account == Account::Ledger { account } else { Account::Uncounted }
}
