//! Subscriptions in a cluster: on whichever master serves a channel's slot, if its servers publish by shard.
//!
//! A slot that moves takes its channels with it. The server before says so, the socket to it is lost, or
//! another client was sent elsewhere. Either way messages may have been missed, and the listeners look
//! again.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{runtime::Handle, sync::mpsc};

use super::{
    PubSub,
    desk::PubSubTask,
    event::{PubSubEvent, Subject, SubscriptionChange},
    routes::{RouteStep, Routes},
    session::SessionEnd,
    task,
};
use crate::{
    clock::Instant,
    error::NodeError,
    node::{Cluster, Core, Redirect},
    reach::{HostPort, cause, pauses},
    wire::{Publishing, key::slot},
};

/// Keeps what is wanted subscribed until the `PubSub` is dropped.
pub(super) async fn run(mut desk: PubSubTask, cluster: Arc<Cluster>) {
    // Where a key is does not depend on how the servers publish.
    if desk.subject == Subject::Keys {
        return ShardedPubSub::new(&desk, cluster).run(&mut desk).await;
    }
    if let SessionEnd::Over = until_found(&mut desk, &cluster).await {
        return;
    }
    match desk.core.settings.sharding.publishing() {
        Publishing::Broadcast => task::run(desk).await,
        Publishing::Sharded => ShardedPubSub::new(&desk, cluster).run(&mut desk).await,
    }
}

/// Waits until it is known how the servers publish: nothing could be heard before.
async fn until_found(desk: &mut PubSubTask, cluster: &Arc<Cluster>) -> SessionEnd {
    let settings = desk.core.settings.clone();
    let mut backoff = pauses(&settings);
    while !settings.sharding.is_found() {
        if desk.wanted.is_empty() {
            let Some(change) = desk.inbox.recv().await else { return SessionEnd::Over };
            desk.note(&change);
            continue;
        }
        let tried = settings.clock.now();
        let looked = cluster.look(tried + settings.connect_timeout).await;
        if settings.sharding.is_found() {
            break;
        }
        let error = looked.err().unwrap_or_else(|| cause::unreachable(&"no server answers"));
        let length = backoff.next().unwrap_or(settings.backoff_max);
        if let SessionEnd::Over = task::pause(desk, tried, length, Some(error)).await {
            return SessionEnd::Over;
        }
    }
    SessionEnd::Idle
}

struct ShardedPubSub {
    core: Arc<Core>,
    cluster: Arc<Cluster>,
    routes: Routes,
    seats: BTreeMap<HostPort, ServerSubscriptions>,
    next_seat: u64,
    tell: mpsc::UnboundedSender<ServerEvent>,
    heard: mpsc::UnboundedReceiver<ServerEvent>,
    /// When it is looked whether each channel is where it belongs.
    due: Instant,
    /// Whether a server is to be asked about that first.
    is_in_doubt: bool,
    looking: Option<BoxFuture<'static, Result<(), NodeError>>>,
}

/// The subscriptions on one server.
struct ServerSubscriptions {
    number: u64,
    core: Arc<Core>,
    pubsub: PubSub,
}

/// What a seat tells.
type ServerEvent = (HostPort, u64, PubSubEvent);

impl ShardedPubSub {
    fn new(desk: &PubSubTask, cluster: Arc<Cluster>) -> Self {
        let (tell, heard) = mpsc::unbounded_channel();
        Self {
            core: desk.core.clone(),
            cluster,
            routes: Routes::default(),
            seats: BTreeMap::new(),
            next_seat: 0,
            tell,
            heard,
            due: desk.core.settings.clock.now(),
            is_in_doubt: false,
            looking: None,
        }
    }

    async fn run(mut self, desk: &mut PubSubTask) {
        let clock = self.core.settings.clock.clone();
        for channel in desk.wanted.clone() {
            self.subscribe(&channel, desk);
        }
        loop {
            tokio::select! {
                biased;
                Some((place, number, event)) = self.heard.recv() => {
                    if self.seats.get(&place).is_some_and(|seat| seat.number == number) {
                        self.hear(&place, event, desk);
                    }
                }
                change = desk.inbox.recv() => match change {
                    Some(change) => self.obey(change, desk),
                    None => return,
                },
                looked = looked(&mut self.looking) => self.settle_all(looked, desk),
                () = clock.sleep_until(self.due), if self.looking.is_none() => self.be_due(desk),
            }
        }
    }

    fn obey(&mut self, change: SubscriptionChange, desk: &mut PubSubTask) {
        match change {
            SubscriptionChange::Subscribe(channel) => {
                desk.wanted.insert(channel.clone());
                self.subscribe(&channel, desk);
            }
            SubscriptionChange::Unsubscribe(channel) => {
                desk.wanted.remove(&channel);
                let steps = self.routes.unsubscribe(&channel);
                self.carry_out(steps, desk);
            }
        }
    }

    fn subscribe(&mut self, channel: &Arc<str>, desk: &PubSubTask) {
        let owner = self.cluster.owner(slot(channel));
        if owner.is_none() {
            self.doubt(Duration::ZERO);
        }
        let steps = self.routes.subscribe(channel, owner.as_ref());
        self.carry_out(steps, desk);
    }

    fn hear(&mut self, place: &HostPort, event: PubSubEvent, desk: &PubSubTask) {
        match &event {
            PubSubEvent::Refused(channel, error) => match Redirect::of(error) {
                Some(Redirect::Moved(to)) if self.routes.is_at(channel, place) => {
                    return self.sent_on(channel, to);
                }
                // The server that has the slot would say the same.
                _ if matches!(error, NodeError::Permission { .. }) => {}
                _ => self.doubt(SOON),
            },
            PubSubEvent::Gap => self.doubt(SOON),
            _ => {}
        }
        let left = match &event {
            PubSubEvent::Unsubscribed(channel) => Some(channel.clone()),
            _ => None,
        };
        let steps = self.routes.heard(place, event);
        self.carry_out(steps, desk);
        // It may be wanted there again.
        if let Some(channel) = left {
            self.settle(&channel, desk);
        }
    }

    /// The channel is to be asked for elsewhere. Not at once: two that disagree would send it to and fro.
    fn sent_on(&mut self, channel: &Arc<str>, to: HostPort) {
        let slot = slot(channel);
        match self.cluster.told(slot, to) {
            Ok(place) => {
                self.cluster.learn(slot, &place);
                self.be_due_in(SOON);
            }
            Err(_unreachable) => self.doubt(SOON),
        }
    }

    fn doubt(&mut self, within: Duration) {
        self.is_in_doubt = true;
        self.be_due_in(within);
    }

    fn be_due_in(&mut self, time: Duration) {
        self.due = self.due.min(self.core.settings.clock.now() + time);
    }

    fn be_due(&mut self, desk: &PubSubTask) {
        if !std::mem::take(&mut self.is_in_doubt) {
            return self.settle_all(Ok(()), desk);
        }
        let (cluster, settings) = (self.cluster.clone(), &self.core.settings);
        let deadline = settings.clock.now() + settings.connect_timeout;
        self.looking = Some(Box::pin(async move { cluster.look(deadline).await }));
    }

    /// Has each channel subscribed where it belongs, as far as is known.
    fn settle_all(&mut self, looked: Result<(), NodeError>, desk: &PubSubTask) {
        self.looking = None;
        let pause = if self.is_in_doubt { SOON } else { BEAT };
        self.due = self.core.settings.clock.now() + pause;
        for channel in self.routes.wanted() {
            self.settle(&channel, desk);
        }
        for channel in self.routes.unplaced() {
            self.doubt(AGAIN);
            let nobody = || self.cluster.why_nobody_serves(slot(&channel));
            let error = looked.as_ref().err().cloned().unwrap_or_else(nobody);
            desk.events.send(PubSubEvent::Refused(channel, error));
        }
        let (routes, cluster) = (&self.routes, &self.cluster);
        self.seats.retain(|place, _| routes.needs(place) || cluster.serves_at(place));
    }

    fn settle(&mut self, channel: &Arc<str>, desk: &PubSubTask) {
        let owner = self.cluster.owner(slot(channel));
        let steps = self.routes.settle(channel, owner.as_ref());
        self.carry_out(steps, desk);
    }

    fn carry_out(&mut self, steps: Vec<RouteStep>, desk: &PubSubTask) {
        for step in steps {
            match step {
                RouteStep::Ask(place, change) => self.seat(place, desk).send(change),
                RouteStep::Tell(event) => desk.events.send(event),
            }
        }
    }

    fn seat(&mut self, place: HostPort, desk: &PubSubTask) -> &PubSub {
        let Self { core, seats, next_seat, tell, .. } = self;
        let seat = seats.entry(place.clone()).or_insert_with(|| {
            *next_seat += 1;
            let core = Arc::new(core.at(&place));
            let (number, tell, events) = (*next_seat, tell.clone(), desk.events.clone());
            let heard = move |event| match event {
                // Without a detour: a listener waits for it.
                PubSubEvent::Message(..) | PubSubEvent::Changed(_) => events.send(event),
                event => drop(tell.send((place.clone(), number, event))),
            };
            let on = Handle::current();
            let pubsub = PubSub::open(core.clone(), desk.subject, &on, Arc::new(heard));
            ServerSubscriptions { number, core, pubsub }
        });
        &seat.pubsub
    }
}

impl Drop for ServerSubscriptions {
    fn drop(&mut self) {
        self.core.closed.cancel();
    }
}

async fn looked(
    looking: &mut Option<BoxFuture<'static, Result<(), NodeError>>>,
) -> Result<(), NodeError> {
    match looking {
        Some(looking) => looking.await,
        None => pending().await,
    }
}

/// How often it is looked whether each channel is where it belongs, without a cause: others learn of moves.
const BEAT: Duration = Duration::from_secs(2);
/// The same while no server is known to serve a slot.
const AGAIN: Duration = Duration::from_millis(500);
/// The same with a cause.
const SOON: Duration = Duration::from_millis(50);
