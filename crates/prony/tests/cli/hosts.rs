//! Hosts in network namespaces: each has an address of its own, behind a router; control connections go through a relay that delays, stalls
//! and cuts them, one way at a time.
//!
//! They need root and iproute2 (`needs`).

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};

/// The router's namespace, and one for each host.
pub struct Hosts {
    names: Vec<String>,
}

#[track_caller]
fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "ip {arguments}: {done:?}");
}

impl Hosts {
    /// This many hosts.
    pub fn new(count: usize) -> Hosts {
        let own = std::process::id();
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let names: Vec<String> = (0..=count).map(|host| format!("prony-{own}-{nth}-{host}")).collect();
        let hosts = Hosts { names };
        for name in &hosts.names {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
        }
        let router = &hosts.names[0];
        hosts.at(0, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
        for host in 1..=count {
            let name = &hosts.names[host];
            let (address, gateway) = (Hosts::address(host), Ipv4Addr::new(10, 77, host as u8, 1));
            ip(&format!("-n {router} link add h{host} type veth peer name eth0 netns {name}"));
            ip(&format!("-n {router} addr add {gateway}/24 dev h{host}"));
            ip(&format!("-n {router} link set h{host} up"));
            ip(&format!("-n {name} addr add {address}/24 dev eth0"));
            ip(&format!("-n {name} link set eth0 up"));
            ip(&format!("-n {name} route add default via {gateway}"));
        }
        hosts
    }

    /// Drops every packet between two hosts at the router, or lets them through again.
    pub fn cut(&self, one: usize, other: usize, is_cut: bool) {
        let router = &self.names[0];
        let does = if is_cut { "add" } else { "del" };
        for (from, to) in [(one, other), (other, one)] {
            let (from, to) = (Hosts::address(from), Hosts::address(to));
            ip(&format!("-n {router} rule {does} from {from} to {to} blackhole"));
        }
    }

    /// A host's address, from 1 on.
    pub fn address(host: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, host as u8, 2)
    }

    /// What runs a program on a host.
    pub fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], program]);
        command
    }

    /// Does something on a host, 0 being the router, in a thread of its own.
    pub fn at<T: Send + 'static>(&self, host: usize, what: impl FnOnce() -> T + Send + 'static) -> T {
        let path = format!("/run/netns/{}", self.names[host]);
        let done = thread::spawn(move || {
            let namespace = std::fs::File::open(path).unwrap();
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            what()
        });
        done.join().unwrap()
    }
}

static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

/// A process that is ended with its test.
pub struct Daemon(pub Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a relay does with what goes one way.
#[derive(Clone, Copy)]
pub struct Way {
    /// Each piece waits for so long.
    pub delay: Duration,
    /// Every so many pieces one waits for a retransmission more, as a lost packet makes all behind it; 0: none.
    pub loss_every: u32,
}

/// The wait for a packet that was lost: the least that Linux waits.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// A relay at the router to one host's port 22.
pub struct Relay {
    /// Where it listens.
    pub address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Relay {
    /// One that listens at the router.
    pub fn start(hosts: &Hosts, host: usize, there: Way, back: Way) -> Relay {
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&is_cut);
        let router = format!("/run/netns/{}", hosts.names[0]);
        let listener = hosts.at(0, || TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            // What is connected from here is connected at the router.
            setns(std::fs::File::open(router).unwrap().as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((Hosts::address(host), 22)) else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (of_client, of_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                carry(of_client, server, there, Arc::clone(&cut));
                carry(of_server, client, back, Arc::clone(&cut));
            }
        });
        Relay { address: SocketAddr::from(([10, 77, 1, 1], port)), is_cut }
    }

    /// Lets nothing through, or everything that waits.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }
}

/// Pieces on their way, each with the instant at which it may arrive; an empty one is the end.
type Pieces = Arc<(Mutex<VecDeque<(Instant, Vec<u8>)>>, Condvar)>;

fn carry(mut from: TcpStream, mut to: TcpStream, way: Way, is_cut: Arc<AtomicBool>) {
    let pieces = Pieces::default();
    let arriving = Arc::clone(&pieces);
    thread::spawn(move || {
        let (mut buffer, mut count) = (vec![0; 1 << 16], 0u32);
        loop {
            let length = from.read(&mut buffer).unwrap_or(0);
            count = count.wrapping_add(1);
            let is_lost = way.loss_every > 0 && count.is_multiple_of(way.loss_every);
            let delay = way.delay + if is_lost { RETRANSMISSION } else { Duration::ZERO };
            pieces.0.lock().unwrap().push_back((Instant::now() + delay, buffer[..length].to_vec()));
            pieces.1.notify_one();
            if length == 0 {
                break;
            }
        }
    });
    thread::spawn(move || {
        loop {
            let mut waiting = arriving.0.lock().unwrap();
            while waiting.is_empty() {
                waiting = arriving.1.wait(waiting).unwrap();
            }
            let Some((at, piece)) = waiting.pop_front() else { continue };
            drop(waiting);
            thread::sleep(at.saturating_duration_since(Instant::now()));
            while is_cut.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if piece.is_empty() || to.write_all(&piece).is_err() {
                let _ = to.shutdown(Shutdown::Both);
                return;
            }
        }
    });
}
