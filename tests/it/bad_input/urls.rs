//! URLs and credentials. A password is never shown.

use palisade::{
    AcquireError, Client, Masters, MultiLock, RedLock,
    error::{ConfigError, NodeError},
};
use testkit::RedisServer;

use super::{Any, assert_readable, everything, node_error};
use crate::support::{Look, causes, patient, soon};

const SECRET: &str = "s3cr3t";

#[tokio::test]
async fn url_that_cannot_be_read_is_refused_without_being_repeated() {
    let unreadable = [
        "",
        "s3cr3t",
        "127.0.0.1:6379",
        "redis://",
        "redis:s3cr3t",
        "redis://:s3cr3t@",
        "redis://:s3cr3t@host:port",
        "redis://:s3cr3t@host:99999",
        "redis://:s3cr3t@[::1",
        "redis://user:s3cr3t@127.0.0.1:6379/database",
        "redis://user:s3cr3t@127.0.0.1:6379/-1",
        "redis://:s3/cr3t@host",
        "redis://:%s3cr3t%@ho st",
        " redis://:s3cr3t@host",
        "rediss://:s3cr3t@host:port",
        "rediss://:s3cr3t@host#insecure",
    ];
    for url in unreadable {
        let lazy = Client::connect_lazy(url).unwrap_err();
        let known =
            matches!(lazy, ConfigError::InvalidUrl { .. } | ConfigError::UnsupportedUrl { .. });
        assert!(known, "{url:?}: {lazy:?}");
        assert_readable(&lazy);
        let eager = soon(Client::connect(url)).await.unwrap_err();
        let many = soon(Masters::connect(["redis://127.0.0.1", url])).await.unwrap_err();
        for text in [everything(&lazy), everything(&eager), everything(&many)] {
            assert!(!text.contains(SECRET) && !text.contains("cr3t"), "{url:?}: {text}");
        }
    }
}

#[tokio::test]
async fn url_of_another_sort_is_named_by_its_scheme_alone() {
    for scheme in ["http", "memcached", "file"] {
        let url = format!("{scheme}://user:{SECRET}@127.0.0.1:6379");
        let error = Client::connect_lazy(&url).unwrap_err();
        let ConfigError::UnsupportedUrl { scheme: named, .. } = &error else { panic!("{error:?}") };
        assert!(named.eq_ignore_ascii_case(scheme), "{named}");
        assert!(!everything(&error).contains(SECRET));
        assert_readable(&error);
    }
}

#[tokio::test]
async fn url_that_would_work_elsewhere_says_what_to_write_instead() {
    let list = "it is a list; each server needs an URL of its own";
    for (url, instead) in [
        ("redis://:s3cr3t@a,redis://:s3cr3t@b", list),
        ("redis://:s3cr3t@a:6379,b:6379", list),
        ("redis://:s3cr3t@a,b/2", list),
        ("redis://:s3cr3t@a/2,redis://:s3cr3t@b/2", list),
        ("unix:///run/a.sock,unix:///run/b.sock", list),
        ("http://:s3cr3t@host:8080", "write redis://host:port/db"),
    ] {
        let error = Client::connect_lazy(url).unwrap_err();
        assert!(error.to_string().contains(instead), "{url}: {error}");
        assert!(!everything(&error).contains(SECRET), "{url}: {error}");
        assert_readable(&error);
    }
    // A password may have commas.
    let client = Client::connect_lazy("redis://:a,b@host").unwrap();
    assert_eq!(client.node_id().as_str(), "host:6379/0");
}

#[tokio::test]
async fn wrong_password_is_an_error_of_its_own_that_hides_it() {
    let server = RedisServer::builder().password("right").start();
    let urls = [
        server.url_with("default", SECRET),
        server.url_with("nobody", SECRET),
        server.url_with("", SECRET),
        // None at all.
        server.url(),
    ];
    for url in urls {
        let error = soon(patient(&server).url(&url).connect()).await.unwrap_err();
        let refused = matches!(node_error(&error), NodeError::Authentication { .. });
        assert!(refused, "{url}: {error:?}");
        assert!(!everything(&error).contains(SECRET), "{error:?}");
        assert_readable(node_error(&error));

        let lazy = patient(&server).url(&url).build().unwrap();
        for lock in Any::all(&lazy, "x") {
            let error = lock.refused().await;
            assert!(!everything(&error).contains(SECRET), "{error:?}");
            let refused = matches!(causes(&error)[..], [NodeError::Authentication { .. }]);
            assert!(refused, "{error:?}");
        }
    }
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn password_for_a_server_without_one_is_an_error_that_hides_it() {
    let server = RedisServer::start();
    let url = server.url_with("somebody", SECRET);
    let error = soon(patient(&server).url(&url).connect()).await.unwrap_err();
    assert!(matches!(node_error(&error), NodeError::Authentication { .. }), "{error:?}");
    assert!(!everything(&error).contains(SECRET), "{error:?}");
}

#[tokio::test]
async fn waiting_for_an_outage_does_not_wait_for_a_better_password() {
    let server = RedisServer::builder().password("right").start();
    let lazy = Client::connect_lazy(server.url_with("default", SECRET)).unwrap();
    let lock = lazy.lock("x").on_outage(palisade::OnOutage::Wait);
    let error = soon(lock.acquire()).await.unwrap_err();
    assert!(matches!(error, AcquireError::Denied { .. }), "{error:?}");
}

#[tokio::test]
async fn nothing_that_can_be_printed_shows_the_password() {
    let server = RedisServer::builder().password(SECRET).start();
    let url = server.url_with("default", SECRET);
    let builder = patient(&server).url(&url);
    let mut shown = format!("{builder:?} {builder:#?}");
    let client = builder.connect().await.unwrap();
    let masters = Masters::new([client.clone()]).unwrap();
    let lock = client.lock("x");
    let (multi, red) = (MultiLock::new([lock.clone()]), RedLock::new([lock.clone()]));
    let guard = lock.acquire().await.unwrap();
    shown += &format!("{client:?} {client:#?} {masters:?} {lock:?} {lock:#?} {multi:?} {red:?}");
    shown += &format!("{guard:?} {} {:?}", client.node_id(), client.node_id());
    let inspection = masters.inspect("x").await;
    shown += &format!("{inspection:?} {inspection}");
    server.kill();
    shown += &everything(&soon(lock.try_acquire()).await.unwrap_err());
    shown += &everything(&soon(lock.holder()).await.unwrap_err());
    shown += &everything(&soon(guard.release()).await.unwrap_err());
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains(&server.addr().to_string()), "it says which server");
}
