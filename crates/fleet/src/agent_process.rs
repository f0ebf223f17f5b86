//! An agent's process: it applies what its controller gives it, and ends with it.

use std::io::{BufRead, BufReader, Read, stdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use prony_host::cgroup::{own_cpu_quotas, throttled};
use prony_host::monotonic_ns;
use prony_load::{Control, LoadError, WindowDelta, run_shard};
use prony_model::clock::Offset;
use prony_model::host::{CpuQuota, Host};
use prony_model::{Measurement, Plan};
use serde_json::value::RawValue;

use crate::agent::{Act, Agent};
use crate::allow::Bounds;
use crate::certificates::Certificates;
use crate::delta_file::{self, DeltaFile};
use crate::job::{AgentEnd, Bootstrap, Frame, Job, Piece, channel, down, up};
use crate::nats::{Address, Link, Login, Message, Payload, SILENT, connect};
use crate::protocol::{LOST_NS, Phase, Up};
use crate::sealed::SealedMessages;
use crate::session::{Opening, Session, Side};

/// What waits to be taken; what is beyond it is lost, as in a network.
const INPUTS_MAX: usize = 4096;
const BOOTSTRAP_MAX_BYTES: u64 = 1 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(2);
const GREET_EVERY: Duration = Duration::from_millis(200);
/// A controller that has not answered the greeting by then will not.
const GREET_TIMEOUT: Duration = Duration::from_secs(30);
/// One that has not answered an agent of a pool by then has others.
const NEED_TIMEOUT: Duration = Duration::from_secs(10);
/// An agent whose controller has not answered for so long ends: a connection cut without a word leaves nothing behind.
const UNHEARD_TIMEOUT: Duration = Duration::from_secs(60);
/// One whose load failed is of no use to it sooner.
const FAILED_TIMEOUT: Duration = Duration::from_secs(10);

enum Input {
    Net(Payload),
    Part(u32, Box<WindowDelta>, bool),
    Done(u32, Box<Result<Measurement, LoadError>>),
    ControllerGone,
}

pub(crate) struct AgentSession {
    pub(crate) run: String,
    pub(crate) id: String,
    pub(crate) address: Address,
    pub(crate) controller_key: Vec<u8>,
    /// The agent's own signing key, PKCS#8.
    pub(crate) agent_key: Vec<u8>,
    /// What it calls itself; nothing where its controller has named it.
    pub(crate) name: String,
    pub(crate) bounds: Bounds,
    /// Whether it waits in a pool: it may not be needed, and lives on when its controller is gone.
    pub(crate) waits_in_pool: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Served,
    /// Nobody answered the greeting: others were there before.
    NotNeeded,
}

/// Reads its controller from standard input, and serves it until it says so, or is gone. `say` gets sentences to read.
pub fn run(say: &dyn Fn(&str)) -> Result<(), String> {
    let mut first = String::new();
    let mut input = BufReader::new(stdin());
    input
        .by_ref()
        .take(BOOTSTRAP_MAX_BYTES)
        .read_line(&mut first)
        .map_err(|e| format!("Standard input could not be read: {e}."))?;
    let bootstrap: Bootstrap = serde_json::from_str(&first).map_err(|_| {
        "Without --pool an agent is started by its controller, which sends its address on standard input: \
         use `prony load --fleet`. To wait for controllers in a pool, give --pool nats://HOST/POOL."
            .to_owned()
    })?;
    let serves = AgentSession {
        run: bootstrap.run,
        id: bootstrap.agent,
        address: Address {
            url: bootstrap.url,
            login: Login::Nkey(bootstrap.nkey),
            authority: None,
            cpus: bootstrap.cpus,
        },
        controller_key: bootstrap.controller_key,
        agent_key: bootstrap.agent_key,
        name: String::new(),
        bounds: Bounds {
            addresses: bootstrap.allowed,
            certificates: Certificates::Any,
            lists: Certificates::Any,
            ..Bounds::default()
        },
        waits_in_pool: false,
    };
    serve(&serves, Some(Box::new(input)), say).map(drop)
}

/// Serves a run. Where there is an `input`, its end is the controller's.
pub(crate) fn serve(
    serves: &AgentSession,
    input: Option<Box<dyn Read + Send>>,
    say: &dyn Fn(&str),
) -> Result<Ended, String> {
    let (inputs, taken) = sync_channel(INPUTS_MAX);
    let (run, id) = (&serves.run, &serves.id);
    let wrap = |(_, bytes): Message| Input::Net(bytes);
    let link = connect(&serves.address, &down(run, id), wrap, inputs.clone())?;
    if let Some(input) = input {
        watch_controller(input, inputs.clone());
    }
    let subject = up(run, id);
    let greets = |bytes| link.send(subject.clone(), bytes);
    let Some(messages) = greet(serves, &greets, &taken)? else {
        return Ok(Ended::NotNeeded);
    };
    let mut runtime = AgentRuntime {
        serves,
        say,
        link,
        subject,
        messages: SealedMessages::of(messages),
        core: Agent::default(),
        inputs,
        loading: None,
        before: None,
        quotas_before: Vec::new(),
        end: None,
        host: None,
        file: None,
        leaves: false,
        heard: Instant::now(),
    };
    runtime.serve(&taken);
    Ok(Ended::Served)
}

fn watch_controller(mut input: Box<dyn Read + Send>, inputs: SyncSender<Input>) {
    thread::spawn(move || {
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        let _ = inputs.send(Input::ControllerGone);
    });
}

/// Agrees with the controller on keys; nothing, where an agent that waits in a pool is not answered.
fn greet(
    serves: &AgentSession,
    send: &dyn Fn(Vec<u8>),
    taken: &Receiver<Input>,
) -> Result<Option<Session>, String> {
    let opening = Opening::new(Side::Agent, &channel(&serves.run, &serves.id))?;
    let greeting = opening.greeting(&serves.agent_key, &serves.name, &[])?;
    let greeting = Frame::Greeting(greeting).to_bytes();
    let (began, timeout) = (Instant::now(), if serves.waits_in_pool { NEED_TIMEOUT } else { GREET_TIMEOUT });
    while began.elapsed() < timeout {
        send(greeting.clone());
        let again = Instant::now() + GREET_EVERY;
        while let Ok(input) = taken.recv_timeout(again.saturating_duration_since(Instant::now())) {
            match input {
                Input::Net(bytes) => {
                    // Whoever can write to its subject may forge one, which is nobody's.
                    if let Some(Frame::Greeting(theirs)) = Frame::of(&bytes)
                        && opening.is_genuine(&theirs, &serves.controller_key)
                    {
                        return opening.agree(&theirs, &serves.controller_key).map(Some);
                    }
                }
                Input::ControllerGone => return Err("the controller has ended".to_owned()),
                Input::Part(..) | Input::Done(..) => {}
            }
        }
    }
    match serves.waits_in_pool {
        true => Ok(None),
        false => Err(format!("no controller answered within {} s", GREET_TIMEOUT.as_secs())),
    }
}

struct Loading {
    trial: u32,
    control: Control,
}

struct AgentRuntime<'a> {
    serves: &'a AgentSession,
    say: &'a dyn Fn(&str),
    link: Link,
    subject: String,
    messages: SealedMessages,
    /// Its pieces are JSON already: one goes to the file, too, and is sent until it is confirmed, and the histograms in it are
    /// compressed, which is most of what an agent's messages cost.
    core: Agent<Box<RawValue>>,
    inputs: SyncSender<Input>,
    loading: Option<Loading>,
    before: Option<Offset>,
    quotas_before: Vec<CpuQuota>,
    end: Option<AgentEnd>,
    /// The machine, until its load's first part is there.
    host: Option<Box<Host>>,
    file: Option<DeltaFile>,
    leaves: bool,
    heard: Instant,
}

impl AgentRuntime<'_> {
    fn serve(&mut self, taken: &Receiver<Input>) {
        while !self.leaves {
            let until = Duration::from_nanos(self.core.next_ns().saturating_sub(monotonic_ns()));
            let soon = !matches!(self.core.phase(), Phase::Idle | Phase::Running);
            let wait = if soon { until.min(LOOK_EVERY) } else { until };
            match taken.recv_timeout(wait) {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
            for up in self.core.say(monotonic_ns()) {
                self.send(&up);
            }
        }
        // A load that is under way sends nothing more.
        self.abandon();
        self.leave_file();
    }

    /// A piece of the result is written down, and sent until it is confirmed.
    fn measured(&mut self, piece: &Piece, is_last: bool) {
        let piece = match serde_json::value::to_raw_value(piece) {
            Ok(piece) => piece,
            Err(e) => return self.core.ended(Some(e.to_string())),
        };
        if let Some(Err(e)) = self.file.as_mut().map(|file| file.add(piece.get())) {
            (self.say)(&format!(
                "The file that keeps what this agent measures can no longer be written: {e}."
            ));
            self.file = None;
        }
        self.core.measured(piece, is_last);
    }

    /// Its file goes where the controller has all of it, and stays where not.
    fn leave_file(&mut self) {
        let Some(file) = self.file.take() else { return };
        let path = file.path().display().to_string();
        if self.core.is_all_confirmed() {
            if let Err(e) = file.remove() {
                (self.say)(&format!("{path} cannot be removed: {e}."));
            }
        } else {
            (self.say)(&format!(
                "The controller did not receive all that this agent measured, which is kept in {path}."
            ));
        }
    }

    fn open_file(&mut self) {
        self.leave_file();
        let AgentSession { run, id, .. } = self.serves;
        let Some(folder) = delta_file::folder() else { return };
        match DeltaFile::create(&folder, run, id, self.core.trial()) {
            Ok(file) => self.file = Some(file),
            Err(e) => (self.say)(&format!(
                "What this agent measures is kept in no file, since none can be made in {}: {e}.",
                folder.display()
            )),
        }
    }

    fn look(&mut self) {
        let patience = if self.core.has_failed() { FAILED_TIMEOUT } else { UNHEARD_TIMEOUT };
        let silence = self.heard.elapsed();
        self.leaves |= silence > patience;
        if !self.core.rests() && silence > SILENT && silence < Duration::from_nanos(LOST_NS) {
            self.link.renew();
        }
        let is_ready = self.loading.as_ref().is_some_and(|loading| loading.control.is_ready());
        if is_ready && self.core.phase() == Phase::Preparing {
            self.core.prepared();
        }
        if self.core.phase() == Phase::Ended
            && self.core.knows_clock()
            && let Some(end) = self.end.take()
        {
            let clock_after = self.core.offset(monotonic_ns());
            self.measured(&Piece::End(AgentEnd { clock_after, ..end }), true);
        }
    }

    fn send(&mut self, message: &Up<Box<RawValue>>) {
        for frame in self.messages.seal(message) {
            self.link.send(self.subject.clone(), frame);
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Net(bytes) => {
                let Some(Frame::Sealed(sealed)) = Frame::of(&bytes) else { return };
                if let Some(answer) = self.messages.open(sealed) {
                    self.heard = Instant::now();
                    for act in self.core.hear(monotonic_ns(), answer) {
                        self.act(act);
                    }
                }
            }
            Input::Part(trial, share, is_last) if self.is_of(trial) => {
                let host = self.host.take();
                self.measured(&Piece::Part { share, is_last, host }, false);
            }
            Input::Done(trial, measured) if self.is_of(trial) => self.done(*measured),
            Input::Part(..) | Input::Done(..) => {}
            Input::ControllerGone => self.leaves = true,
        }
    }

    fn is_of(&self, trial: u32) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.trial == trial)
    }

    fn done(&mut self, measured: Result<Measurement, LoadError>) {
        let was_suspended = self.loading.take().is_some_and(|loading| loading.control.was_suspended());
        match measured {
            Ok(_) if was_suspended => {
                self.core.ended(Some("its machine was suspended during the load".to_owned()));
            }
            Ok(m) => {
                self.end = Some(AgentEnd {
                    address: m.address,
                    process_cpu_ns: m.client.process_cpu_ns,
                    max_rss_bytes: m.client.max_rss_bytes,
                    waits: m.client.waits,
                    request_bytes: m.request_bytes,
                    throttled_ns: throttled(&self.quotas_before, &own_cpu_quotas())
                        .map(|quota| quota.throttled_ns),
                    clock_before: self.before,
                    interrupted: m.interrupted,
                    ..AgentEnd::default()
                });
                self.core.ended(None);
            }
            Err(why) => self.core.ended(Some(why.to_string())),
        }
    }

    fn act(&mut self, act: Act<Job>) {
        let control = self.loading.as_ref().map(|loading| &loading.control);
        match (act, control) {
            (Act::Prepare(job), _) => {
                self.abandon();
                self.open_file();
                if let Err(why) = self.prepare(&job) {
                    self.core.ended(Some(why));
                }
            }
            (Act::StartAt(at_ns), Some(control)) => {
                self.before = self.core.offset(monotonic_ns());
                self.quotas_before = own_cpu_quotas();
                control.start_at(at_ns);
            }
            (Act::Lend(until_ns), Some(control)) => control.lend(until_ns),
            (Act::StopAt(at_ns), Some(control)) => control.stop_at(at_ns),
            (Act::Abandon, _) => self.abandon(),
            (Act::Leave, _) => self.leaves = true,
            (Act::StartAt(_) | Act::Lend(_) | Act::StopAt(_), None) => {}
        }
    }

    fn abandon(&mut self) {
        self.end = None;
        if let Some(loading) = self.loading.take() {
            loading.control.lend(0);
            loading.control.stop();
        }
    }

    fn prepare(&mut self, job: &Job) -> Result<(), String> {
        let mut plan = Plan::from_wire(job.plan.as_bytes()).map_err(|e| e.to_string())?;
        let (shard, trial) = (job.shard, self.core.trial());
        let is_of_plan = shard.count == plan.threads
            && shard.count > 0
            && shard.first.checked_add(shard.count).is_some_and(|end| end <= shard.of);
        if !is_of_plan {
            return Err("the share of the load that it was given is not one of the plan".to_owned());
        }
        let allowed = self.serves.bounds.admit(&plan, shard)?;
        self.serves.bounds.certificates.give(&mut plan).map_err(|e| e.to_string())?;
        self.host = Some(Box::new(prony_host::read()));
        let control = Control::leased(&allowed);
        let (inputs, controlled, lists) =
            (self.inputs.clone(), control.clone(), self.serves.bounds.lists.clone());
        let applies = move || {
            let parts = inputs.clone();
            let mut take = |share: &WindowDelta, is_last| {
                let _ = parts.send(Input::Part(trial, Box::new(share.clone()), is_last));
            };
            // It may take long, and the controller hears from this agent meanwhile.
            let measured = lists
                .give_list(&mut plan)
                .map_err(LoadError::Plan)
                .and_then(|()| run_shard(&plan, shard, Some(&mut take), &controlled, &mut |_| {}));
            let _ = inputs.send(Input::Done(trial, Box::new(measured)));
        };
        thread::Builder::new()
            .name("prony-agent".to_owned())
            .spawn(applies)
            .map_err(|e| format!("no thread for the load could be started: {e}"))?;
        self.loading = Some(Loading { trial, control });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::session::{new_key, public_key};

    #[test]
    fn forged_greetings_end_no_session() {
        let ((agent_key, agent), (key, _), (stranger, _)) =
            (new_key().unwrap(), new_key().unwrap(), new_key().unwrap());
        let serves = AgentSession {
            run: "run".to_owned(),
            id: "0".to_owned(),
            address: Address {
                url: String::new(),
                login: Login::Nkey(String::new()),
                authority: None,
                cpus: Vec::new(),
            },
            controller_key: public_key(&key).unwrap(),
            agent_key,
            name: String::new(),
            bounds: Bounds::default(),
            waits_in_pool: false,
        };
        let (inputs, taken) = sync_channel(INPUTS_MAX);
        let is_answered = std::cell::Cell::new(false);
        // Whoever hears the agent's greeting may answer it.
        let answers = |hello: Vec<u8>| {
            if is_answered.replace(true) {
                return;
            }
            let Some(Frame::Greeting(hello)) = Frame::of(&hello) else { unreachable!() };
            let answer = |key: &[u8]| {
                let opening = Opening::new(Side::Controller, &channel("run", "0")).unwrap();
                assert!(opening.is_genuine(&hello, &agent));
                Frame::Greeting(opening.greeting(key, "", &hello.key).unwrap()).to_bytes()
            };
            let forged = [answer(&stranger), b"nonsense".to_vec(), answer(&stranger), answer(&key)];
            for bytes in forged {
                let payload = Payload::within_bound(&bytes, &Arc::default()).unwrap();
                inputs.try_send(Input::Net(payload)).unwrap();
            }
        };
        assert!(greet(&serves, &answers, &taken).unwrap().is_some());
        assert!(taken.try_recv().is_err(), "it was the last of them, the controller's");
    }
}
