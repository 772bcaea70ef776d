//! Members that cannot make a composite.

use palisade::{
    AcquireError, Client, Lease, Masters, MultiLock, RedLock,
    error::{ConfigError, ConnectError},
};
use testkit::RedisServer;

use super::assert_readable;
use crate::support::{HANG, Look, client, fixed, patient, soon};

/// The server by another name for the same address.
fn url_by_name(server: &RedisServer) -> String {
    format!("redis://localhost:{}", server.port())
}

async fn by_name(server: &RedisServer) -> Client {
    patient(server).url(&url_by_name(server)).connect().await.unwrap()
}

#[tokio::test]
async fn composite_without_members_is_refused() {
    assert_eq!(MultiLock::<palisade::Lock>::new([]).unwrap_err(), ConfigError::NoMembers);
    assert_eq!(RedLock::<palisade::Lock>::new([]).unwrap_err(), ConfigError::NoMembers);
    assert_eq!(Masters::new([]).unwrap_err(), ConfigError::NoMembers);
    let none: [&str; 0] = [];
    let error = soon(Masters::connect(none)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Config(ConfigError::NoMembers)), "{error:?}");
    assert_readable(&error);
}

#[tokio::test]
async fn same_lock_twice_is_refused() {
    let server = RedisServer::start();
    let (one, again) = (client(&server).await, client(&server).await);
    for other in [&one, &again] {
        let error = MultiLock::new([one.lock("x"), other.lock("x")]).unwrap_err();
        assert!(matches!(&error, ConfigError::DuplicateMember { .. }), "{error:?}");
        assert!(error.to_string().contains(one.node_id().as_str()), "{error}");
        assert_readable(&error);
        let error = RedLock::new([one.lock("x"), other.lock("x")]).unwrap_err();
        assert!(matches!(&error, ConfigError::SameServer { .. }), "{error:?}");
        assert_readable(&error);
    }
    assert!(MultiLock::new([one.lock("x"), one.lock("y")]).is_ok(), "two names are two locks");
    let error = RedLock::new([one.lock("x"), one.lock("y")]).unwrap_err();
    assert!(matches!(error, ConfigError::SameServer { .. }), "one server has one vote");
}

#[tokio::test]
async fn same_master_twice_is_refused() {
    let server = RedisServer::start();
    let error = soon(Masters::connect([server.url(), server.url()])).await.unwrap_err();
    assert!(matches!(error, ConnectError::Config(ConfigError::SameServer { .. })), "{error:?}");
}

#[tokio::test]
async fn member_with_a_lease_of_its_own_is_refused() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for lease in [fixed(10_000), Lease::WatchdogOf(std::time::Duration::from_secs(10))] {
        let members = || [client.lock("x"), client.lock("y").with_lease(lease)];
        let refused = [
            MultiLock::new(members()).unwrap_err(),
            RedLock::new(members().into_iter().skip(1)).unwrap_err(),
        ];
        for error in refused {
            let ConfigError::MemberLease { member, .. } = &error else { panic!("{error:?}") };
            assert!(member.contains("\"y\""), "{member}");
            assert_readable(&error);
        }
    }
}

#[tokio::test]
async fn two_votes_of_one_server_are_noticed_on_contact() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, by_name(&server).await);
    let lock = RedLock::new([one.lock("x"), other.lock("x")]).unwrap();
    for error in [soon(lock.acquire()).await.err(), soon(lock.try_acquire()).await.err()] {
        let error = error.unwrap();
        let same = matches!(&error, AcquireError::Config(ConfigError::SameServer { .. }));
        assert!(same, "{error:?}");
        assert!(error.to_string().contains("localhost"), "{error}");
        assert_readable(&error);
    }
    soon(one.shutdown(HANG)).await.unwrap();
    soon(other.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
}

/// It is not known yet which server is which when the first votes are asked for.
#[tokio::test]
async fn two_votes_of_one_server_are_noticed_by_clients_that_connect_at_the_first_use() {
    let server = RedisServer::start();
    let apart = RedisServer::start();
    let urls = [server.url(), url_by_name(&server), apart.url()];
    // With its vote and one of the other's there would be a majority before the third has connected.
    apart.kill();
    let clients = urls.map(|url| patient(&server).url(&url).build().unwrap());
    let lock = RedLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
    let error = soon(lock.acquire()).await.unwrap_err();
    let same = matches!(&error, AcquireError::Config(ConfigError::SameServer { .. }));
    assert!(same, "{error:?}");
    for client in &clients {
        soon(client.shutdown(HANG)).await.unwrap();
    }
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn same_key_through_two_addresses_is_noticed_on_contact() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, by_name(&server).await);
    let lock = MultiLock::new([one.lock("x"), other.lock("x")]).unwrap();
    for error in [soon(lock.acquire()).await.err(), soon(lock.try_acquire()).await.err()] {
        let error = error.unwrap();
        let twice = matches!(&error, AcquireError::Config(ConfigError::DuplicateMember { .. }));
        assert!(twice, "{error:?}");
        assert_readable(&error);
    }
    let lock = MultiLock::new([one.lock("x"), other.lock("y")]).unwrap();
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    soon(one.shutdown(HANG)).await.unwrap();
    soon(other.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
}
