//! Elections, on real servers.

mod known_double_leaders;
mod naive;
mod observing;
mod rights;
mod several;
mod terms;

use palisade::{
    Client,
    election::{Leader, Observer},
};
use testkit::RedisServer;

use crate::support::{Look, patient, patiently, soon};

/// Where the leader of `x` is announced.
const ANNOUNCED: &str = "{x}:palisade_leader";

/// A client as of another process.
async fn stranger(server: &RedisServer) -> Client {
    patiently(crate::fleet::stranger(server)).connect().await.unwrap()
}

/// What the next change shows of the leader, but no outage.
async fn next(observer: &mut Observer) -> Option<Leader> {
    let seen = soon(observer.changed()).await.unwrap();
    assert_eq!(seen.stale_since, None);
    seen.leader
}

/// Follows until a leader has this value.
async fn until_value(observer: &mut Observer, value: &str) -> Leader {
    loop {
        let seen = soon(observer.changed()).await.unwrap();
        if let Some(leader) = seen.leader
            && leader.value.as_deref() == Some(value.as_bytes())
        {
            return leader;
        }
    }
}

fn text(leader: Option<Leader>) -> Option<String> {
    leader.and_then(|leader| leader.value).map(|value| String::from_utf8(value).unwrap())
}
