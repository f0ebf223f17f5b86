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
use crate::sys::{self, BROKEN, Bell, Event, Poller, READABLE, WRITABLE};
use crate::truth::Silences;

/// Reports taken from the poller at once.
const EVENTS: usize = 256;
/// Connections accepted before others get their turn.
const ACCEPTS_MAX: usize = 256;
/// Pause after the process ran out of descriptors: the listener stays readable, and asking again at once would spin.
const ACCEPT_PAUSE_NS: u64 = 5_000_000;

/// Tokens of what is no connection; a connection's is its place and, above, its generation.
const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// Something to be done at an instant. Of one connection only the next is in the heap, at most once; when plans change,
/// the old entry stays and is skipped.
type Timer = Reverse<(u64, u64)>;

/// A place in the table of connections.
struct Place {
    /// How many connections have been here: an event or a timer of an earlier one is told by it.
    generation: u32,
    guest: Option<Guest>,
}

/// A connection with what the loop knows of it.
struct Guest {
    connection: Connection,
    /// What the poller watches it for.
    interest: u32,
    /// Its earliest entry in the heap of timers; `u64::MAX` for none.
    armed_ns: u64,
}

/// How the loop is stopped, from any thread.
pub(crate) struct Signal {
    pub(crate) stopping: AtomicBool,
    pub(crate) bell: Bell,
}

impl Signal {
    pub(crate) fn new() -> io::Result<Signal> {
        Ok(Signal { stopping: AtomicBool::new(false), bell: Bell::new()? })
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.bell.ring();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// One event loop.
pub(crate) struct Server {
    poller: Poller,
    listener: TcpListener,
    signal: Arc<Signal>,
    service: Service,
    silences: Option<Silences>,
    places: Vec<Place>,
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
        silences: Option<Silences>,
    ) -> io::Result<Server> {
        let poller = Poller::new()?;
        poller.add(listener.as_fd(), LISTENER, READABLE)?;
        poller.add(signal.bell.as_fd(), BELL, READABLE)?;
        Ok(Server {
            poller,
            listener,
            signal,
            service,
            silences,
            places: Vec::with_capacity(1024),
            free: Vec::with_capacity(1024),
            timers: BinaryHeap::with_capacity(1024),
            accepting: true,
        })
    }

    /// Serves until the signal; everything open is closed then.
    pub(crate) fn run(mut self) -> io::Result<()> {
        sys::sharpen_timers();
        let mut events = [Event::EMPTY; EVENTS];
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
                self.keep_silence()?;
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

    /// Takes nothing in while the server is to be silent: only the signal and the answers already due wake it.
    fn keep_silence(&mut self) -> io::Result<()> {
        let Some(silences) = self.silences else { return Ok(()) };
        while let Some(until_ns) = silences.silent_until_ns(self.service.now_ns)
            && !self.signal.is_stopping()
        {
            let wake_ns = self.timers.peek().map_or(until_ns, |Reverse((at_ns, _))| until_ns.min(*at_ns));
            sys::wait_readable(self.signal.bell.as_fd(), Some(wake_ns.saturating_sub(self.service.now_ns)))?;
            self.service.stamp();
            self.fire_timers()?;
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> io::Result<()> {
        match event.token() {
            LISTENER => self.accept(),
            BELL => Ok(()),
            token => {
                self.serve(token, |connection, service| {
                    if event.has(READABLE) {
                        // Also with an error pending, which the read then returns.
                        connection.read(service)
                    } else if event.has(BROKEN) {
                        After::Close
                    } else if event.has(WRITABLE) {
                        connection.proceed(service)
                    } else {
                        After::Keep
                    }
                });
                Ok(())
            }
        }
    }

    /// Does what is due by the last reading of the clock.
    fn fire_timers(&mut self) -> io::Result<()> {
        while let Some(&Reverse((at_ns, token))) = self.timers.peek()
            && at_ns <= self.service.now_ns
        {
            self.timers.pop();
            if token == LISTENER {
                self.poller.change(self.listener.as_fd(), LISTENER, READABLE)?;
                self.accepting = true;
                continue;
            }
            if let Some(guest) = self.guest(token)
                && guest.armed_ns == at_ns
            {
                guest.armed_ns = u64::MAX;
                self.serve(token, Connection::proceed);
            }
        }
        Ok(())
    }

    fn guest(&mut self, token: u64) -> Option<&mut Guest> {
        let place = self.places.get_mut((token & u64::from(u32::MAX)) as usize)?;
        if u64::from(place.generation) == token >> 32 { place.guest.as_mut() } else { None }
    }

    /// Lets a connection act, and draws the consequences for the poller and the timers.
    fn serve(&mut self, token: u64, act: impl FnOnce(&mut Connection, &mut Service) -> After) {
        let index = (token & u64::from(u32::MAX)) as usize;
        let Some(place) = self.places.get_mut(index) else { return };
        let Some(guest) = place.guest.as_mut().filter(|_| u64::from(place.generation) == token >> 32) else {
            return;
        };
        let mut after = act(&mut guest.connection, &mut self.service);
        let interest = guest.connection.interest();
        if after == After::Keep && interest != guest.interest {
            guest.interest = interest;
            if self.poller.change(guest.connection.stream.as_fd(), token, interest).is_err() {
                after = After::Close;
            }
        }
        if after == After::Close {
            self.service.tally.connections_closed += 1;
            self.service.enter_tally();
            place.guest = None;
            place.generation = place.generation.wrapping_add(1);
            self.free.push(index as u32);
            return;
        }
        if let Some(at_ns) = guest.connection.next_ns()
            && at_ns < guest.armed_ns
        {
            guest.armed_ns = at_ns;
            self.timers.push(Reverse((at_ns, token)));
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..ACCEPTS_MAX {
            match sys::accept(&self.listener) {
                Ok(stream) => {
                    self.service.tally.connections_accepted += 1;
                    self.receive(Connection::new(stream));
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
            self.places.push(Place { generation: 0, guest: None });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        let token = u64::from(place.generation) << 32 | u64::from(index);
        let interest = connection.interest();
        if self.poller.add(connection.stream.as_fd(), token, interest).is_err() {
            // Out of watches or memory: dropped, which closes it.
            self.service.tally.connections_closed += 1;
            self.free.push(index);
            return;
        }
        place.guest = Some(Guest { connection, interest, armed_ns: u64::MAX });
    }

    fn pause_accepting(&mut self) -> io::Result<()> {
        if self.accepting {
            self.accepting = false;
            self.poller.change(self.listener.as_fd(), LISTENER, 0)?;
            self.timers.push(Reverse((self.service.now_ns + ACCEPT_PAUSE_NS, LISTENER)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_holds_little() {
        // It has no buffers, so that this is all: 10,000 of them in 4 MB.
        assert!(size_of::<Place>() <= 400, "{}", size_of::<Place>());
    }
}
