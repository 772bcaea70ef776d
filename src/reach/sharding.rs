//! Whether the servers of a cluster publish by shard.

use std::sync::{Arc, OnceLock};

use redis::Value;

use crate::wire::Publishing;

/// How it is published, said or found out once for all that a client has to do with a cluster. What is
/// published in one way is not heard by listeners in the other.
#[derive(Debug, Clone)]
pub(crate) struct Sharding {
    said: Option<bool>,
    found: Arc<OnceLock<Publishing>>,
}

impl Sharding {
    /// No cluster.
    pub(crate) fn none() -> Self {
        Self { said: None, found: Arc::new(Publishing::Broadcast.into()) }
    }

    /// A cluster: as the user says, or else as its servers can.
    pub(crate) fn of_cluster(said: Option<bool>) -> Self {
        let found = said.map_or_else(OnceLock::new, |is_sharded| publishing(is_sharded).into());
        Self { said, found: Arc::new(found) }
    }

    /// What the user has said.
    pub(super) const fn said(&self) -> Option<bool> {
        self.said
    }

    pub(crate) fn publishing(&self) -> Publishing {
        self.found.get().copied().unwrap_or_default()
    }

    pub(crate) fn is_found(&self) -> bool {
        self.found.get().is_some()
    }

    /// What a server has answered to `PUBSUB SHARDNUMSUB`. One that refuses to tell counts as one that cannot, as
    /// for Redisson: users without that right mostly lack the others, too.
    pub(crate) fn find(&self, answer: &Value) {
        let can = !matches!(answer, Value::ServerError(_));
        let _the_first_stays = self.found.set(publishing(can));
    }
}

const fn publishing(is_sharded: bool) -> Publishing {
    if is_sharded { Publishing::Sharded } else { Publishing::Broadcast }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_server_that_answers_decides_unless_the_user_did() {
        let can = || Value::Array(Vec::new());
        let cannot =
            || redis::parse_redis_value(b"-ERR Unknown subcommand 'SHARDNUMSUB'\r\n").unwrap();
        let (broadcast, sharded) = (Publishing::Broadcast, Publishing::Sharded);
        for (sharding, answers, expected) in [
            (Sharding::of_cluster(None), vec![], None),
            (Sharding::of_cluster(None), vec![can(), cannot()], Some(sharded)),
            (Sharding::of_cluster(None), vec![cannot(), can()], Some(broadcast)),
            (Sharding::of_cluster(Some(true)), vec![cannot()], Some(sharded)),
            (Sharding::of_cluster(Some(false)), vec![can()], Some(broadcast)),
            (Sharding::none(), vec![can()], Some(broadcast)),
        ] {
            answers.iter().for_each(|answer| sharding.find(answer));
            assert_eq!(sharding.is_found(), expected.is_some(), "{answers:?}");
            assert_eq!(sharding.publishing(), expected.unwrap_or(broadcast), "{answers:?}");
        }
    }
}
