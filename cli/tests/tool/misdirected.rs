//! Servers that are not what their URLs say, and addresses that no user has named.

use std::{
    io::{self, Write},
    net::TcpListener,
    thread,
};

use testkit::{Authority, RedisServer, Sentinels, SlotCluster, TlsPort};

use crate::support::tool::{palisade, run};

const OUTAGE: i32 = 69;
const CONFIGURATION: i32 = 78;

#[test]
fn one_of_a_cluster_that_is_named_by_itself_names_the_way_to_all_of_it() {
    let cluster = SlotCluster::start(3);
    for host in cluster.hosts() {
        let urls = [format!("redis://{host}")];
        for options in ["-n", "-w 2", "--permits 1 --of 2"] {
            let refused = run(&urls, options, "exit 3").finish();
            assert_eq!(refused.code(), CONFIGURATION, "{options}: {refused:?}");
            assert!(refused.said().contains("redis+cluster://"), "{options}: {refused:?}");
        }
        let seen = palisade(&["inspect", "-s", &urls[0], "name"]).finish();
        assert!(seen.output.join("").contains("redis+cluster://"), "{seen:?}");
    }
    // Without the right to ask how large it is, the first key that is elsewhere tells.
    let owner = cluster.owner_of(cluster.slot_of("name"));
    let elsewhere = &cluster[(owner + 1) % 3];
    elsewhere.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-cluster"]);
    let refused = run(&[elsewhere.url_with("app", "pw")], "-n", "exit 3").finish();
    assert_eq!(refused.code(), CONFIGURATION, "{refused:?}");
    let place = format!("the key is at {}; name the cluster", cluster[owner].addr());
    assert!(refused.said().contains(&place), "{refused:?}");
}

#[test]
fn server_by_itself_that_is_named_as_a_cluster_or_sentinel_and_one_of_another_kind_are_lasting_mistakes()
 {
    let server = RedisServer::start();
    let named = [format!("redis+cluster://{}", server.addr())];
    let alone = run(&named, "-n", "exit 3").finish();
    assert_eq!(alone.code(), CONFIGURATION, "{alone:?}");
    assert!(alone.said().contains("in no cluster"), "{alone:?}");
    let named = [format!("redis+sentinel://{}/orders", server.addr())];
    let alone = run(&named, "-n", "exit 3").finish();
    assert_eq!(alone.code(), CONFIGURATION, "{alone:?}");
    assert!(alone.said().contains("it is no sentinel, but a server"), "{alone:?}");

    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("redis://{}", other.local_addr().expect("its address"));
    thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            let _client_may_be_gone = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Closed before the client's words are read, it would break and not be read.
            let _until_it_hangs_up = io::copy(&mut stream, &mut io::sink());
        }
    });
    let foreign = run(&[url], "-n", "exit 3").finish();
    assert_eq!(foreign.code(), CONFIGURATION, "{foreign:?}");
}

#[test]
fn port_with_tls_and_port_without_are_told_apart() {
    let authority = Authority::new();
    let certificate = authority.issue(&["127.0.0.1"]);
    let server = RedisServer::builder().tls(TlsPort::new(&certificate)).start();
    let trusting = format!("-n --tls-ca {}", authority.root().display());
    let plain = run(&[format!("rediss://{}", server.addr())], &trusting, "exit 3").finish();
    assert_eq!(plain.code(), CONFIGURATION, "{plain:?}");
    assert!(plain.said().contains("does not speak TLS there"), "{plain:?}");
    let secured = [format!("redis://127.0.0.1:{}", server.tls_port())];
    let secured = run(&secured, "-n", "exit 3").finish();
    assert_eq!(secured.code(), OUTAGE, "{secured:?}");
    assert!(secured.said().contains("say rediss://"), "{secured:?}");
}

#[test]
fn address_that_sentinels_have_told_is_named_where_it_leads_nowhere() {
    let master = RedisServer::start();
    let sentinels = Sentinels::over(master.addr(), 0, 1);
    let urls = [format!("redis+sentinel://{}/{}", sentinels.hosts().join(","), Sentinels::SERVICE)];
    master.kill();
    let refused = run(&urls, "-n", "exit 3").finish();
    assert_eq!(refused.code(), OUTAGE, "{refused:?}");
    assert!(refused.said().contains(&format!(": {}: ", master.addr())), "{refused:?}");
}

#[test]
fn command_that_was_renamed_away_is_not_answered_with_an_acl_rule() {
    let servers = [(); 3].map(|()| RedisServer::builder().without("INFO").start());
    let urls = servers.each_ref().map(RedisServer::url);
    let refused = run(&urls, "-n", "exit 3").finish();
    let mut words = vec!["bless", "--new"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    let unblessed = palisade(&words).finish();
    for told in [refused, unblessed] {
        assert_eq!(told.code(), CONFIGURATION, "{told:?}");
        assert!(told.said().contains("rename-command"), "{told:?}");
        assert!(!told.said().contains("+info"), "{told:?}");
    }
}
