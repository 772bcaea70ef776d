//! What stands on the server and what is said on the channel.

use palisade::Lease;
use testkit::{RedisServer, Reply};

use crate::support::{Look, channel, client, fixed, patient};

#[tokio::test]
async fn held_lock_is_a_hash_with_one_holder_and_a_ttl() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    assert_eq!(server.keys(), ["x"]);
    let expected = [(guard.holder_id().to_owned(), "1".to_owned())].into();
    assert_eq!(server.hash("x"), expected);
    let ttl = server.pttl("x");
    assert!((300_000..=600_000).contains(&ttl), "{ttl}");
    guard.release().await.unwrap();
}

#[tokio::test]
async fn holder_id_is_the_process_uuid_and_a_number_that_is_never_used_again() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let first = one.lock("x").acquire().await.unwrap();
    let second = other.lock("y").acquire().await.unwrap();
    let third = one.lock("z").acquire().await.unwrap();
    let parts = [&first, &second, &third].map(|guard| {
        let (uuid, number) = guard.holder_id().split_once(':').unwrap();
        (uuid.to_owned(), number.parse::<u64>().unwrap())
    });
    let [(uuid, a), (uuid_of_other, b), (_, c)] = parts;
    assert_eq!(uuid, uuid_of_other, "of one process");
    assert!(a != b && b != c && a != c);
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{uuid}");
    assert_eq!(uuid.as_bytes()[14], b'8', "a version that Redisson's have not: {uuid}");
    assert!(uuid.chars().all(|c| c == '-' || matches!(c, '0'..='9' | 'a'..='f')), "{uuid}");
}

#[tokio::test]
async fn fixed_lease_is_the_ttl_to_the_millisecond() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let _guard = client.lock("x").with_lease(fixed(54_321)).acquire().await.unwrap();
    let ttl = server.pttl("x");
    assert!((44_321..=54_321).contains(&ttl), "{ttl}");
    let expires = server.end_of("x");
    let now = server.command(&["TIME"]);
    let now_ms = now.array()[0].to_string().parse::<i64>().unwrap() * 1000;
    assert!(expires <= now_ms + 1000 + 54_321, "never later than the lease from now");
}

#[tokio::test]
async fn watchdog_lease_is_the_clients_unless_it_has_a_length_of_its_own() {
    let server = RedisServer::start();
    let settings = patient(&server).watchdog_lease(std::time::Duration::from_secs(200));
    let client = settings.connect().await.unwrap();
    let _x = client.lock("x").acquire().await.unwrap();
    let own = Lease::WatchdogOf(std::time::Duration::from_secs(400));
    let _y = client.lock("y").with_lease(own).acquire().await.unwrap();
    let (x, y) = (server.pttl("x"), server.pttl("y"));
    assert!((100_000..=200_000).contains(&x), "{x}");
    assert!((300_000..=400_000).contains(&y), "{y}");
}

#[tokio::test]
async fn release_deletes_the_key_and_announces_a_zero() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let names = [("x", channel("x")), ("{tag}:x", "redisson_lock__channel:{tag}:x".to_owned())];
    for (name, channel) in names {
        let mut subscriber = server.connect();
        subscriber.command(&["SUBSCRIBE", &channel]).unwrap();
        client.lock(name).acquire().await.unwrap().release().await.unwrap();
        assert!(!server.exists(name));
        let bulk = |text: &str| Reply::Bulk(text.into());
        let expected = Reply::Array(vec![bulk("message"), bulk(&channel), bulk("0")]);
        assert_eq!(subscriber.read().unwrap(), expected);
    }
}

#[tokio::test]
async fn refused_attempt_changes_nothing_on_the_server() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").with_lease(fixed(200_000)).acquire().await.unwrap();
    let before = (server.hash("x"), server.end_of("x"));
    let other = client.lock("x").with_lease(fixed(600_000));
    assert!(other.try_acquire().await.unwrap().is_none());
    assert_eq!((server.hash("x"), server.end_of("x")), before);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn connections_carry_the_process_uuid_and_the_clients_name() {
    let server = RedisServer::start();
    let client = patient(&server).name("billing").connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let uuid = guard.holder_id().split(':').next().unwrap();
    let list = server.cli(&["CLIENT", "LIST"]);
    assert!(list.contains(&format!("name=palisade:{uuid}:billing ")), "{list}");
    guard.release().await.unwrap();
}
