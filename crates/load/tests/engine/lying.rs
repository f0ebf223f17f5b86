//! A server that says what a test tells it to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Serves each connection in a thread of its own with `talk`, which gets the
/// stream and the connection's number. It ends with the test's process.
pub fn serve(talk: impl Fn(TcpStream, usize) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let talk = talk.clone();
            thread::spawn(move || talk(stream, number));
        }
    });
    address
}

/// Reads one request without a body; false at the peer's end.
pub fn read_request(stream: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// A server that answers every request with the same bytes.
pub fn always(answer: &'static [u8]) -> SocketAddr {
    serve(move |mut stream, _| {
        while read_request(&mut stream) {
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

/// A server that answers one request a connection with these bytes and closes.
pub fn once(answer: &'static [u8]) -> SocketAddr {
    serve(move |mut stream, _| {
        if read_request(&mut stream) {
            let _ = stream.write_all(answer);
        }
    })
}
