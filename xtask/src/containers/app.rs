//! An application as an image has it: `{"items":[]}` on the port of its first argument, `--listen=PORT`, else of
//! `PORT`; compiled by `cargo xtask containers` alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            request.drain(..end + 4);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}")?;
        }
        match stream.read(&mut bytes)? {
            0 => return Ok(()),
            n => request.extend_from_slice(&bytes[..n]),
        }
    }
}

fn main() {
    let given = std::env::args().nth(1).and_then(|text| text.strip_prefix("--listen=").map(str::to_owned));
    let port = given.or_else(|| std::env::var("PORT").ok()).expect("no port");
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).expect("the port is taken");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || serve(stream));
    }
}
