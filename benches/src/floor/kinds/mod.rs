//! The other kinds as one writes them by hand: no more than what excludes, and wakes.

use std::sync::Arc;

use redis::{aio::MultiplexedConnection, cmd};

use super::{HOLDER, LEASE_MS, Script, connect, was_done};
use crate::{block::Pair, kinds::Kind};

/// One name on one node.
#[derive(Clone)]
pub(crate) struct ByHand {
    redis: MultiplexedConnection,
    scripts: &'static [Script; 2],
    keys: [Arc<str>; 2],
    channel: Arc<str>,
}

impl ByHand {
    /// One connection to the server, and a name each.
    pub(crate) async fn connect(kind: Kind, url: &str, names: &[String]) -> Vec<Self> {
        let mut redis = connect(url).await;
        let scripts = scripts(kind);
        for script in scripts {
            script.load(&mut redis).await;
        }
        for name in names.iter().filter(|_| kind.has_permits()) {
            let set = cmd("SET").arg(name).arg(Kind::PERMITS).exec_async(&mut redis).await;
            set.expect("the server is up");
        }
        let named = |name: &String| {
            let beside = format!("{{{name}}}:beside");
            let (keys, channel) = ([name.as_str().into(), beside.into()], super::channel(name));
            Self { redis: redis.clone(), scripts, keys, channel: channel.into() }
        };
        names.iter().map(named).collect()
    }

    async fn run(&mut self, script: &Script, last: &str) {
        let [name, beside] = &self.keys;
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(script.sha()).arg(2).arg(&**name).arg(&**beside);
        evalsha.arg(HOLDER).arg(last);
        assert!(was_done(evalsha.query_async(&mut self.redis).await), "nobody is in the way");
    }
}

impl Pair for ByHand {
    async fn pair(&mut self) {
        let ([acquire, release], channel) = (self.scripts, Arc::clone(&self.channel));
        self.run(acquire, &LEASE_MS.to_string()).await;
        self.run(release, &channel).await;
    }
}

macro_rules! pair {
    ($acquire:literal, $release:literal) => {{
        static PAIR: [Script; 2] =
            [Script::new(include_str!($acquire)), Script::new(include_str!($release))];
        &PAIR
    }};
}

fn scripts(kind: Kind) -> &'static [Script; 2] {
    match kind {
        Kind::Reading => pair!("read_acquire.lua", "read_release.lua"),
        Kind::Writing => pair!("write_acquire.lua", "write_release.lua"),
        Kind::Fair => pair!("fair_acquire.lua", "fair_release.lua"),
        Kind::Semaphore => pair!("permit_acquire.lua", "permit_release.lua"),
        Kind::Expirable => pair!("lease_acquire.lua", "lease_release.lua"),
    }
}
