//! The event loop: one thread, one epoll instance, one listener, its connections and their timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::connection::{After, Connection};
use crate::service::Service;
use crate::sys::{self, Event, EventFlags, NO_EVENT, Poller, Wakeup};
use crate::truth::Stalls;

const EVENTS: usize = 256;
const ACCEPTS_MAX: usize = 256;
/// Pause after the process ran out of descriptors: the listener stays readable, and asking again at once would spin.
const ACCEPT_PAUSE_NS: u64 = 5_000_000;

/// Tokens of what is no connection; a connection's is its place and, above, its generation.
const LISTENER: u64 = u64::MAX;
const WAKEUP: u64 = u64::MAX - 1;

/// Of one connection only the next is in the heap, at most once; when plans change, the old entry stays and is skipped.
type Timer = Reverse<(u64, u64)>;

struct Slot {
    /// How many connections have been here: an event or a timer of an earlier one is told by it.
    generation: u32,
    client: Option<Client>,
}

struct Client {
    connection: Connection,
    interest: EventFlags,
    /// Its earliest entry in the heap of timers; `u64::MAX` for none.
    armed_ns: u64,
}

pub(crate) struct Signal {
    pub(crate) stopping: AtomicBool,
    pub(crate) wakeup: Wakeup,
}

impl Signal {
    pub(crate) fn new() -> io::Result<Signal> {
        Ok(Signal { stopping: AtomicBool::new(false), wakeup: Wakeup::new()? })
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wakeup.set();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

pub(crate) struct Server {
    poller: Poller,
    listener: TcpListener,
    signal: Arc<Signal>,
    service: Service,
    stalls: Option<Stalls>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    timers: BinaryHeap<Timer>,
    /// Whether the listener is watched; not during a pause.
    accepting: bool,
}

impl Server {
    pub(crate) fn new(
        listener: TcpListener,
        signal: Arc<Signal>,
        service: Service,
        stalls: Option<Stalls>,
    ) -> io::Result<Server> {
        let poller = Poller::new()?;
        poller.add(listener.as_fd(), LISTENER, EventFlags::IN)?;
        poller.add(signal.wakeup.as_fd(), WAKEUP, EventFlags::IN)?;
        Ok(Server {
            poller,
            listener,
            signal,
            service,
            stalls,
            slots: Vec::with_capacity(1024),
            free: Vec::with_capacity(1024),
            timers: BinaryHeap::with_capacity(1024),
            accepting: true,
        })
    }

    /// Serves until the signal; everything open is closed then.
    pub(crate) fn run(mut self) -> io::Result<()> {
        sys::tighten_timer_slack();
        let mut events = [NO_EVENT; EVENTS];
        while !self.signal.is_stopping() {
            self.service.stamp();
            if let Some(stamps) = &mut self.service.stamps {
                stamps.keep(self.service.now_ns);
            }
            self.fire_timers()?;
            let timeout_ns =
                self.timers.peek().map(|Reverse((at_ns, _))| at_ns.saturating_sub(self.service.now_ns));
            let count = self.poller.wait(&mut events, timeout_ns)?;
            self.service.stamp();
            for &event in &events[..count] {
                self.wait_out_stall()?;
                if self.signal.is_stopping() {
                    break;
                }
                self.handle(event)?;
                // A batch can take a millisecond, and what is due within it isn't to wait for its end.
                self.fire_timers()?;
            }
        }
        Ok(())
    }

    /// Takes nothing in while the server is to stall: only the signal and the answers already due wake it.
    fn wait_out_stall(&mut self) -> io::Result<()> {
        let Some(stalls) = self.stalls else { return Ok(()) };
        while let Some(until_ns) = stalls.stalled_until_ns(self.service.now_ns)
            && !self.signal.is_stopping()
        {
            let wake_ns = self.timers.peek().map_or(until_ns, |Reverse((at_ns, _))| until_ns.min(*at_ns));
            sys::wait_readable(
                self.signal.wakeup.as_fd(),
                Some(wake_ns.saturating_sub(self.service.now_ns)),
            )?;
            self.service.stamp();
            self.fire_timers()?;
        }
        Ok(())
    }

    fn handle(&mut self, Event { flags, data }: Event) -> io::Result<()> {
        match data.u64() {
            LISTENER => self.accept(),
            WAKEUP => Ok(()),
            token => {
                self.serve(token, |connection, service| {
                    if flags.contains(EventFlags::IN) {
                        // Also with an error pending, which the read then returns.
                        connection.read(service)
                    } else if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
                        After::Close
                    } else if flags.contains(EventFlags::OUT) {
                        connection.proceed(service)
                    } else {
                        After::Keep
                    }
                });
                Ok(())
            }
        }
    }

    fn fire_timers(&mut self) -> io::Result<()> {
        while let Some(&Reverse((at_ns, token))) = self.timers.peek()
            && at_ns <= self.service.now_ns
        {
            self.timers.pop();
            if token == LISTENER {
                self.poller.change(self.listener.as_fd(), LISTENER, EventFlags::IN)?;
                self.accepting = true;
                continue;
            }
            if let Some(client) = client(&mut self.slots, token)
                && client.armed_ns == at_ns
            {
                client.armed_ns = u64::MAX;
                self.serve(token, Connection::proceed);
            }
        }
        Ok(())
    }

    fn serve(&mut self, token: u64, act: impl FnOnce(&mut Connection, &mut Service) -> After) {
        let Some(client) = client(&mut self.slots, token) else { return };
        let mut after = act(&mut client.connection, &mut self.service);
        let interest = client.connection.interest();
        if after == After::Keep && interest != client.interest {
            client.interest = interest;
            if self.poller.change(client.connection.stream.as_fd(), token, interest).is_err() {
                after = After::Close;
            }
        }
        if after == After::Close {
            self.service.tally.connections_closed += 1;
            self.service.enter_tally();
            let index = token as u32;
            let slot = &mut self.slots[index as usize];
            slot.client = None;
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(index);
            return;
        }
        if let Some(at_ns) = client.connection.next_ns()
            && at_ns < client.armed_ns
        {
            client.armed_ns = at_ns;
            self.timers.push(Reverse((at_ns, token)));
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..ACCEPTS_MAX {
            match sys::accept(&self.listener) {
                Ok(stream) => {
                    self.service.tally.connections_accepted += 1;
                    self.receive(Connection::new(stream, self.service.tls.as_ref()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if sys::is_exhausted(&e) => {
                    self.pause_accepting()?;
                    break;
                }
                // The one that waited is gone (ECONNABORTED and the like); the next may be well.
                Err(_) => {}
            }
        }
        self.service.enter_tally();
        Ok(())
    }

    fn receive(&mut self, connection: Connection) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, client: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let token = u64::from(slot.generation) << 32 | u64::from(index);
        let interest = connection.interest();
        if self.poller.add(connection.stream.as_fd(), token, interest).is_err() {
            // Out of watches or memory: dropped, which closes it.
            self.service.tally.connections_closed += 1;
            self.free.push(index);
            return;
        }
        slot.client = Some(Client { connection, interest, armed_ns: u64::MAX });
    }

    fn pause_accepting(&mut self) -> io::Result<()> {
        if self.accepting {
            self.accepting = false;
            self.poller.change(self.listener.as_fd(), LISTENER, EventFlags::empty())?;
            self.timers.push(Reverse((self.service.now_ns + ACCEPT_PAUSE_NS, LISTENER)));
        }
        Ok(())
    }
}

fn client(slots: &mut [Slot], token: u64) -> Option<&mut Client> {
    let slot = slots.get_mut(token as u32 as usize)?;
    if u64::from(slot.generation) == token >> 32 { slot.client.as_mut() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_takes_at_most_400_bytes() {
        // It has no buffers, so that this is all: 10,000 of them in 4 MB.
        assert!(size_of::<Slot>() <= 400, "{}", size_of::<Slot>());
    }
}
