//! HTTP/2 (RFC 9113), pure: bytes in, decisions out. It reads no clock and owns no socket.
//!
//! [`frame`] and [`hpack`] are what both sides speak; [`client`] loads a server. Server push is refused, priorities are
//! neither sent nor heeded; between tolerance and refusal, where the standard leaves the choice, this refuses.

pub mod bytes;
pub mod client;
pub mod fields;
pub mod frame;
pub mod hpack;

/// How a body is coded, by its Content-Encoding (RFC 9110, section 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coding {
    #[default]
    Identity,
    Gzip,
    Brotli,
    /// Another, or several.
    Other,
}

impl Coding {
    /// The same with another field's codings.
    #[must_use]
    pub fn and(self, value: &[u8]) -> Coding {
        let names = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        names.fold(self, |before, name| match (before, name.to_ascii_lowercase().as_slice()) {
            (_, b"identity" | b"") => before,
            (Coding::Identity, b"gzip" | b"x-gzip") => Coding::Gzip,
            (Coding::Identity, b"br") => Coding::Brotli,
            _ => Coding::Other,
        })
    }
}

/// An error code, of a stream or of a connection (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// Not an error: a connection that ends in good order.
    pub const NO_ERROR: Code = Code(0);
    pub const PROTOCOL_ERROR: Code = Code(1);
    pub const INTERNAL_ERROR: Code = Code(2);
    /// The peer sent more than its window, or a window grew too large.
    pub const FLOW_CONTROL_ERROR: Code = Code(3);
    pub const STREAM_CLOSED: Code = Code(5);
    pub const FRAME_SIZE_ERROR: Code = Code(6);
    pub const REFUSED_STREAM: Code = Code(7);
    pub const CANCEL: Code = Code(8);
    pub const COMPRESSION_ERROR: Code = Code(9);
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    pub reason: &'static str,
}

impl Fault {
    pub const fn protocol(reason: &'static str) -> Fault {
        Fault { code: Code::PROTOCOL_ERROR, reason }
    }

    pub(crate) const fn calm(reason: &'static str) -> Fault {
        Fault { code: Code::ENHANCE_YOUR_CALM, reason }
    }
}

#[cfg(test)]
mod vector_tests;
