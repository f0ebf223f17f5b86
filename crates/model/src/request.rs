//! What may stand in a request: its method and its headers.

use crate::error::{PlanError, wrong};
use crate::target::without_userinfo;

pub fn check_method(method: &str) -> Result<(), String> {
    if !is_token(method) {
        let method: String = without_userinfo(method).chars().take(40).collect();
        return Err(format!("{method:?} is not a method: write one like GET or POST."));
    }
    if method == "CONNECT" {
        return Err("CONNECT asks for a tunnel, which Prony does not load.".to_owned());
    }
    Ok(())
}

pub fn check_header(name: &str, value: &str) -> Result<(), PlanError> {
    if !is_token(name) {
        return wrong(format!("{name:?} is not a header's name: write -H 'Name: value'."));
    }
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return wrong(format!(
            "Prony writes the header {name} itself: leave it out, and give --chunked for a body in chunks."
        ));
    }
    if name.eq_ignore_ascii_case("content-length") {
        return wrong(format!("Prony writes the header {name} itself, from -b: leave it out."));
    }
    if value.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7f) {
        return wrong(format!("The value of the header {name} holds a control character."));
    }
    Ok(())
}

/// Fields about an HTTP/1 connection, which HTTP/2 does not have (RFC 9113, section 8.2.2).
const OF_CONNECTIONS: [&str; 4] = ["connection", "proxy-connection", "keep-alive", "upgrade"];

/// Whether a header may go over HTTP/2, too.
pub fn check_http2_header(name: &str, value: &str) -> Result<(), PlanError> {
    if OF_CONNECTIONS.iter().any(|other| name.eq_ignore_ascii_case(other)) {
        return wrong(format!(
            "The header {name} is about an HTTP/1 connection, which HTTP/2 does not have: leave it or --http2 out."
        ));
    }
    if name.eq_ignore_ascii_case("te") && !value.trim().eq_ignore_ascii_case("trailers") {
        return wrong(format!(
            "Over HTTP/2 the header {name} may only be `trailers`: write that, or leave the header or \
             --http2 out."
        ));
    }
    Ok(())
}

/// Whether it can be a method or a header's name.
pub(crate) fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte)
}

/// RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
