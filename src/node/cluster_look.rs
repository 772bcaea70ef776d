//! How the servers of a cluster are asked for their slots.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use redis::{RedisResult, ServerError, Value};

use super::{
    chosen::{Choice, TopologyReport, apart, choose},
    covered::{Bereft, Covered},
    node_core::Core,
    slot_map::SlotMap,
};
use crate::{
    error::NodeError,
    logging::NODE,
    reach::{HostPort, before, cause, field, shown},
    socket::words,
    telling,
};

/// What has come of a look.
pub(super) struct Looked {
    pub(super) map: SlotMap,
    /// Slots that came to their server without the word of the one before.
    pub(super) anew: BTreeSet<u16>,
    pub(super) bereft: Bereft,
}

/// A look, and what is known before it.
pub(super) struct TopologyRefresh<'a> {
    /// Of the cluster.
    pub(super) core: &'a Core,
    /// Which servers are asked, and by what.
    pub(super) asked: &'a [(HostPort, Arc<Core>)],
    pub(super) map: &'a SlotMap,
    pub(super) covered: &'a Covered,
    pub(super) has_warned: &'a AtomicBool,
}

impl TopologyRefresh<'_> {
    /// Asks all; those that are silent are not waited for once it is clear which to believe.
    pub(super) async fn ask_all(&self) -> Result<Looked, NodeError> {
        let (clock, known) = (&self.core.settings.clock, self);
        let places: Vec<_> = self.asked.iter().map(|(place, _)| place.clone()).collect();
        let ids = known.map.ids();
        let mut asked: FuturesUnordered<_> =
            self.asked.iter().map(|(place, core)| self.ask(place, core)).collect();
        let patient_until = clock.now() + DOUBT;
        let (mut said, mut failed) = (Vec::new(), None);
        loop {
            let others_until = match choose(&said, known.map, &places) {
                Choice::Nobody => None,
                // The master that served a slot may be the last to say that it lives.
                Choice::Certain(one)
                    if known.covered.anew(known.map, &one.map, &said).is_empty() =>
                {
                    Some(clock.now() + OTHERS)
                }
                Choice::Certain(_) | Choice::SoFar(_) | Choice::Apart(..) => Some(patient_until),
            };
            let answer = match others_until {
                None => asked.next().await,
                Some(until) => before(clock, until, asked.next()).await.flatten(),
            };
            match answer {
                Some(Ok(one)) => said.push(one),
                Some(Err(error)) => failed = Some(error),
                None => break,
            }
        }
        self.warn_of_strangers(&said, ids);
        match choose(&said, known.map, &places) {
            Choice::Certain(one) | Choice::SoFar(one) => {
                let anew = known.covered.anew(known.map, &one.map, &said);
                let bereft = known.covered.bereft(known.map, &one.map, &said);
                Ok(Looked { map: one.map.clone(), anew, bereft })
            }
            Choice::Apart(one, other) => {
                Err(NodeError::Unsupported { what: apart(one, other).into() })
            }
            Choice::Nobody if said.is_empty() => {
                Err(failed.unwrap_or_else(|| cause::unreachable(&"no server is named")))
            }
            Choice::Nobody => Err(cause::unreachable(&NOBODY_KNOWN)),
        }
    }

    /// Once: it is the settings that are to be changed.
    fn warn_of_strangers(&self, said: &[TopologyReport], ids: &BTreeSet<Arc<str>>) {
        let serves_nothing = |said: &&TopologyReport| said.map.places().is_empty();
        let is_strange =
            |said: &&TopologyReport| !ids.is_empty() && said.map.ids().is_disjoint(ids);
        let stranger = said.iter().find(|said| serves_nothing(said) || is_strange(said));
        if let Some(stranger) = stranger.filter(|_| !self.has_warned.swap(true, Ordering::Relaxed))
        {
            let (node, place) = (self.core.endpoint.id().clone(), shown(&stranger.place));
            telling::event(move || {
                tracing::warn!(
                    target: NODE, %node, place,
                    "a server that is named serves nothing of this cluster, or is of another one: it is not \
                     listened to"
                );
            });
        }
    }

    async fn ask(&self, place: &HostPort, server: &Core) -> Result<TopologyReport, NodeError> {
        let mut questions = vec![words(&["CLUSTER", "SLOTS"]), words(&["CLUSTER", "INFO"])];
        let sharding = &self.core.settings.sharding;
        if !sharding.is_found() {
            questions.push(words(&["PUBSUB", "SHARDNUMSUB"]));
        }
        let answers = server.ask_once(&questions).await;
        let mut answers = answers.inspect_err(|error| {
            let (place, error) = (place.clone(), error.clone());
            telling::event(move || {
                tracing::debug!(target: NODE, ?place, %error, "a server of a cluster does not say who serves what");
            });
        })?;
        let shards = if answers.len() > 2 { answers.pop() } else { None };
        let info = answers.pop().and_then(RedisResult::ok).unwrap_or(Value::Nil);
        let slots = answers.pop().unwrap_or(Ok(Value::Nil)).map_err(cause::of_redis)?;
        if let Value::ServerError(error) = &slots {
            return Err(why_not(error));
        }
        let map = SlotMap::read(&slots, &place.0);
        let map = map.ok_or_else(|| cause::malformed(&"CLUSTER SLOTS was answered by another"))?;
        let map = match self.core.endpoint.places() {
            Some(places) => map.mapped(|place| places.mapped(place)),
            None => Ok(map),
        };
        let map = map.map_err(|error| cause::unreachable(&error))?;
        if let Some(answer) = shards.filter(|_| !map.places().is_empty()) {
            // Else one client would publish in one way and another listen in the other.
            sharding.find(&answer.map_err(cause::of_redis)?);
        }
        let epoch = field(&info, "cluster_current_epoch").and_then(|epoch| epoch.parse().ok());
        let goes_on = field(&info, "cluster_state") == Some("ok");
        Ok(TopologyReport { place: place.clone(), map, rank: (goes_on, epoch.unwrap_or(0)) })
    }
}

/// How long others are waited for once one has answered.
const OTHERS: Duration = Duration::from_millis(50);
/// The same, while it is not clear which sentinel to believe.
const DOUBT: Duration = Duration::from_secs(1);

const NOBODY_KNOWN: &str =
    "those servers that answer serve nothing, or know none of the cluster that was known before";

/// Why a server says of no slots where they are.
fn why_not(error: &ServerError) -> NodeError {
    let is_alone = error.details().is_some_and(|text| text.contains("cluster support disabled"));
    let what = "it is one by itself, and in no cluster; name it so, redis://host:port";
    if is_alone { NodeError::Unsupported { what: what.into() } } else { cause::of_server(error) }
}
