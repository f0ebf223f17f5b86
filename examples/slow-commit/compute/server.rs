//! A small application that answers every GET. A slow commit sets TURNS to 200000: each answer is then computed by `burn_cpu`.
//!
//!     rustc -O -g server.rs -o server && ./server 8080

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const TURNS: u32 = 0;

#[inline(never)]
fn burn_cpu(turns: u32) -> u32 {
    (0..turns).fold(0, |sum: u32, i| black_box(sum.wrapping_mul(31).wrapping_add(i)))
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    for line in lines {
        // An empty line ends a request.
        if line?.is_empty() {
            let sum = if TURNS > 0 { burn_cpu(black_box(TURNS)) } else { 1 };
            let body = format!("{sum}\n");
            write!(stream, "{}", format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))?;
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(8080);
    for stream in TcpListener::bind(("127.0.0.1", port))?.incoming() {
        let stream = stream?;
        thread::spawn(move || serve(stream));
    }
    Ok(())
}
