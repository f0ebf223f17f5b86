//! Pools: agents that stand by at a NATS server, and the calls by which a controller asks for some. A call is signed by
//! the controller's key, names pool and run, and has an end and a number: an agent answers each once, with a greeting;
//! what it is told after that is sealed by keys of this run alone (`session`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nats::{Address, Login};
use crate::server::random_name;
use crate::session::{sign, verify};

/// How long a call holds. Clocks of controller and agents may differ by less than this.
const CALL_S: u64 = 30;
/// Calls that an agent remembers: all that still hold, of a controller that calls a hundred times a second.
const CALLS_MAX: usize = 4096;
/// What is stale is said once in so many seconds, however often somebody plays it again.
const STALE_SAID_EVERY_S: u64 = 60;
const DEFAULT_POOL: &str = "default";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// `nats://HOST:PORT`, or `tls://` where TLS is a must.
    pub url: String,
    pub name: String,
}

impl FromStr for Pool {
    type Err = String;

    fn from_str(text: &str) -> Result<Pool, String> {
        let wrong = |why: &str| {
            Err(format!(
                "{text:?} is not a pool of agents: {why}; write nats://HOST[:PORT][/POOL] or tls://…"
            ))
        };
        if text.contains('@') {
            return Err(
                "Do not write a NATS server's password into its address, which is recorded and shown: give \
                 an nkey, --nats-nkey FILE."
                    .to_owned(),
            );
        }
        let Some((scheme, rest)) =
            text.split_once("://").filter(|(scheme, _)| ["nats", "tls"].contains(scheme))
        else {
            return wrong("it begins with neither nats:// nor tls://");
        };
        let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
        let name = if name.is_empty() { DEFAULT_POOL } else { name };
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-:[]".contains(&b);
        if host.is_empty() || !host.bytes().all(is_plain) {
            return wrong("it has no valid host");
        }
        if name.len() > 64 || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)) {
            return wrong("a pool's name has letters, digits, - and _, 64 at most");
        }
        Ok(Pool { url: format!("{scheme}://{host}"), name: name.to_owned() })
    }
}

impl Pool {
    pub(crate) fn address(&self, login: &NatsLogin) -> Result<Address, String> {
        let seed = login.nkey.as_ref().map(|path| {
            let text = std::fs::read_to_string(path)
                .map_err(|e| format!("{} cannot be read: {e}.", path.display()))?;
            // Comments and headers stand around it in files of NATS's own tools.
            let seed = text.split_whitespace().find(|word| word.len() == 58 && word.starts_with("SU"));
            seed.map(str::to_owned).ok_or_else(|| {
                format!("{} has no seed of a user nkey, which is a line that begins with SU.", path.display())
            })
        });
        let login_as = seed.transpose()?.map_or(Login::Nobody, Login::Nkey);
        Ok(Address { url: self.url.clone(), login: login_as, authority: login.ca.clone(), cpus: Vec::new() })
    }

    pub(crate) fn calls(&self) -> String {
        format!("prony.pool.{}.call", self.name)
    }

    pub(crate) fn new_run(&self) -> Result<String, String> {
        Ok(format!("pool.{}.{}", self.name, random_name()?))
    }

    fn has_run(&self, run: &str) -> bool {
        let name = run.strip_prefix("pool.").and_then(|rest| rest.strip_prefix(self.name.as_str()));
        let random = name.and_then(|rest| rest.strip_prefix('.'));
        random.is_some_and(|random| random.len() == 32 && random.bytes().all(|b| b.is_ascii_hexdigit()))
    }
}

#[derive(Debug, Clone, Default)]
pub struct NatsLogin {
    pub nkey: Option<PathBuf>,
    /// The file of the authority that has signed its certificate, if it is none of the system's.
    pub ca: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Call {
    run: String,
    nonce: String,
    /// Seconds since 1970 between which it holds.
    from_s: u64,
    until_s: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Signed {
    call: String,
    signature: Vec<u8>,
}

pub(crate) fn call(run: &str, private: &[u8], now_s: u64) -> Result<Vec<u8>, String> {
    let call = Call { run: run.to_owned(), nonce: random_name()?, from_s: now_s, until_s: now_s + CALL_S };
    let call = serde_json::to_string(&call).map_err(|e| e.to_string())?;
    let signature = sign(private, call.as_bytes())?;
    serde_json::to_vec(&Signed { call, signature }).map_err(|e| e.to_string())
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    taken: BTreeMap<String, u64>,
    stale_said_s: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It is nobody's that the agent knows, or for another pool, or was answered, or is one more stale one.
    NotForIt,
    /// The controller's, and of another time: said as a sentence.
    Stale(String),
}

impl Calls {
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        pool: &Pool,
        controller: &[u8],
        now_s: u64,
    ) -> Result<String, Unanswered> {
        let signed: Signed = serde_json::from_slice(bytes).map_err(|_| Unanswered::NotForIt)?;
        verify(controller, signed.call.as_bytes(), &signed.signature).ok_or(Unanswered::NotForIt)?;
        let call: Call = serde_json::from_str(&signed.call).map_err(|_| Unanswered::NotForIt)?;
        if !pool.has_run(&call.run) || self.taken.contains_key(&call.nonce) {
            return Err(Unanswered::NotForIt);
        }
        let is_of_now =
            call.from_s <= now_s + CALL_S && now_s <= call.until_s && call.until_s <= call.from_s + CALL_S;
        if !is_of_now {
            if self.stale_said_s.is_some_and(|said_s| said_s.abs_diff(now_s) < STALE_SAID_EVERY_S) {
                return Err(Unanswered::NotForIt);
            }
            self.stale_said_s = Some(now_s);
            return Err(Unanswered::Stale(format!(
                "A message from the controller was ignored: it is valid from {} s to {} s after 1970, and \
                 now is {now_s} s. Either it was delayed, or the clocks of the two machines differ.",
                call.from_s, call.until_s
            )));
        }
        self.taken.retain(|_, until_s| now_s <= *until_s);
        if self.taken.len() >= CALLS_MAX {
            return Err(Unanswered::Stale(
                "More messages from controllers came than can be remembered: this one was ignored."
                    .to_owned(),
            ));
        }
        self.taken.insert(call.nonce, call.until_s);
        Ok(call.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::new_key;

    #[test]
    fn a_pool_is_named_by_its_server_and_its_name() {
        let pool = |text: &str| text.parse::<Pool>();
        assert_eq!(
            pool("nats://h:4222/p-1").unwrap(),
            Pool { url: "nats://h:4222".to_owned(), name: "p-1".to_owned() }
        );
        assert_eq!(pool("tls://h").unwrap(), Pool { url: "tls://h".to_owned(), name: "default".to_owned() });
        for (text, says) in [
            ("h:4222", "neither nats://"),
            ("http://h", "neither nats://"),
            ("nats://", "no valid host"),
            ("nats://h/a.b", "letters, digits"),
            ("nats://h/>", "letters, digits"),
            ("nats://u:p@h", "--nats-nkey"),
        ] {
            let refused = pool(text).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn a_call_is_answered_once_and_to_the_pinned_controller_alone() {
        let (own, stranger) = (new_key().unwrap(), new_key().unwrap());
        let pool: Pool = "nats://h/p".parse().unwrap();
        let run = pool.new_run().unwrap();
        let bytes = call(&run, &own.0, 1_000).unwrap();
        let take = |calls: &mut Calls, bytes: &[u8], now_s| calls.take(bytes, &pool, &own.1, now_s);
        let mut calls = Calls::default();
        assert_eq!(take(&mut calls, &bytes, 1_010).unwrap(), run);
        assert_eq!(take(&mut calls, &bytes, 1_011), Err(Unanswered::NotForIt), "again");
        assert_eq!(take(&mut Calls::default(), &bytes, 1_030).unwrap(), run, "at its end");
        for now_s in [1_031, 900, u64::MAX >> 1] {
            assert!(
                matches!(take(&mut Calls::default(), &bytes, now_s), Err(Unanswered::Stale(_))),
                "{now_s}"
            );
        }
        let played_again =
            |calls: &mut Calls, now_s| matches!(take(calls, &bytes, now_s), Err(Unanswered::Stale(_)));
        let mut stale = Calls::default();
        let said: Vec<u64> = (2_000..2_200).filter(|now_s| played_again(&mut stale, *now_s)).collect();
        assert_eq!(said, [2_000, 2_060, 2_120, 2_180], "one that is played again fills no log");
        let forged = call(&run, &stranger.0, 1_000).unwrap();
        assert_eq!(take(&mut Calls::default(), &forged, 1_000), Err(Unanswered::NotForIt));
        let elsewhere =
            call(&"nats://h/q".parse::<Pool>().unwrap().new_run().unwrap(), &own.0, 1_000).unwrap();
        assert_eq!(take(&mut Calls::default(), &elsewhere, 1_000), Err(Unanswered::NotForIt));
        let wild = call("pool.p.>", &own.0, 1_000).unwrap();
        assert_eq!(take(&mut Calls::default(), &wild, 1_000), Err(Unanswered::NotForIt));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(take(&mut Calls::default(), &changed, 1_000).is_err(), "byte {at}");
        }
        assert!(take(&mut calls, b"{}", 1_000).is_err());
    }
}
