//! Who listens on a port and how long a queue of connections may become, as the kernel tells `ss -ltn` (sock_diag(7)):
//! /proc/net/tcp has no such length.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use prony_model::host::Listening;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// What <linux/inet_diag.h>, <linux/netlink.h> and <linux/sock_diag.h> call these.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_DONE: u16 = 3;
const TCP: u8 = 6;
const STATE_LISTEN: u32 = 10;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Replies of one question: a machine's listening sockets, some hundred a reply.
const REPLIES_MAX: usize = 1_000;

/// The sockets that take connections to an address of this network namespace; `None` where it cannot be told.
pub(crate) fn of(address: &SocketAddr) -> Option<Listening> {
    let families: &[u8] = if address.is_ipv4() { &[AF_INET, AF_INET6] } else { &[AF_INET6] };
    let mut found = Listening::default();
    for family in families {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )
        .ok()?;
        send(&socket, &question(*family), SendFlags::empty()).ok()?;
        read_all(&socket, address, &mut found)?;
        // One of IPv4 takes precedence over one of both.
        if found.sockets > 0 {
            break;
        }
    }
    (found.sockets > 0).then_some(found)
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`: all that listen.
fn question(family: u8) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..4].copy_from_slice(&(REQUEST_BYTES as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    (bytes[HEADER_BYTES], bytes[HEADER_BYTES + 1]) = (family, TCP);
    bytes[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&(1_u32 << STATE_LISTEN).to_ne_bytes());
    bytes
}

fn read_all(socket: &OwnedFd, address: &SocketAddr, found: &mut Listening) -> Option<()> {
    let mut buffer = vec![0_u8; 64 << 10];
    for _ in 0..REPLIES_MAX {
        let (count, _) = recv(socket, buffer.as_mut_slice(), RecvFlags::empty()).ok()?;
        let mut rest = buffer.get(..count)?;
        while rest.len() >= HEADER_BYTES {
            let length = number(rest, 0)? as usize;
            match u16::from_ne_bytes([rest[4], rest[5]]) {
                NLMSG_DONE => return Some(()),
                SOCK_DIAG_BY_FAMILY => note(rest.get(HEADER_BYTES..length)?, address, found)?,
                _ => return None,
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
    None
}

/// `struct inet_diag_msg`: of what listens, `idiag_wqueue` is the most that may wait.
fn note(message: &[u8], address: &SocketAddr, found: &mut Listening) -> Option<()> {
    let port = u16::from_be_bytes([*message.get(4)?, *message.get(5)?]);
    let source: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let own: [u8; 16] = match address.ip() {
        IpAddr::V4(ip) if *message.first()? == AF_INET => {
            let mut own = [0; 16];
            own[..4].copy_from_slice(&ip.octets());
            own
        }
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    };
    if port == address.port() && (source == own || source == [0; 16]) {
        found.sockets += 1;
        found.queue_max = found.queue_max.max(number(message, 60)?);
    }
    Some(())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn a_listening_socket_has_its_queue_and_a_connection_none() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        rustix::net::listen(&listener, 7).unwrap();
        let address = listener.local_addr().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        assert_eq!(of(&address), Some(Listening { sockets: 1, queue_max: 7 }));
        assert_eq!(of(&stream.local_addr().unwrap()), None);
        assert_eq!(of(&SocketAddr::from(([127, 0, 0, 2], address.port()))), None);
    }

    #[test]
    fn one_that_listens_for_both_versions_takes_ipv4() {
        // Where there is no IPv6 there is nothing to see.
        let Ok(listener) = TcpListener::bind("[::]:0") else { return };
        let port = listener.local_addr().unwrap().port();
        let seen = of(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        assert_eq!(seen.map(|seen| seen.sockets), Some(1));
    }

    #[test]
    fn sockets_that_share_a_port_are_counted() {
        let open = |address: &SocketAddr| {
            let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
            rustix::net::sockopt::set_socket_reuseport(&socket, true).unwrap();
            rustix::net::bind(&socket, address).unwrap();
            rustix::net::listen(&socket, 9).unwrap();
            TcpListener::from(socket)
        };
        let first = open(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = first.local_addr().unwrap();
        let _others = [open(&address), open(&address)];
        assert_eq!(of(&address), Some(Listening { sockets: 3, queue_max: 9 }));
    }
}
