//! A connector and an URL: streams of the caller's making, and the user that logs in on them.

use palisade::{Client, ClientBuilder, Masters};
use testkit::RedisServer;
use tokio::net::TcpStream;

use crate::support::{Look, patient, soon};

type Given = fn(ClientBuilder, std::net::SocketAddr, &str) -> ClientBuilder;

fn connector(settings: ClientBuilder, to: std::net::SocketAddr) -> ClientBuilder {
    settings.connector("tunnel", move || TcpStream::connect(to))
}

#[tokio::test]
async fn connector_given_with_an_url_logs_in_as_the_url_says() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", ">p%w", "~*", "&*", "+@all"]);
    let orders: [Given; 2] = [
        |settings, to, url| connector(settings.url(url), to),
        |settings, to, url| connector(settings, to).url(url),
    ];
    for given in orders {
        let url = "redis://app:p%25w@nowhere.invalid/3";
        let client = given(patient(&server), server.addr(), url).build().unwrap();
        assert!(client.node_id().as_str().starts_with("tunnel#"), "{client:?}");
        let guard = soon(client.lock("x").acquire()).await.unwrap();
        assert!(server.cli(&["INFO", "keyspace"]).contains("db3:keys=1"));
        assert!(server.cli(&["CLIENT", "LIST"]).contains("user=app"));
        guard.release().await.unwrap();
    }
    let unread = connector(Client::builder().url("redis://host:port"), server.addr());
    assert!(unread.build().is_err());
}

#[tokio::test]
async fn connector_in_the_settings_of_masters_plays_no_part() {
    let (server, other) = (RedisServer::start(), RedisServer::start());
    let settings = connector(patient(&other), other.addr());
    let masters = Masters::connect_with(settings, [server.url()]).await.unwrap();
    let guard = soon(masters.clients()[0].lock("x").acquire()).await.unwrap();
    assert!(server.exists("x"));
    guard.release().await.unwrap();
}
