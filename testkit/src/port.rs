//! Free ports that stay ours.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;

/// A TCP port that no other harness on this machine uses while this value lives.
///
/// The claim is the UDP port of the same number: Redis has no use for it, the kernel gives it to
/// one process only and takes it back when that process ends, however it ends. So a port also
/// stays ours between the death of a server and its restart.
#[derive(Debug)]
pub(crate) struct PortClaim {
    port: u16,
    _claim: UdpSocket,
}

impl PortClaim {
    /// Claims a port at which nothing listens.
    pub(crate) fn new() -> Self {
        for _ in 0..TRIES {
            let port = random_port();
            let Ok(claim) = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) else { continue };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Self { port, _claim: claim };
            }
        }
        panic!("no free port on 127.0.0.1 in {RANGE:?} after {TRIES} tries");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

fn random_port() -> u16 {
    // The standard library seeds this hasher from the system: enough to spread parallel tests.
    let random = RandomState::new().build_hasher().finish();
    let offset = random % u64::from(RANGE.end - RANGE.start);
    RANGE.start + u16::try_from(offset).expect("invariant: less than the length of a range of u16")
}

/// Below the ephemeral ports of Linux (32768) and macOS (49152): an outgoing connection must not
/// be given the port of a server that is just being restarted.
const RANGE: Range<u16> = 20_000..32_000;
const TRIES: u32 = 1_000;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn claimed_ports_differ_and_lie_below_the_ephemeral_range() {
        let claims: Vec<_> = (0..200).map(|_| PortClaim::new()).collect();
        let ports: HashSet<_> = claims.iter().map(PortClaim::port).collect();
        assert_eq!(ports.len(), claims.len());
        assert!(ports.iter().all(|port| RANGE.contains(port)));
    }
}
