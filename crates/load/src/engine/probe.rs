//! Before the clock of a load that pipelines: whether the server answers each request once.

use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::http1::{Framer, Heads, Progress, RequestBytes};
use crate::net::dial::Dialer;
use crate::net::endpoint::Endpoint;
use crate::tls;
use prony_model::Plan;
use prony_model::measurement::RunTotal;

/// How long the responses may take in all. Of a server that is slower only the end of the load tells.
const RESPONSES: Duration = Duration::from_secs(1);
/// Nothing more is to come once so long nothing came.
const SILENCE: Duration = Duration::from_millis(50);

/// Sends as many requests as a connection carries at once, and counts them, their responses, and whether more comes.
/// Only requests that may be repeated (RFC 9110, section 9.2.1). Whatever else goes wrong, the load itself will say.
pub(super) fn probe(
    plan: &Plan,
    requests: &RequestBytes,
    endpoint: &Endpoint,
    tls: Option<&tls::Setup>,
) -> RunTotal {
    let is_safe = plan.work.list().is_none()
        && plan.values.is_empty()
        && matches!(plan.work.method(), "GET" | "HEAD" | "OPTIONS");
    let pipelines = plan.pipeline > 1 && plan.keepalive;
    let mut seen = RunTotal::default();
    if pipelines && is_safe && plan.sources.is_empty() && plan.body.is_empty() {
        // What was counted until then stands.
        let _ = ask(&Dialer::to(endpoint, plan, tls), plan, requests, &mut seen);
    }
    seen
}

fn ask(dialer: &Dialer, plan: &Plan, requests: &RequestBytes, seen: &mut RunTotal) -> io::Result<()> {
    let (count, timeout) = (u64::from(plan.pipeline), plan.timeout.min(RESPONSES));
    let mut connection = dialer.connect(timeout)?;
    seen.connections = 1;
    connection.write_all(&requests.bytes(0).repeat(plan.pipeline as usize))?;
    seen.sent = count;
    let (mut framer, mut heads) = (Framer::new(), Heads::new());
    let is_head = plan.work.method() == "HEAD";
    let (deadline, mut buffer) = (Instant::now() + timeout, vec![0; 64 << 10]);
    loop {
        let is_over = seen.completed == count;
        let left = if is_over { SILENCE } else { deadline.saturating_duration_since(Instant::now()) };
        if left.is_zero() {
            return Ok(());
        }
        connection.set_timeout(left)?;
        let read = connection.read(&mut buffer)?;
        let mut rest = &buffer[..read];
        if rest.is_empty() {
            return Ok(());
        }
        while !rest.is_empty() {
            if seen.completed == count {
                seen.unasked = 1;
                return Ok(());
            }
            match framer.feed(rest, is_head, &mut heads, &mut |_| {}) {
                Ok(Progress::Done { consumed, reusable, .. }) => {
                    rest = &rest[consumed..];
                    seen.completed += 1;
                    if !reusable {
                        return Ok(());
                    }
                }
                Ok(Progress::More) => break,
                Err(_) => return Ok(()),
            }
        }
    }
}
