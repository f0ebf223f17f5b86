//! HTTP/2 (RFC 9113), pure: bytes in, decisions out. It reads no clock and owns no socket.
//!
//! [`frame`] and [`hpack`] are what both sides speak; [`client`] is a connection of one who loads a server. What a load
//! never needs is left out: server push is refused, priorities are neither sent nor heeded. Where the standard leaves a
//! choice between tolerance and refusal, this refuses.

pub mod bytes;
pub mod client;
pub mod fields;
pub mod frame;
pub mod hpack;

/// An error code, of a stream or of a connection (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// Not an error: a connection that ends in good order.
    pub const NO_ERROR: Code = Code(0);
    /// The peer broke a rule for which there is no other code.
    pub const PROTOCOL_ERROR: Code = Code(1);
    /// Something went wrong in who sends it.
    pub const INTERNAL_ERROR: Code = Code(2);
    /// The peer sent more than its window, or a window grew too large.
    pub const FLOW_CONTROL_ERROR: Code = Code(3);
    /// A frame came on a stream that had ended.
    pub const STREAM_CLOSED: Code = Code(5);
    /// A frame is longer or shorter than it may be.
    pub const FRAME_SIZE_ERROR: Code = Code(6);
    /// The request was not processed.
    pub const REFUSED_STREAM: Code = Code(7);
    /// The response is not wanted any more.
    pub const CANCEL: Code = Code(8);
    /// A header block could not be decoded.
    pub const COMPRESSION_ERROR: Code = Code(9);
    /// The peer asks for more than it may.
    pub const ENHANCE_YOUR_CALM: Code = Code(11);

    /// The code's name in the standard; of one that the standard does not have, `unknown`.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

/// Why a connection is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What the peer is told by GOAWAY.
    pub code: Code,
    pub reason: &'static str,
}

impl Fault {
    /// A rule was broken for which there is no other code.
    pub const fn protocol(reason: &'static str) -> Fault {
        Fault { code: Code::PROTOCOL_ERROR, reason }
    }

    /// The peer asks for more than it may.
    pub(crate) const fn calm(reason: &'static str) -> Fault {
        Fault { code: Code::ENHANCE_YOUR_CALM, reason }
    }
}

#[cfg(test)]
mod vector_tests;
