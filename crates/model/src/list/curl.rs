//! curl's command lines: of its options those that describe a request (curl.se/docs/manpage.html).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::reader::{Described, Reader, echo, text_of};
use super::{COMMAND_MAX_BYTES, OWN_MAX_BYTES};
use crate::secret::{gives, remember_listed};

pub(super) fn read(reader: &mut Reader<'_>, text: &[u8]) {
    let (mut command, mut quotes) = (Command::default(), Quotes::default());
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let trimmed = line.trim_ascii();
        if !quotes.is_open() && (trimmed.is_empty() || trimmed.starts_with(b"#")) && command.text.is_empty() {
            continue;
        }
        command.first = if command.text.is_empty() { number } else { command.first };
        let added = text_of(line.strip_suffix(b"\r").unwrap_or(line), COMMAND_MAX_BYTES).and_then(|line| {
            quotes.follow(line)?;
            command.add(line, &quotes)
        });
        if added.is_ok() && quotes.is_open() {
            continue;
        }
        let Command { first, text } = std::mem::take(&mut command);
        quotes = Quotes::default();
        let described = added.and_then(|()| describe(reader, &text));
        if !reader.take(Some(first), described) {
            return;
        }
    }
    if !command.text.is_empty() {
        let why = "It opens a quote that it does not close, or ends in a backslash.".to_owned();
        reader.take(Some(command.first), Err(why));
    }
}

#[derive(Default)]
struct Command {
    first: usize,
    text: String,
}

impl Command {
    fn add(&mut self, line: &str, quotes: &Quotes) -> Result<(), String> {
        if self.text.len() + line.len() > COMMAND_MAX_BYTES {
            return Err(format!("It has over {COMMAND_MAX_BYTES} bytes: give its body as @FILE."));
        }
        // An escaped line's end is nothing.
        self.text.push_str(if quotes.escaped { &line[..line.len() - 1] } else { line });
        self.text.push_str(if quotes.escaped { "" } else { "\n" });
        Ok(())
    }
}

/// What is open in a shell's text at the end of a line.
#[derive(Default)]
pub(super) struct Quotes {
    quote: Option<char>,
    escaped: bool,
}

impl Quotes {
    fn is_open(&self) -> bool {
        self.quote.is_some() || self.escaped
    }

    /// Whether a command goes on behind this line.
    pub(super) fn go_on(&mut self, line: &[u8]) -> bool {
        std::str::from_utf8(line).is_ok_and(|line| self.follow(line).is_ok()) && self.is_open()
    }

    /// Follows a line; refuses what a shell would put another text for, or take for more than one command.
    fn follow(&mut self, line: &str) -> Result<(), String> {
        self.escaped = false;
        let mut all = line.chars().peekable();
        while let Some(c) = all.next() {
            match (self.quote, c) {
                _ if self.escaped => self.escaped = false,
                (None | Some('"'), '\\') => self.escaped = true,
                (Some(open), c) if open == c => self.quote = None,
                (None, '\'' | '"') => self.quote = Some(c),
                (None | Some('"'), '`') => return Err(of_a_shell("`…`")),
                (quote @ (None | Some('"')), '$') => match all.peek() {
                    Some('\'') if quote.is_none() => return Err(of_a_shell("$'…'")),
                    Some(c) if c.is_ascii_alphanumeric() || "_{(".contains(*c) => {
                        return Err(of_a_shell("$…"));
                    }
                    _ => {}
                },
                (None, '|' | ';' | '<' | '>') => return Err(of_a_shell(&c.to_string())),
                (None, '&') => {
                    return Err(
                        "It has an & outside of quotes, where a shell's command ends: put the URL in quotes."
                            .to_owned(),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn of_a_shell(what: &str) -> String {
    format!(
        "It has {what}, which a shell puts another text for or runs: write out what it stands for, in single quotes."
    )
}

/// What an option is to a request.
#[derive(Clone, Copy)]
enum Means {
    Method,
    Header,
    /// The parts are joined by this; whether `@FILE` is a file, and whether its line breaks are left out.
    Data {
        joined: &'static str,
        file: bool,
        breaks: bool,
    },
    Json,
    User,
    Named(&'static str),
    Cookie,
    Get,
    Head,
    Compressed,
    Url,
    /// Nothing, and whether it takes a value.
    Nothing(bool),
    Refused(&'static str),
}

const AMP: &str = "&";

/// Short and long name, and what it means.
const OPTIONS: [(char, &str, Means); 26] = [
    ('X', "request", Means::Method),
    ('H', "header", Means::Header),
    ('d', "data", Means::Data { joined: AMP, file: true, breaks: false }),
    ('\0', "data-ascii", Means::Data { joined: AMP, file: true, breaks: false }),
    ('\0', "data-binary", Means::Data { joined: AMP, file: true, breaks: true }),
    ('\0', "data-raw", Means::Data { joined: AMP, file: false, breaks: true }),
    ('\0', "json", Means::Json),
    ('u', "user", Means::User),
    ('A', "user-agent", Means::Named("User-Agent")),
    ('e', "referer", Means::Named("Referer")),
    ('b', "cookie", Means::Cookie),
    ('G', "get", Means::Get),
    ('I', "head", Means::Head),
    ('\0', "compressed", Means::Compressed),
    ('\0', "url", Means::Url),
    ('s', "silent", Means::Nothing(false)),
    ('S', "show-error", Means::Nothing(false)),
    ('i', "include", Means::Nothing(false)),
    ('v', "verbose", Means::Nothing(false)),
    ('o', "output", Means::Nothing(true)),
    ('k', "insecure", Means::Refused("it is of the whole load: give -k to Prony")),
    ('L', "location", Means::Refused("Prony follows no redirect: leave it out, or request where it leads")),
    (
        'F',
        "form",
        Means::Refused(
            "a list's requests have no forms of several parts: give the body as --data-binary @FILE",
        ),
    ),
    ('m', "max-time", Means::Refused("it is of the whole load: give --timeout to Prony")),
    ('x', "proxy", Means::Refused("Prony loads servers directly")),
    ('\0', "http2", Means::Refused("it is of the whole load: give --http2 to Prony")),
];

/// A command's words, of which options take the next as their values.
struct Words {
    words: std::vec::IntoIter<String>,
    /// Letters of a word with several.
    letters: String,
}

impl Words {
    /// The next option with its value, or the URL as `Means::Url`.
    fn next(&mut self) -> Result<Option<(Means, String, String)>, String> {
        let Some(word) = self.letters_or_word() else { return Ok(None) };
        let (shown, known) = if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            (word.clone(), OPTIONS.into_iter().find(|(_, name, _)| *name == long))
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let letter = letters.chars().next().unwrap_or_default();
            letters[letter.len_utf8()..].clone_into(&mut self.letters);
            (format!("-{letter}"), OPTIONS.into_iter().find(|(short, ..)| *short == letter && letter != '\0'))
        } else {
            return Ok(Some((Means::Url, String::new(), word)));
        };
        let Some((_, _, means)) = known else {
            return Err(format!(
                "{} is no option of curl's that Prony reads from a list: leave it out.",
                echo(&shown)
            ));
        };
        let takes_none = matches!(
            means,
            Means::Get | Means::Head | Means::Compressed | Means::Nothing(false) | Means::Refused(_)
        );
        let value = match std::mem::take(&mut self.letters) {
            letters if takes_none => {
                self.letters = letters;
                String::new()
            }
            letters if !letters.is_empty() => letters,
            _ => self.words.next().ok_or_else(|| format!("{} has no value after it.", echo(&shown)))?,
        };
        Ok(Some((means, shown, value)))
    }

    fn letters_or_word(&mut self) -> Option<String> {
        match std::mem::take(&mut self.letters) {
            letters if letters.is_empty() => self.words.next(),
            letters => Some(format!("-{letters}")),
        }
    }
}

fn describe(reader: &mut Reader<'_>, text: &str) -> Result<Described, String> {
    let words = shlex::split(text).ok_or("Its quotes are none that a shell would take.")?;
    let mut words = Words { words: words.into_iter(), letters: String::new() };
    if words.words.next().as_deref() != Some("curl") {
        return Err("It is no command of curl's: begin it with curl.".to_owned());
    }
    let mut one = Described::default();
    let (mut method, mut url, mut is_get, mut is_form) = (None, None, false, false);
    // What options give a header, the last of each name; -H is before it.
    let mut usual: Vec<(&str, String)> = Vec::new();
    let mut or_header = |name: &'static str, text: &str| {
        usual.retain(|(given, _)| *given != name);
        usual.push((name, text.to_owned()));
    };
    while let Some((means, shown, value)) = words.next()? {
        match means {
            Means::Method => method = Some(value),
            Means::Header => match value.split_once(':') {
                // Without a value curl leaves out what it would send itself.
                Some((name, text)) => {
                    one.headers.push((name.trim().to_owned(), text.trim().to_owned()));
                }
                None => return Err("-H has no colon: write 'Name: value'.".to_owned()),
            },
            Means::Data { joined, file, breaks } => {
                is_form = true;
                data(reader, &mut one.body, &value, (joined, file, breaks))?;
            }
            Means::Json => {
                data(reader, &mut one.body, &value, ("", true, true))?;
                for (name, text) in [("Content-Type", "application/json"), ("Accept", "application/json")] {
                    or_header(name, text);
                }
            }
            Means::User => {
                remember_listed(&value);
                let pair = if value.contains(':') { value } else { format!("{value}:") };
                or_header("Authorization", &format!("Basic {}", STANDARD.encode(pair)));
            }
            Means::Named(name) => or_header(name, &value),
            Means::Cookie if value.contains('=') => one.headers.push(("Cookie".to_owned(), value)),
            Means::Cookie => return Err("-b names a file of cookies: write -b 'name=value'.".to_owned()),
            Means::Get => is_get = true,
            Means::Head => method = method.or_else(|| Some("HEAD".to_owned())),
            Means::Compressed => or_header("Accept-Encoding", "deflate, gzip, br"),
            Means::Url if url.is_none() => url = Some(value),
            Means::Url => return Err("It has two URLs: write a command for each.".to_owned()),
            Means::Nothing(_) => {}
            Means::Refused(why) => return Err(format!("{shown}: {why}.")),
        }
    }
    let mut url = url.ok_or("It has no URL.")?;
    if !url.contains("://") && !url.starts_with('/') {
        url = format!("http://{url}");
    }
    // An IPv6 address stands in brackets, too.
    if url.replacen("://[", "", 1).replace("{{", "").contains(['{', '[']) {
        return Err("Its URL has { or [, of which curl makes several: write a command for each.".to_owned());
    }
    if let Some(body) = one.body.take_if(|_| is_get) {
        let query =
            String::from_utf8(body).map_err(|_| "Its data is not UTF-8 and cannot stand in a URL.")?;
        url.push_str(if url.contains('?') { AMP } else { "?" });
        url.push_str(&query);
        is_form = false;
    }
    if is_form && !usual.iter().any(|(name, _)| *name == "Content-Type") {
        usual.push(("Content-Type", "application/x-www-form-urlencoded".to_owned()));
    }
    usual.retain(|(name, _)| !gives(&one.headers, name));
    one.headers.extend(usual.into_iter().map(|(name, text)| (name.to_owned(), text)));
    one.headers.retain(|(_, text)| !text.is_empty());
    let usual = if one.body.is_some() { "POST" } else { "GET" };
    Ok(Described { method: method.unwrap_or_else(|| usual.to_owned()), url, ..one })
}

/// Adds a part of a body.
fn data(
    reader: &mut Reader<'_>,
    body: &mut Option<Vec<u8>>,
    value: &str,
    (joined, file, breaks): (&str, bool, bool),
) -> Result<(), String> {
    let mut part = match value.strip_prefix('@').filter(|_| file) {
        Some(path) => reader.file(path)?,
        None => value.as_bytes().to_vec(),
    };
    if file && !breaks && value.starts_with('@') {
        part.retain(|byte| !b"\r\n\0".contains(byte));
    }
    if let Some(before) = body {
        before.extend_from_slice(joined.as_bytes());
    }
    let body = body.get_or_insert_default();
    if body.len() + part.len() > OWN_MAX_BYTES {
        return Err(format!("Its body has over {} MiB: give a shorter one.", OWN_MAX_BYTES >> 20));
    }
    body.extend(part);
    Ok(())
}
