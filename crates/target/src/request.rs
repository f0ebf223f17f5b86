//! A request's head: bytes in, a decision out. `httparse` finds the tokens; what they mean is decided here, strictly: a
//! reference server that forgives a client's mistakes hides them.

use std::mem::MaybeUninit;

use crate::board::{self, Ask, Written};
use crate::query::{number, parameter};

/// Longest head, in bytes: request line and headers. This much is held per connection while a head is incomplete.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Largest body, in bytes. `/echo` holds it until it is sent back.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 20;
/// That of `/upload`, whose bodies are counted and not held.
const UPLOAD_BYTES_MAX: usize = 1 << 30;
const SLEEP_MS_MAX: u64 = 60_000;
/// Most steps of `/work`: about 0.15 s of one core, during which its event loop does nothing else.
const WORK_STEPS_MAX: u64 = 50_000_000;
/// Most headers, 32 bytes of stack each.
const HEADERS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `GET /`
    Text,
    /// `GET /json`
    Json,
    /// `POST /echo`
    Echo,
    /// `GET /sleep?ms=N`
    Sleep { wait_ns: u64 },
    /// `GET /work?n=N`
    Work { steps: u64 },
    /// `GET /-/ledger`
    Ledger,
    /// What the public boards ask for.
    Board(Ask),
    /// No such path.
    Unknown,
    /// The path exists, but not by this method; the methods that it has.
    NotAllowed(&'static str),
    /// A parameter, header or body is missing, no number or out of bounds; what to send.
    BadQuery(&'static str),
}

/// The paths that requests are counted by, the boards' behind them.
const PATHS: [&str; 6] = ["/", "/json", "/echo", "/sleep", "/work", "other"];
/// How many paths there are.
pub(crate) const PATHS_COUNT: usize = PATHS.len() + board::PATHS.len();

pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.into_iter().chain(board::PATHS)
}

impl Route {
    pub(crate) fn path_number(self) -> usize {
        match self {
            Route::Text => 0,
            Route::Json => 1,
            Route::Echo => 2,
            Route::Sleep { .. } => 3,
            Route::Work { .. } => 4,
            Route::Ledger | Route::Unknown | Route::NotAllowed(_) | Route::BadQuery(_) => 5,
            Route::Board(ask) => PATHS.len() + usize::from(ask.path),
        }
    }

    /// Whether the request's body is needed for the answer.
    pub(crate) fn keeps_body(self) -> bool {
        matches!(self, Route::Echo) || matches!(self, Route::Board(ask) if !ask.is_upload())
    }

    pub(crate) fn body_bytes_max(self) -> usize {
        if matches!(self, Route::Board(ask) if ask.is_upload()) { UPLOAD_BYTES_MAX } else { BODY_BYTES_MAX }
    }

    /// What is asked for once the body is there, of which so much came, and which may be wrong.
    pub(crate) fn checked(self, body: &[u8], came: usize, rows: &Written) -> Route {
        match self {
            Route::Board(ask) if !ask.is_there(rows) => Route::Unknown,
            Route::Board(ask) => ask.checked(body, came).map_or_else(Route::BadQuery, Route::Board),
            route => route,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// After this many bytes.
    Length(usize),
    /// By an empty chunk.
    Chunked,
}

/// What becomes of the connection after the answer, and whether the answer says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// HTTP/1.1's default: kept, unsaid.
    Keep,
    /// HTTP/1.0 that asked for it, as `ab -k` does: kept, and said.
    KeepSaid,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) route: Route,
    pub(crate) is_head: bool,
    pub(crate) persistence: Persistence,
    pub(crate) body_end: BodyEnd,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
    pub(crate) bytes: usize,
}

/// Why a request cannot be understood. The connection ends with the answer: where the next one begins is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not HTTP/1, or contradictory: 400.
    Malformed(&'static str),
    /// 413.
    BodyTooLarge,
    /// 431.
    HeadTooLarge,
    /// 501.
    TransferCoding,
    /// 505.
    Version,
}

/// Reads the head at the front of `bytes`; `None` while it is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Head>, Refusal> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut []);
    let head_bytes = match request.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete(head_bytes)) if head_bytes <= HEAD_BYTES_MAX => head_bytes,
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeadTooLarge),
        Err(httparse::Error::Version) => return Err(Refusal::Version),
        Err(_) => return Err(Refusal::Malformed("this is not an HTTP/1 request")),
    };
    let is_1_0 = request.version == Some(0);
    let facts = Facts::gather(request.headers)?;
    if facts.hosts != 1 && !(is_1_0 && facts.hosts == 0) {
        return Err(Refusal::Malformed("an HTTP/1.1 request has one Host header"));
    }
    let method = request.method.unwrap_or_default();
    let mut route = route(method, request.path.unwrap_or_default());
    if let Route::Board(ask) = &mut route {
        request.headers.iter().for_each(|header| ask.heard.hear(header.name.as_bytes(), header.value));
    }
    Ok(Some(Head {
        route,
        is_head: method == "HEAD",
        persistence: match (facts.close, is_1_0, facts.keep_alive) {
            (false, false, _) => Persistence::Keep,
            (false, true, true) => Persistence::KeepSaid,
            _ => Persistence::Close,
        },
        body_end: facts.body_end(is_1_0, route.body_bytes_max())?,
        expects_continue: facts.expects_continue && !is_1_0,
        bytes: head_bytes,
    }))
}

#[derive(Default)]
struct Facts {
    hosts: usize,
    length: Option<u64>,
    transfer_codings: usize,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl Facts {
    fn gather(headers: &[httparse::Header<'_>]) -> Result<Facts, Refusal> {
        let mut facts = Facts::default();
        for header in headers {
            let (name, value) = (header.name, header.value.trim_ascii());
            if name.eq_ignore_ascii_case("host") {
                facts.hosts += 1;
            } else if name.eq_ignore_ascii_case("connection") {
                facts.close |= has_token(value, b"close");
                facts.keep_alive |= has_token(value, b"keep-alive");
            } else if name.eq_ignore_ascii_case("content-length") {
                let length =
                    Some(number(value).ok_or(Refusal::Malformed("the Content-Length is not a number"))?);
                if facts.length.is_some() && facts.length != length {
                    return Err(Refusal::Malformed("there are two Content-Lengths"));
                }
                facts.length = length;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                facts.transfer_codings += 1;
                facts.chunked = value.eq_ignore_ascii_case(b"chunked");
            } else if name.eq_ignore_ascii_case("expect") {
                facts.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
            }
        }
        Ok(facts)
    }

    /// Two readings of where a body ends are how requests are smuggled: refused (RFC 9112, 6.1 and 6.3).
    fn body_end(&self, is_1_0: bool, most: usize) -> Result<BodyEnd, Refusal> {
        match (self.transfer_codings, self.length) {
            (0, None) => Ok(BodyEnd::Length(0)),
            (0, Some(length)) => match usize::try_from(length) {
                Ok(length) if length <= most => Ok(BodyEnd::Length(length)),
                _ => Err(Refusal::BodyTooLarge),
            },
            (_, Some(_)) => Err(Refusal::Malformed("there are a Content-Length and a Transfer-Encoding")),
            _ if is_1_0 => Err(Refusal::Malformed("HTTP/1.0 has no Transfer-Encoding")),
            (1, None) if self.chunked => Ok(BodyEnd::Chunked),
            _ => Err(Refusal::TransferCoding),
        }
    }
}

/// Whether a comma-separated list has `token`, in any case.
fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token))
}

/// What is asked for by a method and a path, which may have a query.
pub(crate) fn route(method: &str, target: &str) -> Route {
    let target = origin_form(target);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (wanted, methods) = match path {
        "/" => (Route::Text, "GET, HEAD"),
        "/json" => (Route::Json, "GET, HEAD"),
        "/echo" => (Route::Echo, "POST"),
        "/sleep" => (sleep(query), "GET, HEAD"),
        "/work" => (work(query), "GET, HEAD"),
        "/-/ledger" => (Route::Ledger, "GET, HEAD"),
        _ => match board::ask(method, path, query) {
            Some((asked, methods)) => (asked.map_or_else(Route::BadQuery, Route::Board), methods),
            None => return Route::Unknown,
        },
    };
    if methods.split(", ").any(|m| m == method) { wanted } else { Route::NotAllowed(methods) }
}

/// `http://host/path`, which every server has to understand (RFC 9112, 3.2.2), is `/path`.
fn origin_form(target: &str) -> &str {
    let Some(after_scheme) = target.strip_prefix("http://") else { return target };
    after_scheme.find(['/', '?']).map_or("/", |at| &after_scheme[at..])
}

fn sleep(query: &str) -> Route {
    match parameter(query, "ms") {
        Some(ms) if ms <= SLEEP_MS_MAX => Route::Sleep { wait_ns: ms * 1_000_000 },
        _ => Route::BadQuery("ask for /sleep?ms=N with N from 0 to 60000"),
    }
}

fn work(query: &str) -> Route {
    match parameter(query, "n") {
        Some(steps) if steps <= WORK_STEPS_MAX => Route::Work { steps },
        _ => Route::BadQuery("ask for /work?n=N with N from 0 to 50000000"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        parse(text.as_bytes()).unwrap().unwrap()
    }

    fn get(target: &str) -> Route {
        head(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).route
    }

    #[test]
    fn routes_of_the_contract() {
        assert_eq!(get("/"), Route::Text);
        assert_eq!(get("/?x=1"), Route::Text);
        assert_eq!(get("http://a:80/json"), Route::Json);
        assert_eq!(get("http://a"), Route::Text);
        assert_eq!(get("/-/ledger"), Route::Ledger);
        assert_eq!(get("/sleep?ms=20"), Route::Sleep { wait_ns: 20_000_000 });
        assert_eq!(get("/work?a=b&n=7"), Route::Work { steps: 7 });
        assert_eq!(get("/jsonx"), Route::Unknown);
        assert_eq!(get("/echo"), Route::NotAllowed("POST"));
        for target in [
            "/sleep",
            "/sleep?ms=",
            "/sleep?ms=-1",
            "/sleep?ms=%2B1",
            "/sleep?ms=+1",
            "/sleep?ms=60001",
            "/work?n=x",
        ] {
            assert!(matches!(get(target), Route::BadQuery(_)), "{target}");
        }
    }

    #[test]
    fn persistence_is_that_of_http_1_1() {
        let of = |version, connection| {
            head(&format!("GET / HTTP/{version}\r\nHost: a\r\nConnection: {connection}\r\n\r\n")).persistence
        };
        assert_eq!(of("1.1", "keep-alive"), Persistence::Keep);
        assert_eq!(of("1.1", "Upgrade, CLOSE"), Persistence::Close);
        assert_eq!(of("1.1", "closed"), Persistence::Keep);
        assert_eq!(of("1.0", "x"), Persistence::Close);
        assert_eq!(of("1.0", "Keep-Alive"), Persistence::KeepSaid);
        assert_eq!(of("1.0", "keep-alive, close"), Persistence::Close);
    }

    #[test]
    fn bodies_end_in_one_way_only() {
        let of = |headers: &str| {
            let text = format!("POST /echo HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n");
            parse(text.as_bytes()).map(|head| head.unwrap().body_end)
        };
        assert_eq!(of("Content-Length: 12"), Ok(BodyEnd::Length(12)));
        assert_eq!(of("Content-Length: 12\r\nContent-Length: 12"), Ok(BodyEnd::Length(12)));
        assert_eq!(of("Transfer-Encoding: Chunked"), Ok(BodyEnd::Chunked));
        assert_eq!(of("Content-Length: 16777217"), Err(Refusal::BodyTooLarge));
        assert_eq!(of("Content-Length: 18446744073709551615"), Err(Refusal::BodyTooLarge));
        assert_eq!(of("Transfer-Encoding: gzip, chunked"), Err(Refusal::TransferCoding));
        for headers in [
            "Content-Length: 12\r\nContent-Length: 13",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Content-Length: +1",
            "Content-Length: ",
            "Content-Length: 99999999999999999999999",
        ] {
            assert!(matches!(of(headers), Err(Refusal::Malformed(_))), "{headers}");
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let refusal = |text: &str| parse(text.as_bytes()).unwrap_err();
        for text in [
            "\0\0",
            "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "G@T / HTTP/1.1\r\n",
        ] {
            assert!(matches!(refusal(text), Refusal::Malformed(_)), "{text}");
        }
        assert_eq!(refusal("PRI * HTTP/2.0\r\n\r\n"), Refusal::Version);
        assert_eq!(
            refusal(&format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(HEAD_BYTES_MAX))),
            Refusal::HeadTooLarge
        );
        assert_eq!(
            refusal(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))),
            Refusal::HeadTooLarge
        );
        let long = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(refusal(&long), Refusal::HeadTooLarge, "complete heads have the same limit");
    }

    #[test]
    fn a_heads_prefix_is_incomplete_and_what_follows_is_ignored() {
        let text = "GET /json HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert_eq!(head(&format!("{text}GET")).bytes, text.len());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        use rand_chacha::rand_core::{Rng, SeedableRng};
        let seed =
            b"POST http://a/sleep?ms=5 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..20_000 {
            let mut bytes = seed.to_vec();
            for _ in 0..random.next_u32() % 6 {
                let at = random.next_u32() as usize % bytes.len();
                bytes[at] = random.next_u32() as u8;
            }
            let _ = parse(&bytes);
        }
    }
}
