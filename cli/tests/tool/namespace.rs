//! Names of locks behind a namespace.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use testkit::Cluster;

use crate::support::tool::{palisade, run};

#[test]
fn lock_in_a_namespace_has_its_key_there_and_its_name_everywhere_else() {
    let cluster = Cluster::start(1);
    let urls = cluster.urls();
    let mut held = run(&urls, "--namespace shop:locks:", "echo $PALISADE_LOCK; read x").start();
    assert_eq!(held.line(), "name");
    let keys = cluster[0].keys();
    assert!(keys.contains(&"shop:locks:name".to_owned()), "{keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("shop:locks:")), "{keys:?}");

    let same = run(&urls, "-n", "exit 3").env("PALISADE_NAMESPACE", "shop:locks:").finish();
    assert_eq!(same.code(), 75, "{same:?}");
    assert!(same.said().contains("name is held by ") && !same.said().contains("shop:"), "{same:?}");
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 3, "another lock");
    let other = run(&urls, "-n --namespace other:", "exit 3");
    assert_eq!(other.env("PALISADE_NAMESPACE", "shop:locks:").finish().code(), 3, "over both");

    let words = ["inspect", "-s", &urls[0], "--namespace", "shop:locks:", "--json", "name"];
    let seen = palisade(&words).finish().output.join("");
    assert!(seen.contains("\"held\"") && !seen.contains("shop:"), "{seen}");
    held.write("\n");
    assert_eq!(held.finish().code(), 0);
}

#[test]
fn namespaces_are_blessed_one_by_one() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let mut words = vec!["bless", "--new", "--namespace", "shop:"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    assert_eq!(palisade(&words).finish().code(), 0);
    assert!(cluster.iter().all(|server| server.keys() == ["shop:palisade:marker"]));
    assert_eq!(run(&urls, "-n --namespace shop:", "exit 3").finish().code(), 3);
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 73);
}

#[test]
fn namespaces_that_cannot_work_are_wrong_use() {
    let urls = ["redis://127.0.0.1:1".to_owned()];
    let long = "x".repeat(1025);
    for bad in [b"a\nb".as_slice(), b"\xff", b"a{", long.as_bytes()] {
        let bad = OsStr::from_bytes(bad);
        let by_env = run(&urls, "-n", "exit 3").env("PALISADE_NAMESPACE", bad).finish();
        assert_eq!(by_env.code(), 64, "{by_env:?}");
        assert!(by_env.said().to_lowercase().contains("namespace"), "{by_env:?}");
        let words = ["run", "-s", &urls[0], "--namespace"].map(OsStr::new);
        let words: Vec<_> = words.into_iter().chain([bad]).collect();
        let rest = ["-n", "name", "--", "true"].map(OsStr::new);
        let by_option = palisade(&[words, rest.to_vec()].concat()).finish();
        assert_eq!(by_option.code(), 64, "{by_option:?}");
    }
}
