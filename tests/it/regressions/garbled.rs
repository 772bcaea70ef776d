//! An answer that makes no sense: what was asked for may have been done.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use palisade::{Client, embedded::Server, error::NodeError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, split};

use super::holder_on;
use crate::support::{HANG, causes, soon};

/// Leads to a server, and spoils one answer to an acquire once it is told to.
fn garbled(far: DuplexStream, is_due: Arc<AtomicBool>) -> DuplexStream {
    let (near, ours) = tokio::io::duplex(4096);
    let ((mut requests, mut answers), (mut from, mut to)) = (split(ours), split(far));
    tokio::spawn(async move { tokio::io::copy(&mut requests, &mut to).await });
    tokio::spawn(async move {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut bytes).await {
            // All that is said of one grant is a number.
            let is_spoiled = bytes[0] == b':' && is_due.swap(false, Ordering::SeqCst);
            let said = if is_spoiled { b"+OK\r\n" } else { &bytes[..n] };
            if answers.write_all(said).await.is_err() {
                return;
            }
        }
    });
    near
}

// proves: three-answers
#[tokio::test]
async fn acquire_whose_answer_is_not_understood_leaves_no_key() {
    let (server, is_due) = (Server::start().unwrap(), Arc::new(AtomicBool::new(false)));
    let (behind, spoils) = (server.clone(), is_due.clone());
    let connect = move || {
        let (server, is_due) = (behind.clone(), spoils.clone());
        async move { Ok::<_, io::Error>(garbled(server.connect().await?, is_due)) }
    };
    let settings = Client::builder().connector("garbled", connect);
    let client = soon(settings.node_timeout(HANG).connect()).await.unwrap();
    let lock = client.lock("x");
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    is_due.store(true, Ordering::SeqCst);
    let error = soon(lock.try_acquire()).await.unwrap_err();
    assert!(matches!(causes(&error)[..], [NodeError::Malformed { .. }]), "{error:?}");
    assert!(!is_due.load(Ordering::SeqCst));
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(holder_on(&server, "x").await, None);
}
