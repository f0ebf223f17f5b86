//! A server on another host, as its controller has it: from its start to its stop.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prony_host::monotonic_ns;

use super::link::{said, strange};
use super::message::{Answer, FromController, Listening, Named, NotUp, Request};
use super::{LEASE, Seen, ServerHost};
use crate::supervise::{Death, StopReport};

/// How long the host has for a start that is given up, or to take note that it is over.
const GIVE_UP: Duration = Duration::from_secs(30);

/// A server that is being started. Dropping it gives it up.
pub(crate) struct Starting {
    host: Arc<ServerHost>,
    call: Option<u64>,
}

/// A server that runs there. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct RemoteServer {
    host: Arc<ServerHost>,
    number: u64,
    startup: Duration,
    stopped: Mutex<Option<StopReport>>,
}

impl Starting {
    /// Begins to start a candidate with so many workers on these CPUs (empty: any).
    pub(crate) fn begin(
        host: &Arc<ServerHost>,
        candidate: Named,
        workers: u32,
        cpus: &[u32],
    ) -> Result<Starting, String> {
        let request = Request::Start { candidate, workers, cpus: cpus.to_vec() };
        let call = host.link().begin_call(request)?;
        Ok(Starting { host: Arc::clone(host), call: Some(call) })
    }

    /// Where it listens, once all of its processes run.
    pub(crate) fn listening(&self) -> Option<Listening> {
        self.host.link().listening()
    }

    /// Whether it is not up, and why, waiting for so long.
    pub(crate) fn failed(&mut self, patience: Duration) -> Option<NotUp> {
        let answer = self.host.link().answer(self.call?, patience)?;
        self.call = None;
        Some(match started(answer) {
            Err(not_up) => not_up,
            // Nobody said that it answers.
            Ok(_) => NotUp::NotStarted(strange()),
        })
    }

    /// It gives the right answer, which is said; the server.
    pub(crate) fn answers(mut self) -> Result<RemoteServer, NotUp> {
        let offset = self.host.offset().ok_or_else(|| NotUp::NotStarted(strange()))?;
        self.host.link().say(&FromController::Ready(offset.to_theirs(monotonic_ns())));
        let (number, startup_ns) = self.end()?;
        let startup = Duration::from_nanos(startup_ns);
        Ok(RemoteServer { host: Arc::clone(&self.host), number, startup, stopped: Mutex::default() })
    }

    /// Gives it up; why it is not up.
    pub(crate) fn cancel(mut self) -> NotUp {
        self.host.link().say(&FromController::Cancel);
        match self.end() {
            Err(not_up) => not_up,
            Ok((number, _)) => {
                let _ = self.host.stop(number);
                NotUp::Cancelled("was still starting when the run was interrupted.".to_owned())
            }
        }
    }

    fn end(&mut self) -> Result<(u64, u64), NotUp> {
        let Some(call) = self.call.take() else { return Err(NotUp::NotStarted(strange())) };
        let until_ns = monotonic_ns() + u64::try_from(GIVE_UP.as_nanos()).unwrap_or(u64::MAX);
        loop {
            if let Some(answer) = self.host.link().answer(call, LEASE) {
                return started(answer);
            }
            if monotonic_ns() > until_ns {
                return Err(NotUp::NotStarted(format!(
                    "its agent did not report its start within {} s.",
                    GIVE_UP.as_secs()
                )));
            }
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.call.is_some() {
            self.host.link().say(&FromController::Cancel);
            if let Ok((number, _)) = self.end() {
                let _ = self.host.stop(number);
            }
        }
    }
}

fn started(answer: Result<Answer, String>) -> Result<(u64, u64), NotUp> {
    match answer {
        Ok(Answer::Started(Ok(started))) => Ok(started),
        Ok(Answer::Started(Err(not_up))) => Err(match not_up {
            NotUp::NotStarted(why) => NotUp::NotStarted(said(&why)),
            NotUp::Late(why) => NotUp::Late(said(&why)),
            NotUp::Cancelled(why) => NotUp::Cancelled(said(&why)),
            NotUp::Stranger(why, left) => {
                NotUp::Stranger(said(&why), left.iter().map(|left| said(left)).collect())
            }
        }),
        Ok(_) => Err(NotUp::NotStarted(strange())),
        Err(why) => Err(NotUp::NotStarted(why)),
    }
}

impl RemoteServer {
    /// A server that somebody else started there, by its process (`1234`) or its port (`:8080`). It is not stopped.
    pub(crate) fn watch(host: &Arc<ServerHost>, named: &str) -> Result<RemoteServer, String> {
        let number = host.watch(named)?;
        Ok(RemoteServer {
            host: Arc::clone(host),
            number,
            startup: Duration::ZERO,
            stopped: Mutex::default(),
        })
    }

    /// From just before its first process was started to its first valid response, within the bound of the clocks.
    pub(crate) fn startup(&self) -> Duration {
        self.startup
    }

    /// Whether it has ended since the start, and how; or its host is out of reach.
    pub(crate) fn died(&self) -> Option<Death> {
        let lost = || {
            self.host.lost().map(|how| Death { how: format!("is gone, since {how}"), log_tail: Vec::new() })
        };
        self.host.died(self.number).or_else(lost)
    }

    pub(crate) fn sample(&self) -> Result<(), String> {
        self.host.sample(self.number)
    }

    /// Ends sampling it; what was seen in this window of this machine's clock, if there was one.
    pub(crate) fn measure(&self, window: Option<(u64, u64)>) -> Result<Seen, String> {
        self.host.measure(self.number, window)
    }

    /// Ends it. A second call returns the first one's report. Where its host is out of reach, it ends there by itself.
    pub(crate) fn stop(&self) -> StopReport {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.get_or_insert_with(|| self.host.stop(self.number).unwrap_or_default()).clone()
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.stop();
    }
}
