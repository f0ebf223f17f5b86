//! What both sides say once they have agreed on keys: messages in sealed pieces.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fragments::{Joining, split};
use crate::job::Frame;
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct SealedMessages {
    session: Session,
    joining: Joining,
    sent: u64,
}

impl SealedMessages {
    pub(crate) fn of(session: Session) -> SealedMessages {
        SealedMessages { session, joining: Joining::default(), sent: 0 }
    }

    /// The frames of a message. Sealing fails beyond 256 GiB; what is not sent is said again.
    pub(crate) fn seal(&mut self, message: &impl Serialize) -> Vec<Vec<u8>> {
        self.sent += 1;
        let Ok(text) = serde_json::to_vec(message) else { return Vec::new() };
        let sealed = split(self.sent, &text).into_iter().filter_map(|piece| self.session.seal(piece).ok());
        sealed.map(|sealed| Frame::Sealed(sealed).to_bytes()).collect()
    }

    /// The message that a sealed piece completes. Nothing that a stranger sends is kept.
    pub(crate) fn open<T: DeserializeOwned>(&mut self, sealed: Vec<u8>) -> Option<T> {
        let text = self.joining.add(&self.session.open(sealed)?)?;
        serde_json::from_slice(&text).ok()
    }
}
