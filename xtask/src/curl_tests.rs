//! `cargo xtask curl-tests PATH`: the HTTP test cases of a checkout of curl that are a plain GET. A server on loopback
//! sends the case's reply, `prony load -n 1` asks for it, and what becomes of the request is held against curl's exit
//! code; differences are explained in decision 0034. The format is that of curl's docs/tests/FILEFORMAT.md as far as
//! such cases need it; features that a build of curl may lack count as absent.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use crate::{files, loopback, programs};

/// How the one URL of a case begins.
const URL: &str = "http://%HOSTIP:%HTTPPORT/";
/// Flags that change nothing of what becomes of a plain GET, and those of them that take a value.
const FLAGS: &[&str] = &["-i", "--include", "-s", "-S", "-sS", "-v", "--silent", "--show-error"];
const FLAGS_WITH_VALUE: &[&str] = &["-o", "--output", "-D", "--dump-header", "-w", "-H", "-A", "-b"];
/// What is written for bytes or values.
const WRITTEN_FOR: &[(&str, &str)] = &[
    ("%HOSTIP", "127.0.0.1"),
    ("%HTTPPORT", "80"),
    ("%VERSION", "8.0.0"),
    ("%CR", "\r"),
    ("%SP", " "),
    ("%TAB", "\t"),
    ("%AMP", "&"),
    ("%GT", ">"),
    ("%LT", "<"),
];
/// Orders to curl's server that change when bytes are sent and not which.
const SERVER_ORDERS: &[&str] = &["writedelay:", "connection-monitor"];

struct Case {
    number: u32,
    reply: Vec<u8>,
    /// 0: curl takes the reply.
    exit_code: u32,
}

#[derive(Parser)]
pub(crate) struct Asked {
    /// A checkout of github.com/curl/curl
    path: PathBuf,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let prony = crate::prony(root)?;
    let (mut all, mut cases) = (0, Vec::new());
    for path in files::list(&asked.path.join("tests/data"))? {
        let number = files::name(&path).strip_prefix("test").and_then(|number| number.parse().ok());
        if let (Some(number), Ok(text)) = (number, files::read(&path)) {
            all += 1;
            cases.extend(case(number, &text));
        }
    }
    cases.sort_by_key(|case| case.number);
    let mut differences: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let (mut agree, mut tolerated) = (0, Vec::new());
    for case in &cases {
        let (failure, noted) = ask(&prony, case)?;
        tolerated.extend(noted.then_some(case.number));
        let difference = match (case.exit_code, failure) {
            (0, Some(why)) => format!("curl takes it, Prony refuses: {why}"),
            (1.., None) => format!("curl refuses it ({}), Prony takes it", case.exit_code),
            _ => {
                agree += 1;
                continue;
            }
        };
        differences.entry(difference).or_default().push(case.number);
    }
    println!("curl-tests: {} of {all} cases are a plain GET; Prony and curl agree on {agree}", cases.len());
    for (difference, numbers) in differences {
        println!("  {difference}: {numbers:?}");
    }
    println!("  taken with a note: {tolerated:?}");
    Ok(())
}

/// The case of a test file; `None` where it is more than a plain GET.
fn case(number: u32, text: &str) -> Option<Case> {
    let is_tool = part(text, "client", "tool").is_some();
    let (_, server) = part(text, "client", "server")?;
    let (how, command) = part(text, "client", "command")?;
    let orders = part(text, "reply", "servercmd").map_or("", |(_, orders)| orders);
    let harmless = |line: &str| line.is_empty() || SERVER_ORDERS.iter().any(|order| line.starts_with(order));
    let is_http = server.trim() == "http" && orders.lines().all(harmless);
    if is_tool || !is_http || how.contains("type=") || !is_plain(command) {
        return None;
    }
    let exit_code = part(text, "verify", "errorcode").map_or("0", |(_, code)| code.trim()).parse().ok()?;
    let (attributes, data) = part(text, "reply", "data")?;
    let reply = reply(number, attributes, data)?;
    Some(Case { number, reply, exit_code })
}

/// Whether a command asks for one URL by GET, and nothing else that matters here.
fn is_plain(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let mut urls = 0;
    while let Some(word) = words.next() {
        match word {
            word if word.starts_with(URL) => urls += 1,
            word if FLAGS.contains(&word) => {}
            // A value in quotes may be several words.
            word if FLAGS_WITH_VALUE.contains(&word) => match words.next() {
                Some(value) if !value.contains(['"', '\'']) => {}
                _ => return false,
            },
            _ => return false,
        }
    }
    urls == 1
}

fn part<'a>(text: &'a str, section: &str, part: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(&format!("<{section}>"))?;
    let (inside, _) = rest.split_once(&format!("</{section}>"))?;
    let open = format!("<{part}");
    let mut rests = inside.match_indices(&open).map(|(at, _)| &inside[at + open.len()..]);
    // `<data` begins `<datacheck>`, too.
    let (attributes, rest) = rests.find(|rest| rest.starts_with(['>', ' ']))?.split_once(">\n")?;
    let (lines, _) = rest.split_once(&format!("</{part}>"))?;
    Some((attributes, lines))
}

/// The bytes that curl's server sends; `None` where they need what only curl's own test suite has.
fn reply(number: u32, attributes: &str, data: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Whether lines are shown, of each `%if` around; and whether the line before was a header's.
    let (mut shown, mut after_header) = (Vec::new(), false);
    for line in data.split_inclusive('\n') {
        if let Some(feature) = line.trim_start().strip_prefix("%if ") {
            shown.push(feature.starts_with('!'));
        } else if line.trim_start().starts_with("%else") {
            let last = shown.last_mut()?;
            *last = !*last;
        } else if line.trim_start().starts_with("%endif") {
            shown.pop()?;
        } else if shown.iter().all(|shown| *shown) {
            let mut line = expand(number, line)?;
            let header = attributes.contains("crlf=\"headers\"") && is_header(&line, after_header);
            after_header = header && line != b"\n";
            if header || attributes.contains("crlf=\"yes\"") {
                let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
                line.truncate(end.map_or(0, |at| at + 1));
                line.extend_from_slice(b"\r\n");
            }
            bytes.extend(line);
        }
    }
    if attributes.contains("nonewline=\"yes\"") && bytes.ends_with(b"\n") {
        bytes.pop();
    }
    Some(bytes)
}

/// A line with what stands for something replaced by it.
fn expand(number: u32, line: &str) -> Option<Vec<u8>> {
    let line = line.replace("%TESTNUMBER", &number.to_string());
    let line = WRITTEN_FOR.iter().fold(line, |line, (name, value)| line.replace(name, value));
    let mut bytes = Vec::new();
    let mut rest = line.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        rest = if let Some(after) = after.strip_prefix("hex[") {
            let (hex, after) = after.split_once("]hex%")?;
            bytes.extend(decoded(hex));
            after
        } else if let Some(after) = after.strip_prefix("repeat[") {
            let (count, after) = after.split_once(" x ")?;
            let (what, after) = after.split_once("]%")?;
            bytes.extend(decoded(what).repeat(count.parse().ok()?));
            after
        } else if after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        } else {
            bytes.push(b'%');
            after
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// Bytes with `%XX` for some of them.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let hex = rest.get(1..3).filter(|_| first == b'%');
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let length = if byte.is_some() { 3 } else { 1 };
        bytes.push(byte.unwrap_or(first));
        rest = rest.get(length..).unwrap_or_default();
    }
    bytes
}

/// Whether a line without a carriage return is a header's: curl's test suite guesses, too.
fn is_header(line: &[u8], after_header: bool) -> bool {
    let text = String::from_utf8_lossy(line);
    let name = text.split_once(": ").map_or("", |(name, _)| name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_field = !name.is_empty() && name.chars().all(is_name);
    !text.contains('\r') && (text.starts_with("HTTP/") || is_field || (after_header && text == "\n"))
}

/// Serves the reply and asks for it: why the request failed, if it did, and whether the response was only tolerated.
fn ask(prony: &Path, case: &Case) -> Result<(Option<String>, bool), String> {
    let address = serve(case.reply.clone())?;
    let url = format!("http://{address}/");
    let line = ["load", &url, "-n", "1", "-c", "1", "--timeout", "3s", "--json", "-"];
    let trial =
        programs::json(Command::new(prony).args(line)).map_err(|e| format!("test{}: {e}", case.number))?;
    let first = trial["first_errors"].as_object().and_then(|errors| errors.iter().next());
    // curl, too, has got a response whose status says that something is wrong.
    let failure = first.filter(|(kind, _)| *kind != "unexpected_status");
    let failure = failure.map(|(kind, why)| format!("{kind}: {}", why.as_str().unwrap_or_default()));
    let reasons = trial["verdict"]["reasons"].as_array().map_or(&[][..], Vec::as_slice);
    let tolerated = reasons.iter().any(|reason| reason["code"] == "tolerated_responses");
    Ok((failure, tolerated))
}

/// A server that sends a reply, and closes where curl's would. It ends with this task.
fn serve(reply: Vec<u8>) -> Result<SocketAddr, String> {
    let closes = reply.is_empty() || reply.windows(8).any(|bytes| bytes == b"swsclose");
    loopback::serve(move |stream| answer(stream, &reply, closes))
}

fn answer(mut stream: TcpStream, reply: &[u8], closes: bool) {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        request.extend_from_slice(&piece[..count]);
        // A client that refuses the reply need not read it to its end.
        if request.ends_with(b"\r\n\r\n") && (stream.write_all(reply).is_err() || closes) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
