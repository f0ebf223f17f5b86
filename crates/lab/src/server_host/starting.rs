//! A server on another host, as its controller has it: from its start to its stop.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prony_host::monotonic_ns;
use serde_json::value::RawValue;

use super::link::{read, strange};
use super::message::{FromController, Listening, Named, Request, ServiceStarted, Started};
use super::{Seen, ServerHost};
use crate::candidate::Candidate;
use crate::service::{Reset, Service};
use crate::supervise::{Death, NotUp, StopReport};

/// Between two looks whether a server on another host answers, as on this one.
const LOOK_MIN: Duration = Duration::from_millis(1);
const LOOK_MAX: Duration = Duration::from_millis(20);
/// How long the host has for a start that is given up, or to take note that it is over.
const GIVE_UP: Duration = Duration::from_secs(30);

/// A server that runs there. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct RemoteServer {
    host: Arc<ServerHost>,
    number: u64,
    startup: Duration,
    stopped: Mutex<Option<StopReport>>,
}

fn started(answer: Result<Box<RawValue>, String>) -> Started {
    answer.and_then(|answer| read(&answer)).unwrap_or_else(|why| Err(NotUp::NotStarted(why)))
}

impl RemoteServer {
    /// Starts a candidate with so many workers on these CPUs (empty: any), and waits until `ready` says that it gives the
    /// right answer where it listens, unless it is `cancelled`.
    pub(crate) fn start(
        host: &Arc<ServerHost>,
        candidate: Named,
        (workers, cpus): (u32, &[u32]),
        services: &[(String, u16)],
        ready: &mut dyn FnMut(&Listening) -> Result<bool, String>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<RemoteServer, NotUp> {
        let link = host.link();
        let services = services.to_vec();
        let request = Request::Start { candidate, workers, cpus: cpus.to_vec(), services };
        let call = link.begin_call(request).map_err(NotUp::NotStarted)?;
        let mut patience = LOOK_MIN;
        let given_up = loop {
            let look_after = if link.listening().is_some() { patience } else { LOOK_MAX };
            if let Some(answer) = link.answer(call, look_after) {
                // Nobody said that it answers: one that was started all the same is none that was asked for.
                return Err(started(answer).err().unwrap_or_else(|| NotUp::NotStarted(strange())));
            }
            let answers = link.listening().map_or(Ok(false), |listening| {
                patience = (patience * 5 / 4).min(LOOK_MAX);
                ready(&listening)
            });
            match answers {
                Ok(true) => break None,
                Err(why) => break Some(NotUp::NotStarted(why)),
                Ok(false) if cancelled() => break Some(NotUp::Cancelled(String::new(), Vec::new())),
                Ok(false) => {}
            }
        };
        let offset = host.offset();
        let given_up = given_up.or_else(|| offset.is_none().then(|| NotUp::NotStarted(strange())));
        match offset.filter(|_| given_up.is_none()) {
            Some(offset) => link.say(&FromController::Ready(offset.to_theirs(monotonic_ns()))),
            None => link.say(&FromController::Cancel),
        }
        let ended = started(link.answer_within(call, GIVE_UP)).map(|(number, startup_ns)| {
            let (startup, stopped) = (Duration::from_nanos(startup_ns), Mutex::default());
            RemoteServer { host: Arc::clone(host), number, startup, stopped }
        });
        match given_up {
            None => ended,
            Some(NotUp::Cancelled(..)) => {
                let why = "was still starting when the run was interrupted.";
                Err(ended.err().unwrap_or_else(|| NotUp::Cancelled(why.to_owned(), Vec::new())))
            }
            Some(why) => Err(why),
        }
    }

    /// Starts a service there, of a candidate's recipe or of the run, beside those that it is told of; and its port.
    pub(crate) fn start_service(
        host: &Arc<ServerHost>,
        service: &Service,
        of: Option<&Candidate>,
        (told, cpus): (&[(String, u16)], &[u32]),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(RemoteServer, u16), NotUp> {
        let of = of.map(|candidate| host.named(candidate)).transpose().map_err(NotUp::NotStarted)?;
        let (service, told, cpus) = (service.clone(), told.to_vec(), cpus.to_vec());
        let answer =
            host.call_until(Request::StartService { service, of, told, cpus }, cancelled, &mut |_| ());
        let (number, port) =
            answer.unwrap_or_else(|why: String| -> ServiceStarted { Err(NotUp::NotStarted(why)) })?;
        let (startup, stopped) = (Duration::ZERO, Mutex::default());
        Ok((RemoteServer { host: Arc::clone(host), number, startup, stopped }, port))
    }

    pub(crate) fn reset(
        host: &Arc<ServerHost>,
        reset: &Reset,
        (services, cpus): (&[(String, u16)], &[u32]),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), NotUp> {
        let (reset, services, cpus) = (reset.clone(), services.to_vec(), cpus.to_vec());
        let answer = host.call_until(Request::Reset { reset, services, cpus }, cancelled, &mut |_| ());
        answer.unwrap_or_else(|why: String| Err(NotUp::NotStarted(why)))
    }

    /// A server that somebody else started there, by its process (`1234`) or its port (`:8080`). It is not stopped.
    pub(crate) fn watch(host: &Arc<ServerHost>, named: &str) -> Result<RemoteServer, String> {
        let number = host.link().call(Request::Watch(named.to_owned()))?;
        let (startup, stopped) = (Duration::ZERO, Mutex::default());
        Ok(RemoteServer { host: Arc::clone(host), number, startup, stopped })
    }

    /// From just before its first process was started to its first valid response, within the bound of the clocks.
    pub(crate) fn startup(&self) -> Duration {
        self.startup
    }

    pub(crate) fn died(&self) -> Option<Death> {
        let lost = || {
            self.host.lost().map(|how| Death { how: format!("is gone, since {how}"), log_tail: Vec::new() })
        };
        self.host.died(self.number).or_else(lost)
    }

    pub(crate) fn sample(&self) -> Result<(), String> {
        self.host.link().call(Request::Sample(self.number))
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
