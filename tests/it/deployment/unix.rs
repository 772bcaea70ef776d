//! Unix sockets. All other tests run over them with `PALISADE_TRANSPORT=unix`.

use std::{fs, os::unix::fs::PermissionsExt, thread};

use palisade::{
    Client,
    error::{ConnectError, NodeError},
};
use rustix::{
    process::{Uid, geteuid},
    thread::set_thread_res_uid,
};
use testkit::RedisServer;

use crate::support::{patient, soon};

fn reason(error: &ConnectError) -> &str {
    match error {
        ConnectError::Node { source: NodeError::Unreachable { reason, .. }, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn file_that_nobody_listens_at_is_a_server_that_is_down() {
    let server = RedisServer::builder().unix_socket().start();
    let url = server.unix_url();
    let client = patient(&server).url(&url).connect().await.unwrap();
    server.kill();
    let path = url.strip_prefix("unix://").unwrap();
    assert!(fs::exists(path).unwrap(), "a killed server leaves its socket behind");
    let error = soon(Client::connect(&url)).await.unwrap_err();
    assert!(reason(&error).contains("Connection refused"), "{error:?}");
    assert!(error.to_string().contains(path), "{error}");
    // The next one takes its place.
    server.restart();
    let lock = client.lock("x");
    soon(async { while lock.try_acquire().await.is_err() {} }).await;
    server.kill();
    fs::remove_file(path).unwrap();
    let error = soon(Client::connect(&url)).await.unwrap_err();
    assert!(reason(&error).contains("No such file"), "{error:?}");
}

#[test]
fn socket_that_one_may_not_write_to_is_told() {
    let server = RedisServer::builder().unix_socket().start();
    let url = server.unix_url();
    let path = url.strip_prefix("unix://").unwrap().to_owned();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let told = thread::spawn(move || {
        if geteuid().is_root() {
            // Root may write to all; this thread alone is another user from now on.
            let nobody = Uid::from_raw(65_534);
            set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(soon(Client::connect(&url))).unwrap_err()
    });
    let error = told.join().unwrap();
    assert!(reason(&error).contains("Permission denied"), "{error:?}");
}
