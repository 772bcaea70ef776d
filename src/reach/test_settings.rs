//! The settings and limits of the tests, and a call that only they make.

use std::{sync::Arc, time::Duration};

use super::{settings::NodeSettings, sharding::Sharding, spin::Spin};
use crate::{
    clock::{BootClock, Clock, Instant},
    error::NodeId,
    standing::{Unidentified, VotingRules},
    wire::{Call, Items, Malformed, Script, ScriptText, Words},
};

pub(crate) fn settings() -> NodeSettings {
    NodeSettings {
        random: Arc::new(crate::random::Random::of_system()),
        clock: Arc::new(BootClock),
        client_name: "palisade-test".into(),
        connect_timeout: Duration::from_secs(5),
        node_timeout: Duration::from_secs(5),
        quiet_after: Duration::from_secs(10),
        frozen_after: 3,
        backoff_max: Duration::from_millis(200),
        margin: Duration::from_millis(20),
        rules: VotingRules {
            quarantine: Duration::from_secs(66),
            unidentified: Unidentified::Refuse,
            db: 0,
        },
        sharding: Sharding::none(),
        replicated: None,
        marker: crate::wire::key::marker(""),
        spin: Spin::Never,
        meters: crate::metering::Meters::shared(None, &NodeId::new("test")),
        scripts: vec![&ECHO],
    }
}

/// Long enough for everything that ought to succeed.
pub(crate) fn later() -> Instant {
    in_ms(30_000)
}

pub(crate) fn in_ms(ms: u64) -> Instant {
    BootClock.now() + Duration::from_millis(ms)
}

/// Asks again until there is an answer; panics when it takes too long.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within(asking).await
}

/// The output, or a panic instead of a test that hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it hangs")
}

/// Writes its number to a key and answers it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo(pub(crate) i64);

pub(crate) static ECHO: Script = Script::new("echo.lua", ECHO_SOURCE, 1, || {
    sha1_smol::Sha1::from(ECHO_SOURCE).digest().to_string()
});

const ECHO_SOURCE: &str = "
    local time = redis.call('TIME')
    redis.call('INCR', 'calls')
    return {time[1] * 1000000 + time[2], tonumber(ARGV[1])}
";

impl Call for Echo {
    type Reply = i64;

    fn script(&self) -> ScriptText<'_> {
        ECHO.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(0).int(self.0);
    }

    fn decode(&self, mut items: Items) -> Result<i64, Malformed> {
        items.int()
    }
}
