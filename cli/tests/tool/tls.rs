//! Servers behind TLS.

use std::path::Path;

use testkit::{Authority, RedisServer, TlsPort};

use crate::support::tool::{palisade, run};

fn shown(path: &Path) -> &str {
    path.to_str().expect("a path of the harness")
}

#[test]
fn lock_is_held_and_looked_at_over_tls() {
    let authority = Authority::new();
    let certificate = authority.issue(&["redis.internal"]);
    let port = TlsPort::new(&certificate).trusting_only(&authority.root());
    let server = RedisServer::builder().tls(port).start();
    let urls = [format!("rediss://127.0.0.1:{}", server.tls_port())];
    let ours = authority.issue(&["app"]);
    let (root, certificate, key) = (authority.root(), ours.certificate, ours.key);
    let options = format!(
        "--tls-ca {} --tls-cert {} --tls-key {} --tls-server-name redis.internal",
        shown(&root),
        shown(&certificate),
        shown(&key)
    );
    let mut held = run(&urls, &options, "echo inside; read x").start();
    assert_eq!(held.line(), "inside");

    let mut words = vec!["inspect", "-s", &urls[0], "name"];
    words.splice(1..1, options.split(' '));
    let seen = palisade(&words).finish();
    // Its holder is found by the same way.
    assert!(seen.output.join("").contains(" pid "), "{seen:?}");

    let by_env = run(&urls, "-n", "exit 3")
        .env("PALISADE_TLS_CA", &root)
        .env("PALISADE_TLS_CERT", &certificate)
        .env("PALISADE_TLS_KEY", &key)
        .env("PALISADE_TLS_SERVER_NAME", "redis.internal");
    assert_eq!(by_env.finish().code(), 75);
    held.write("\n");
    assert_eq!(held.finish().code(), 0);
}

#[test]
fn server_that_nobody_vouches_for_is_said_to_be_one() {
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.issue(&["127.0.0.1"]);
    let server = RedisServer::builder().tls(TlsPort::new(&certificate)).start();
    let urls = [format!("rediss://127.0.0.1:{}", server.tls_port())];
    let root = other.root();
    let refused = run(&urls, &format!("--tls-ca {}", shown(&root)), "exit 3").finish();
    assert_eq!(refused.code(), 78, "{refused:?}");
    assert!(refused.said().contains("no TLS connection: invalid peer certificate"), "{refused:?}");
    // Said for servers that do not speak it: their traffic would go in the clear.
    let plain = run(&[server.url()], "-n", "exit 3").env("PALISADE_TLS_CA", &root).finish();
    assert_eq!(plain.code(), 64, "{plain:?}");
}
