//! TLS: what is trusted, and what is said when something is not.

use std::{fs, sync::Arc, time::Duration};

use palisade::{
    Client, ClientBuilder, Quarantine,
    error::{ConfigError, ConnectError, NodeError},
    settings::{Failover, Tls},
};
use testkit::{Authority, Certificate, Fault, FaultProxy, RedisServer, SlotCluster, TlsPort, Way};
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::support::{HANG, LONG_LEASE, Look, eventually, patient, promptly, soon};

const LOCAL: [&str; 2] = ["localhost", "127.0.0.1"];

fn server_with(certificate: &Certificate) -> RedisServer {
    RedisServer::builder().tls(TlsPort::new(certificate)).start()
}

fn url(server: &RedisServer) -> String {
    format!("rediss://127.0.0.1:{}", server.tls_port())
}

/// Patient settings for the port with TLS.
fn over_tls(server: &RedisServer, tls: Tls) -> ClientBuilder {
    patient(server).url(&url(server)).tls(tls)
}

async fn refused(settings: ClientBuilder) -> NodeError {
    match soon(settings.connect()).await.unwrap_err() {
        ConnectError::Node { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

/// What was said of the certificates.
#[track_caller]
fn reason(error: &NodeError) -> String {
    assert!(!error.is_transient() && !error.is_unknown(), "{error:?}");
    let NodeError::Tls { reason, .. } = error else { panic!("{error:?}") };
    reason.to_string()
}

#[tokio::test]
async fn locks_are_held_renewed_and_waited_for_over_tls() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let tls = Tls::new().ca_file(authority.root());
    let short = Duration::from_millis(400);
    let client = over_tls(&server, tls).watchdog_lease(short).connect().await.unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let renewals = server.calls_of("pexpire");
    eventually(|| server.calls_of("pexpire") > renewals + 2).await;
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    eventually(|| !server.subscribed_from().is_empty()).await;
    guard.release().await.unwrap();
    let guard = promptly(&server, waiter).await.unwrap().unwrap();
    guard.release().await.unwrap();
    let fair = client.fair_lock("y").acquire().await.unwrap();
    fair.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

/// The connection that tells of it is another than those of calls.
#[tokio::test]
async fn hold_that_is_taken_away_is_told_over_tls() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let settings = over_tls(&server, Tls::new().ca_file(authority.root()));
    let client = settings.redisson_watchdog(LONG_LEASE).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    eventually(|| server.cli(&["INFO", "stats"]).contains("tracking_total_keys:1\r")).await;
    server.command(&["DEL", "x"]);
    promptly(&server, guard.lost()).await;
}

#[tokio::test]
async fn lock_comes_back_after_its_socket_was_cut() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let proxy = FaultProxy::to(([127, 0, 0, 1], server.tls_port()).into());
    let tls = Tls::new().ca_file(authority.root());
    let url = format!("rediss://{}", proxy.addr());
    let client = patient(&server).url(&url).tls(tls).connect().await.unwrap();
    for _ in 0..3 {
        let guard = client.lock("x").acquire().await.unwrap();
        proxy.cut();
        guard.release().await.unwrap();
    }
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn server_that_nobody_vouches_for_is_not_spoken_to() {
    let (authority, other) = (Authority::new(), Authority::new());
    let ours = Tls::new().ca_file(authority.root());
    for (certificate, expected) in [
        (other.issue(&LOCAL), "UnknownIssuer"),
        (authority.issue_expired(&LOCAL), "expired"),
        (authority.issue(&["elsewhere.example"]), "not valid for name"),
    ] {
        let server = server_with(&certificate);
        let error = refused(over_tls(&server, ours.clone())).await;
        assert!(reason(&error).contains(expected), "{error}");
        let lock = over_tls(&server, ours.clone()).build().unwrap().lock("x");
        // It does not wait for better times.
        let waited = soon(lock.acquire()).await.unwrap_err();
        assert!(waited.to_string().contains("no TLS connection"), "{waited}");
        assert_eq!(server.calls_of("hello"), 0);
    }
}

#[tokio::test]
async fn what_does_not_speak_the_same_is_told_apart() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let tls = Tls::new().ca_file(authority.root());
    let to_plain = patient(&server).url(&format!("rediss://{}", server.addr())).tls(tls);
    let error = refused(to_plain.connect_timeout(Duration::from_secs(2))).await;
    let text = error.to_string();
    assert!(text.contains("does not speak TLS") || text.contains("no TLS handshake"), "{text}");
    let to_tls = patient(&server).url(&format!("redis://127.0.0.1:{}", server.tls_port()));
    let error = refused(to_tls).await;
    assert!(error.to_string().contains("TLS"), "{error}");
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn handshake_that_is_not_answered_ends_with_the_time_to_connect() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let proxy = FaultProxy::to(([127, 0, 0, 1], server.tls_port()).into());
    proxy.set(Fault::Stall(Way::Replies));
    let settings = patient(&server).url(&format!("rediss://{}", proxy.addr()));
    let settings = settings.tls(Tls::new().ca_file(authority.root()));
    let error = refused(settings.connect_timeout(Duration::from_millis(300))).await;
    assert!(error.to_string().contains("no TLS handshake within 300ms"), "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn server_that_wants_to_know_its_clients_is_shown_a_certificate() {
    let (authority, other) = (Authority::new(), Authority::new());
    let port = TlsPort::new(&authority.issue(&LOCAL)).trusting_only(&authority.root());
    let server = RedisServer::builder().tls(port).start();
    let trusting = Tls::new().ca_file(authority.root());
    let show = |certificate: &Certificate| {
        trusting.clone().client_certificate(&certificate.certificate, &certificate.key)
    };
    let known = show(&authority.issue(&["app"]));
    let client = over_tls(&server, known).connect().await.unwrap();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    let error = refused(over_tls(&server, trusting.clone())).await;
    assert!(reason(&error).contains("Certificate"), "{error}");
    let error = refused(over_tls(&server, show(&other.issue(&["app"])))).await;
    assert!(!reason(&error).is_empty(), "{error}");
}

#[tokio::test]
async fn server_may_have_another_name_than_its_address() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&["redis.internal"]));
    let tls = Tls::new().ca_file(authority.root());
    let error = refused(over_tls(&server, tls.clone())).await;
    assert!(reason(&error).contains("redis.internal"), "{error}");
    let named = tls.clone().server_name("redis.internal");
    over_tls(&server, named.clone()).connect().await.unwrap();
    // Through a tunnel, the name is that of the URL, or the one that is set.
    let addr = ([127, 0, 0, 1], server.tls_port());
    let tunnel = move || tokio::net::TcpStream::connect(std::net::SocketAddr::from(addr));
    let through = patient(&server).connector("tunnel", tunnel);
    through.clone().url("rediss://redis.internal").tls(tls.clone()).connect().await.unwrap();
    let no_place = ClientBuilder::default().quarantine(Quarantine::Durable);
    let alone = no_place.connector("tunnel", tunnel).connect_timeout(HANG);
    alone.clone().tls(named).connect().await.unwrap();
    let error = alone.tls(tls).build().unwrap_err();
    assert!(error.to_string().contains("set server_name"), "{error}");
}

#[tokio::test]
async fn whole_configuration_is_taken_as_it_is() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.root()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(ring::default_provider().into());
    let config = builder.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let tls = Tls::with_config(config);
    let client = over_tls(&server, tls.clone()).connect().await.unwrap();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    let both = over_tls(&server, tls.ca_file(authority.root())).build().unwrap_err();
    assert!(both.to_string().contains("takes no files besides"), "{both}");
}

#[tokio::test]
async fn clients_that_trust_others_share_no_connections() {
    let authority = Authority::new();
    let server = server_with(&authority.issue(&LOCAL));
    let tls = Tls::new().ca_file(authority.root());
    let settings = over_tls(&server, tls.clone()).max_lease(LONG_LEASE);
    let trusting = settings.clone().connect().await.unwrap();
    let guard = trusting.lock("x").acquire().await.unwrap();
    let stranger = Authority::new();
    let mistrusting = settings.tls(Tls::new().ca_file(stranger.root()));
    let other = mistrusting.build().unwrap();
    let error = soon(other.lock("y").acquire()).await.unwrap_err();
    assert!(error.to_string().contains("no TLS connection"), "{error}");
    guard.release().await.unwrap();
}

#[test]
fn settings_that_cannot_work_are_told_before_anything_is_sent() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&LOCAL), authority.issue(&LOCAL));
    let nothing = authority.root().with_file_name("nothing.pem");
    fs::write(&nothing, "no certificate at all\n").unwrap();
    let missing = authority.root().with_file_name("missing.pem");
    let url = "rediss://127.0.0.1:1";
    let by = |tls: Tls| Client::builder().url(url).tls(tls).build();
    let ca = || Tls::new().ca_file(authority.root());
    for (built, expected) in [
        (by(Tls::new().ca_file(&missing)), "missing.pem: "),
        (by(Tls::new().ca_file(&nothing)), "nothing.pem: it has no certificate in it"),
        (by(ca().client_certificate(&missing, &one.key)), "missing.pem: "),
        (by(ca().client_certificate(&one.certificate, &missing)), "missing.pem: "),
        (by(ca().client_certificate(&one.certificate, &other.key)), "certificate.pem: "),
        (by(ca().server_name("not a name")), "server_name is neither"),
        (Client::builder().url("redis://127.0.0.1").tls(ca()).build(), "say rediss://"),
        (Client::builder().url("unix:///run/redis.sock").tls(ca()).build(), "without TLS"),
        (Client::builder().url("rediss://127.0.0.1#insecure").build(), "always verified"),
    ] {
        let error = built.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        let known = matches!(
            error,
            ConfigError::InvalidSetting { setting: "tls", .. } | ConfigError::InvalidUrl { .. }
        );
        assert!(known, "{error:?}");
    }
}

/// Each of its servers shows a certificate, the ones that only others have told of, too.
#[tokio::test]
async fn cluster_is_reached_over_tls_wherever_a_slot_goes() {
    let authority = Authority::new();
    let cluster = SlotCluster::over_tls(3, &authority);
    let settings = Client::builder().cluster(&cluster.hosts()[..1]).failover(Failover::Trust);
    let client = settings.tls(Tls::new().ca_file(authority.root())).connect();
    let client = soon(client).await.unwrap();
    for name in ["a", "b", "c"] {
        let guard = soon(client.fenced_lock(name).acquire()).await.unwrap();
        let slot = cluster.slot_of(name);
        cluster.move_slot(slot, (cluster.owner_of(slot) + 1) % 3);
        let token = guard.fencing_token();
        soon(guard.release()).await.unwrap();
        let guard = soon(client.fenced_lock(name).acquire()).await.unwrap();
        assert!(guard.fencing_token() > token);
        soon(guard.release()).await.unwrap();
    }
    let stranger = Authority::new();
    let mistrusting = Client::builder().cluster(cluster.hosts());
    let error = refused(mistrusting.tls(Tls::new().ca_file(stranger.root()))).await;
    assert!(matches!(error, NodeError::Tls { .. }), "{error:?}");
}
