//! Servers that are named without an URL.

use palisade::{Client, ClientBuilder, Quarantine, error::ConfigError};
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use testkit::RedisServer;

use crate::support::{Look, patient};

#[tokio::test]
async fn host_user_password_and_database_need_no_encoding() {
    let password = "s/e@c:r%e#t?";
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app:1", "on", "allkeys", "allcommands", "allchannels"]);
    server.cli(&["ACL", "SETUSER", "app:1", &format!(">{password}")]);
    let settings = patient(&server).host("127.0.0.1", server.port());
    let settings = settings.user("app:1").password(password).database(3);
    let client = settings.connect().await.unwrap();
    assert_eq!(client.node_id().as_str(), format!("127.0.0.1:{}/3", server.port()));
    let guard = client.lock("x").acquire().await.unwrap();
    assert_eq!(server.size(), 0, "it is in another database");
    assert!(server.cli(&["CLIENT", "LIST"]).contains("user=app:1"));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn settings_count_in_place_of_what_an_url_says() {
    let server = RedisServer::builder().password("right").start();
    let url = server.url_with("default", "wrong");
    let client = patient(&server).url(&url).password("right").database(2).connect().await.unwrap();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    assert!(client.node_id().as_str().ends_with("/2"));
}

/// It would come as the default user, which may have other rights.
#[tokio::test]
async fn user_without_a_password_comes_as_that_user() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", "nopass", "allkeys", "allcommands", "allchannels"]);
    for settings in [
        patient(&server).user("app"),
        patient(&server).url(&format!("redis://app@{}", server.addr())),
    ] {
        let client = settings.connect().await.unwrap();
        assert!(server.cli(&["CLIENT", "LIST"]).contains("user=app"));
        client.lock("x").acquire().await.unwrap().release().await.unwrap();
    }
}

#[test]
fn hosts_may_be_names_or_numbers() {
    for (host, id) in [
        ("redis.internal", "redis.internal:7000/0"),
        ("10.0.0.1", "10.0.0.1:7000/0"),
        ("::1", "[::1]:7000/0"),
        ("[::1]", "[::1]:7000/0"),
    ] {
        let client = Client::builder().host(host, 7000).build().unwrap();
        assert_eq!(client.node_id().as_str(), id);
    }
    for host in ["", "[]", " ", "redis://h", "user@h", "a,b", "h/2"] {
        let error = Client::builder().host(host, 7000).build().unwrap_err();
        let is_host = matches!(error, ConfigError::InvalidSetting { setting: "host", .. });
        assert!(is_host, "{host:?}: {error}");
    }
}

#[tokio::test]
async fn settings_of_redis_rs_can_be_taken_over() {
    let server = RedisServer::builder().password("open sesame").start();
    let info = server.url().into_connection_info().unwrap();
    let login = RedisConnectionInfo::default().set_password("open sesame").set_db(4);
    let builder = ClientBuilder::try_from(info.set_redis_settings(login)).unwrap();
    let client = builder.quarantine(Quarantine::Durable).connect().await.unwrap();
    assert!(client.node_id().as_str().ends_with("/4"));
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    let unverified =
        ConnectionAddr::TcpTls { host: "h".into(), port: 1, insecure: true, tls_params: None };
    let info = server.url().into_connection_info().unwrap().set_addr(unverified);
    let error = ClientBuilder::try_from(info).unwrap_err();
    assert!(error.to_string().contains("unverified"), "{error}");
}
