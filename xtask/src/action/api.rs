//! An API that takes comments and lists them, as GitHub's and GitLab's do, and keeps what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::loopback::serve;

const GITHUB: &str = "/repos/owner/shop/issues/7/comments";
const GITLAB: &str = "/projects/42/merge_requests/5/notes";
const CHANGE: [&str; 2] =
    ["PATCH /repos/owner/shop/issues/comments/31 ", "PUT /projects/42/merge_requests/5/notes/31 "];

/// Requests, each with its first line and its token, and its body.
type Asked = Vec<(String, String)>;

/// It answers until this process ends.
pub(super) struct Api {
    address: SocketAddr,
    asked: Arc<Mutex<Asked>>,
}

impl Api {
    pub(super) fn start() -> Result<Api, String> {
        let asked = Arc::new(Mutex::new(Asked::new()));
        let keeps = asked.clone();
        // A client that goes away has no answer to get.
        let address = serve(move |stream| drop(answer(stream, &keeps)))?;
        Ok(Api { address, asked })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn asked(&self) -> Asked {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Asked>) -> std::io::Result<()> {
    let (mut seen, mut piece) = (Vec::new(), [0; 8192]);
    let (head, body) = loop {
        let n = stream.read(&mut piece)?;
        seen.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if seen.len() >= head.len() + 4 + length.unwrap_or(0) {
                break (head.to_owned(), body.to_owned());
            }
        }
        if n == 0 {
            return Ok(());
        }
    };
    let first = head.lines().next().unwrap_or_default().to_owned();
    let tokens = ["Authorization: Bearer ", "PRIVATE-TOKEN: "];
    let token = |line: &'_ str| tokens.iter().find_map(|name| line.strip_prefix(name).map(str::to_owned));
    let token = head.lines().find_map(token).unwrap_or_default();
    let mut all = asked.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((format!("{first} {token}"), body));
    let comments = [GITHUB, GITLAB].into_iter().find(|comments| first.contains(comments)).unwrap_or(GITHUB);
    let is_bot = json!({ "type": "Bot" });
    let (status, text) = if first.starts_with(&format!("GET {comments}?")) {
        // What was written is there the next time.
        let posted = all.iter().filter(|(line, _)| line.starts_with("POST"));
        let of = |body: &str| serde_json::from_str::<Value>(body).unwrap_or_default()["body"].take();
        let list: Vec<Value> =
            posted.map(|(_, body)| json!({ "id": 31, "body": of(body), "user": is_bot })).collect();
        ("200 OK", Value::from(list).to_string())
    } else if first.starts_with(&format!("POST {comments} ")) {
        ("201 Created", "{}".to_owned())
    } else if CHANGE.iter().any(|change| first.starts_with(change)) {
        ("200 OK", "{}".to_owned())
    } else {
        ("404 Not Found", "{}".to_owned())
    };
    let length = text.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
}
