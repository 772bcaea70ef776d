//! A TCP stream to the first address of a name that answers, which hears of it when its peer is gone.

use std::{io, net::SocketAddr, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};

use crate::clock::SharedClock;

/// Connects to a host; if its name has several addresses, to the first of them that answers.
pub(super) async fn connect(host: &str, port: u16, clock: &SharedClock) -> io::Result<TcpStream> {
    let addresses = lookup_host((host, port)).await?;
    let stream = first(addresses, TcpStream::connect, clock).await?;
    // A lone request must not wait for the acknowledgement of the one before it.
    stream.set_nodelay(true)?;
    notice_a_lost_peer(&stream);
    Ok(stream)
}

/// The stream to the address that answers first. They are tried in their order, each a moment after
/// the one before, or at once when one fails: an address that is silent must not cost all the time
/// there is (RFC 8305).
async fn first<T, F: Future<Output = io::Result<T>>>(
    addresses: impl IntoIterator<Item = SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
    clock: &SharedClock,
) -> io::Result<T> {
    let mut under_way = FuturesUnordered::new();
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        under_way.push(connect(address));
        tokio::select! {
            biased;
            Some(stream) = under_way.next() => match stream {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            },
            () = clock.sleep_until(clock.now() + STAGGER) => {}
        }
    }
    while let Some(stream) = under_way.next().await {
        match stream {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Has the system find out whether a peer that says nothing is still there. That keeps the way open
/// through what forgets quiet connections, too.
///
/// A system that knows no such thing has streams all the same: silence is noticed above, later.
fn notice_a_lost_peer(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    #[cfg(target_os = "linux")]
    let keepalive = keepalive.with_interval(PROBE_EVERY).with_retries(PROBES);
    drop(socket.set_tcp_keepalive(&keepalive));
    // Otherwise what was sent is repeated for a quarter of an hour.
    #[cfg(target_os = "linux")]
    drop(socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED)));
}

/// How much later the next address of a name is tried.
const STAGGER: Duration = Duration::from_millis(250);
/// A stream on which nothing was said for so long is probed.
const KEEPALIVE: Duration = Duration::from_secs(10);
#[cfg(target_os = "linux")]
const PROBE_EVERY: Duration = Duration::from_secs(2);
#[cfg(target_os = "linux")]
const PROBES: u32 = 3;
/// What the peer's system has not acknowledged by then it will not: the same as the probes take.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(6);

#[cfg(test)]
mod tests {
    use std::{future::pending, net::TcpListener, sync::Arc};

    use super::*;
    use crate::{clock::BootClock, reach::test_settings::within};

    fn addresses() -> [SocketAddr; 3] {
        [1, 2, 3].map(|port| ([127, 0, 0, 1], port).into())
    }

    fn refused<T>() -> io::Result<T> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }

    #[tokio::test]
    async fn an_address_that_is_silent_holds_up_the_next_one_for_a_moment_only() {
        let clock: SharedClock = Arc::new(BootClock);
        let connect = async |address: SocketAddr| match address.port() {
            1 => pending().await,
            2 => refused(),
            port => Ok(port),
        };
        let answered = within(first(addresses(), connect, &clock)).await;
        assert_eq!(answered.unwrap(), 3);
    }

    #[tokio::test]
    async fn a_slow_address_may_still_be_the_first() {
        let clock: SharedClock = Arc::new(BootClock);
        let connect = async |address: SocketAddr| match address.port() {
            1 => {
                clock.sleep_until(clock.now() + STAGGER * 2).await;
                Ok(1)
            }
            _ => refused(),
        };
        assert_eq!(within(first(addresses(), connect, &clock)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn all_addresses_may_fail() {
        let clock: SharedClock = Arc::new(BootClock);
        let connect = async |_| refused::<()>();
        let error = within(first(addresses(), connect, &clock)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = within(first([], connect, &clock)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn streams_are_probed_while_they_are_quiet() {
        let server = TcpListener::bind("localhost:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let clock: SharedClock = Arc::new(BootClock);
        let stream = within(connect("localhost", port, &clock)).await.unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && stream.nodelay().unwrap());
        #[cfg(target_os = "linux")]
        {
            assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE);
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED));
        }
    }
}
