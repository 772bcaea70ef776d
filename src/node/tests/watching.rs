//! Whether a master that has moved is noticed, whatever stands between its sentinels and us.

use std::sync::Arc;

use testkit::{RedisServer, Sentinels};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use crate::{
    clock::{BootClock, SharedClock},
    reach::{Directory, HostPort, Whereabouts, test_settings::within},
};

/// A proxy to a server that is not there for its first connections: it takes them, never answers, and
/// never hangs up. Later ones reach `upstream`.
async fn held_up(upstream: std::net::SocketAddr, first: usize) -> HostPort {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            if held.len() < first {
                held.push(stream);
                continue;
            }
            tokio::spawn(async move {
                let mut upstream = TcpStream::connect(upstream).await.unwrap();
                let _ended = copy_bidirectional(&mut stream, &mut upstream).await;
            });
        }
    });
    ("127.0.0.1".into(), port)
}

#[tokio::test]
async fn master_that_moved_is_noticed_though_all_sentinels_were_out_of_reach_for_a_while() {
    let master = RedisServer::start();
    let sentinels = Sentinels::over(master.addr(), 0, 1);
    let clock: SharedClock = Arc::new(BootClock);
    // One to listen on and one to ask; and again.
    let place = held_up(sentinels.addrs()[0], 3).await;
    let directory = Directory::new(&[place], Sentinels::SERVICE);
    let elsewhere = Whereabouts { place: ("elsewhere".into(), 1), config: None };
    within(directory.moved_from(&elsewhere, &clock)).await;
}
