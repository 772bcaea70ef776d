//! Serving TCP: a port that is closed while the server is down.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::connection;
use super::engine::Engine;
use super::state::ServerMode;

/// Opens the port and serves it until the server is stopped.
pub(crate) async fn listen(engine: Arc<Engine>, address: SocketAddr) -> io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let text = "the embedded server has no password and listens on loopback only";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(engine, listener, address));
    Ok(address)
}

async fn accept(engine: Arc<Engine>, listener: TcpListener, address: SocketAddr) {
    let changed = Arc::new(Notify::new());
    engine.watch(Arc::clone(&changed));
    let mut open = Some(listener);
    loop {
        match engine.mode() {
            ServerMode::Stopped => return,
            ServerMode::Killed => {
                open = None;
                changed.notified().await;
                continue;
            }
            ServerMode::Running | ServerMode::Frozen => {}
        }
        let Some(listener) = &open else {
            open = TcpListener::bind(address).await.ok();
            if open.is_none() {
                tokio::time::sleep(RETRY).await;
            }
            continue;
        };
        tokio::select! { biased;
            () = changed.notified() => {}
            accepted = listener.accept() => if let Ok((stream, peer)) = accepted {
                attach(&engine, stream, peer);
            }
        }
    }
}

fn attach(engine: &Arc<Engine>, stream: TcpStream, peer: SocketAddr) {
    // Only makes answers slower if it fails.
    stream.set_nodelay(true).ok();
    let wake = Arc::new(Notify::new());
    if let Some(id) = engine.open(Some(peer.to_string()), Arc::clone(&wake)) {
        tokio::spawn(connection::serve(Arc::clone(engine), id, wake, stream));
    }
}

/// How long to wait before trying again to open a port that another has taken meanwhile.
const RETRY: Duration = Duration::from_millis(10);
