// keeps: deciders-pure
//! Which listener listens to which channel, and what has to be subscribed for that. No I/O, no
//! clock.
//!
//! # Invariants
//! - Per channel at most one command is under way; the next one is decided when its event has
//!   come. A SUBSCRIBE is never sent while an UNSUBSCRIBE is unanswered: its confirmation would
//!   come from before the gap between the two.
//! - A channel stays in the registry as long as it has a listener or a command under way.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    error::NodeError,
    pubsub::{PubSubEvent, SubscriptionChange},
};

/// The channels of one client. `S` is how a listener is reached.
#[derive(Debug)]
pub(super) struct Registry<S> {
    channels: BTreeMap<Arc<str>, Channel<S>>,
    /// The listeners without a channel.
    deaf: BTreeMap<ListenerId, S>,
    next: u64,
}

#[derive(Debug)]
struct Channel<S> {
    listeners: Vec<(ListenerId, S)>,
    subscription: Subscription,
}

/// Whether a channel is subscribed.
#[derive(Debug)]
enum Subscription {
    /// Waiting for Subscribed or Refused, for the first time or after a gap.
    Joining,
    Joined,
    Refused,
    /// Waiting for Unsubscribed.
    Leaving,
}

/// Names one listener in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListenerId(u64);

/// What follows from a change, to be carried out without the registry's lock.
#[derive(Debug)]
pub(super) struct Effects<S> {
    /// What is to be asked of the server.
    pub(super) change: Option<SubscriptionChange>,
    /// What these listeners learn about their subscription.
    pub(super) news: Option<(Vec<S>, Result<(), NodeError>)>,
    /// These look again.
    pub(super) wake: Vec<S>,
}

impl<S> Default for Effects<S> {
    fn default() -> Self {
        Self { change: None, news: None, wake: Vec::new() }
    }
}

impl<S: Clone> Registry<S> {
    pub(super) fn new() -> Self {
        Self { channels: BTreeMap::new(), deaf: BTreeMap::new(), next: 0 }
    }

    /// Adds a listener. If the subscription stands, it learns so at once.
    pub(super) fn add(&mut self, channel: &Arc<str>, listener: S) -> (ListenerId, Effects<S>) {
        let id = self.next_id();
        let mut effects = Effects::default();
        let entry = self.channels.entry(channel.clone()).or_insert_with(|| {
            effects.change = Some(SubscriptionChange::Subscribe(channel.clone()));
            Channel { listeners: Vec::new(), subscription: Subscription::Joining }
        });
        match entry.subscription {
            Subscription::Joined => effects.news = Some((vec![listener.clone()], Ok(()))),
            Subscription::Refused => {
                entry.subscription = Subscription::Joining;
                effects.change = Some(SubscriptionChange::Subscribe(channel.clone()));
            }
            Subscription::Joining | Subscription::Leaving => {}
        }
        entry.listeners.push((id, listener));
        (id, effects)
    }

    /// Adds one that is only reached when all are.
    pub(super) fn add_deaf(&mut self, listener: S) -> ListenerId {
        let id = self.next_id();
        self.deaf.insert(id, listener);
        id
    }

    fn next_id(&mut self) -> ListenerId {
        self.next += 1;
        ListenerId(self.next)
    }

    /// Removes a listener; the last one ends the subscription.
    pub(super) fn remove(
        &mut self,
        channel: &Arc<str>,
        id: ListenerId,
    ) -> Option<SubscriptionChange> {
        if self.deaf.remove(&id).is_some() {
            return None;
        }
        let entry = self.channels.get_mut(channel)?;
        entry.listeners.retain(|(known, _)| *known != id);
        entry.leave_if_idle(channel)
    }

    /// Takes note of what happened on the pub/sub connection.
    pub(super) fn on_event(&mut self, event: &PubSubEvent) -> Effects<S> {
        match event {
            PubSubEvent::Message(channel, _) => {
                let wake = self.channels.get(channel).map(Channel::all).unwrap_or_default();
                Effects { wake, ..Effects::default() }
            }
            PubSubEvent::Subscribed(channel) => self.on_answer(channel, Ok(())),
            PubSubEvent::Refused(channel, error) => self.on_answer(channel, Err(error.clone())),
            PubSubEvent::Unsubscribed(channel) => self.on_unsubscribed(channel),
            PubSubEvent::Gap => self.on_gap(),
            PubSubEvent::GapOn(channel) => self.on_gap_on(channel),
            // Of keys, and here are channels.
            PubSubEvent::Changed(_) | PubSubEvent::Read(..) | PubSubEvent::AllChanged => {
                Effects::default()
            }
        }
    }

    pub(super) fn is_joined(&self, channel: &str) -> bool {
        let entry = self.channels.get(channel);
        entry.is_some_and(|entry| matches!(entry.subscription, Subscription::Joined))
    }

    pub(super) fn everybody(&self) -> Vec<S> {
        self.channels.values().flat_map(Channel::all).chain(self.deaf.values().cloned()).collect()
    }

    /// Channels that are subscribed or being subscribed.
    pub(super) fn subscriptions(&self) -> usize {
        let counts = |entry: &&Channel<S>| {
            matches!(entry.subscription, Subscription::Joining | Subscription::Joined)
        };
        self.channels.values().filter(counts).count()
    }

    fn on_answer(&mut self, channel: &Arc<str>, answer: Result<(), NodeError>) -> Effects<S> {
        let Some(entry) = self.channels.get_mut(channel) else { return Effects::default() };
        // It answers a retry that the UNSUBSCRIBE has overtaken; Unsubscribed follows.
        if let Subscription::Leaving = entry.subscription {
            return Effects::default();
        }
        let subscription = match &answer {
            Ok(()) => Subscription::Joined,
            Err(_) => Subscription::Refused,
        };
        let before = std::mem::replace(&mut entry.subscription, subscription);
        let change = entry.leave_if_idle(channel);
        // What was published before the confirmation was not received: all look again. One more
        // refusal of a failing retry is no news.
        let again = matches!(before, Subscription::Refused) && answer.is_err();
        let wake = if again { Vec::new() } else { entry.all() };
        Effects { change, wake, news: Some((entry.all(), answer)) }
    }

    fn on_unsubscribed(&mut self, channel: &Arc<str>) -> Effects<S> {
        let Some(entry) = self.channels.get_mut(channel) else { return Effects::default() };
        if entry.listeners.is_empty() {
            self.channels.remove(channel);
            return Effects::default();
        }
        entry.subscription = Subscription::Joining;
        let change = Some(SubscriptionChange::Subscribe(channel.clone()));
        Effects { change, wake: entry.all(), news: None }
    }

    // keeps: wake-up-is-hint
    fn on_gap(&mut self) -> Effects<S> {
        self.channels.values_mut().for_each(Channel::interrupt);
        Effects { wake: self.everybody(), ..Effects::default() }
    }

    fn on_gap_on(&mut self, channel: &Arc<str>) -> Effects<S> {
        let Some(entry) = self.channels.get_mut(channel) else { return Effects::default() };
        entry.interrupt();
        Effects { wake: entry.all(), ..Effects::default() }
    }
}

impl<S: Clone> Channel<S> {
    fn all(&self) -> Vec<S> {
        self.listeners.iter().map(|(_, listener)| listener.clone()).collect()
    }

    fn interrupt(&mut self) {
        if let Subscription::Joined = self.subscription {
            self.subscription = Subscription::Joining;
        }
    }

    /// While it is Joining, the answer decides; see the first invariant.
    fn leave_if_idle(&mut self, channel: &Arc<str>) -> Option<SubscriptionChange> {
        let settled = matches!(self.subscription, Subscription::Joined | Subscription::Refused);
        if !settled || !self.listeners.is_empty() {
            return None;
        }
        self.subscription = Subscription::Leaving;
        Some(SubscriptionChange::Unsubscribe(channel.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: &str = "held";

    fn channel() -> Arc<str> {
        HELD.into()
    }

    fn subscribe() -> Option<SubscriptionChange> {
        Some(SubscriptionChange::Subscribe(channel()))
    }

    fn unsubscribe() -> Option<SubscriptionChange> {
        Some(SubscriptionChange::Unsubscribe(channel()))
    }

    fn refused() -> PubSubEvent {
        PubSubEvent::Refused(channel(), NodeError::Loading)
    }

    fn message() -> PubSubEvent {
        PubSubEvent::Message(channel(), b"0".to_vec())
    }

    /// Which listeners learn something, and whether it is good news.
    fn news<S: Clone>(effects: &Effects<S>) -> Option<(Vec<S>, bool)> {
        effects.news.as_ref().map(|(listeners, news)| (listeners.clone(), news.is_ok()))
    }

    /// A registry with one listener, `1`, whose subscription is confirmed.
    fn joined() -> (Registry<u32>, ListenerId) {
        let mut registry = Registry::new();
        let (id, effects) = registry.add(&channel(), 1);
        assert_eq!(effects.change, subscribe());
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!((effects.change, effects.wake.as_slice()), (None, [1].as_slice()));
        (registry, id)
    }

    #[test]
    fn one_subscription_serves_all_listeners() {
        let mut registry = Registry::new();
        let (first, effects) = registry.add(&channel(), 1);
        assert_eq!(effects.change, subscribe());
        let (second, effects) = registry.add(&channel(), 2);
        assert_eq!(effects.change, None);
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(news(&effects), Some((vec![1, 2], true)));
        let (third, effects) = registry.add(&channel(), 3);
        assert_eq!((news(&effects), effects.change), (Some((vec![3], true)), None));
        assert_eq!(registry.on_event(&message()).wake, [1, 2, 3]);
        assert_eq!(registry.remove(&channel(), first), None);
        assert_eq!(registry.remove(&channel(), second), None);
        assert_eq!(registry.on_event(&message()).wake, [3]);
        assert_eq!(registry.remove(&channel(), third), unsubscribe());
        assert_eq!(registry.subscriptions(), 0);
        registry.on_event(&PubSubEvent::Unsubscribed(channel()));
        assert!(registry.channels.is_empty());
    }

    #[test]
    fn a_listener_that_comes_while_unsubscribing_waits_for_a_new_subscription() {
        let (mut registry, id) = joined();
        assert_eq!(registry.remove(&channel(), id), unsubscribe());
        let (_, effects) = registry.add(&channel(), 2);
        assert_eq!((news(&effects), effects.change), (None, None));
        let effects = registry.on_event(&PubSubEvent::Unsubscribed(channel()));
        assert_eq!((news(&effects), effects.change), (None, subscribe()));
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(news(&effects), Some((vec![2], true)));
    }

    #[test]
    fn a_listener_that_leaves_before_the_confirmation_ends_the_subscription_after_it() {
        let mut registry = Registry::new();
        let (id, _) = registry.add(&channel(), 1);
        assert_eq!(registry.remove(&channel(), id), None);
        let (second, effects) = registry.add(&channel(), 2);
        assert_eq!(effects.change, None, "the SUBSCRIBE under way serves it too");
        assert_eq!(registry.remove(&channel(), second), None);
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(effects.change, unsubscribe());
    }

    // proves: wake-up-is-hint
    #[test]
    fn a_gap_wakes_all_and_newcomers_wait_for_the_next_confirmation() {
        let (mut registry, _) = joined();
        let other: Arc<str> = "other".into();
        registry.add(&other, 7);
        let mut wake = registry.on_event(&PubSubEvent::Gap).wake;
        wake.sort_unstable();
        assert_eq!(wake, [1, 7]);
        let (_, effects) = registry.add(&channel(), 2);
        assert_eq!((news(&effects), effects.change), (None, None));
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(effects.wake, [1, 2], "what was published in between was not heard");
    }

    #[test]
    fn a_gap_on_one_channel_wakes_those_who_listen_to_that() {
        let (mut registry, _) = joined();
        let other: Arc<str> = "other".into();
        registry.add(&other, 7);
        registry.on_event(&PubSubEvent::Subscribed(other.clone()));
        assert_eq!(registry.on_event(&PubSubEvent::GapOn(channel())).wake, [1]);
        assert!(!registry.is_joined(&channel()) && registry.is_joined(&other));
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(effects.wake, [1], "what was published in between was not heard");
    }

    #[test]
    fn a_refusal_is_told_once_and_tried_again_for_a_newcomer() {
        let mut registry = Registry::new();
        registry.add(&channel(), 1);
        let effects = registry.on_event(&refused());
        assert_eq!((news(&effects), effects.wake), (Some((vec![1], false)), vec![1]));
        assert!(registry.on_event(&refused()).wake.is_empty(), "nothing new");
        let (_, effects) = registry.add(&channel(), 2);
        assert_eq!((news(&effects), effects.change), (None, subscribe()));
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!((news(&effects), effects.wake), (Some((vec![1, 2], true)), vec![1, 2]));
    }

    #[test]
    fn a_refused_channel_is_forgotten_with_its_last_listener() {
        let mut registry = Registry::new();
        let (id, _) = registry.add(&channel(), 1);
        registry.on_event(&refused());
        assert_eq!(registry.remove(&channel(), id), unsubscribe());
        // The answer to a retry that was under way comes first.
        let effects = registry.on_event(&PubSubEvent::Subscribed(channel()));
        assert_eq!(effects.change, None);
        registry.on_event(&PubSubEvent::Unsubscribed(channel()));
        assert!(registry.channels.is_empty());
    }

    #[test]
    fn late_events_on_forgotten_channels_do_nothing() {
        let mut registry: Registry<u32> = Registry::new();
        for event in [message(), refused(), PubSubEvent::Subscribed(channel()), PubSubEvent::Gap] {
            let effects = registry.on_event(&event);
            assert!(effects.change.is_none() && effects.wake.is_empty());
        }
        registry.on_event(&PubSubEvent::Unsubscribed(channel()));
        assert!(registry.channels.is_empty());
    }

    /// Every sequence of comings, goings and answers up to a length: one command at a time, and
    /// in the end nothing is left.
    #[test]
    fn no_sequence_sends_two_commands_at_once_or_leaves_a_subscription() {
        for mut seed in 0..4_u32.pow(8) {
            let mut world = World::default();
            for _step in 0..8 {
                world.step(seed % 4);
                seed /= 4;
            }
            world.finish();
        }
    }

    #[derive(Default)]
    struct World {
        registry: Option<Registry<u32>>,
        listeners: Vec<ListenerId>,
        under_way: Option<SubscriptionChange>,
        subscribed: bool,
    }

    impl World {
        fn registry(&mut self) -> &mut Registry<u32> {
            self.registry.get_or_insert_with(Registry::new)
        }

        fn step(&mut self, step: u32) {
            match step {
                0 => {
                    let (id, effects) = self.registry().add(&channel(), 0);
                    self.listeners.push(id);
                    self.send(effects.change);
                }
                1 => self.leave(),
                2 => self.answer(),
                _ => self.gap(),
            }
        }

        fn leave(&mut self) {
            if let Some(id) = self.listeners.pop() {
                let change = self.registry().remove(&channel(), id);
                self.send(change);
            }
        }

        fn answer(&mut self) {
            let Some(change) = self.under_way.take() else { return };
            self.subscribed = matches!(change, SubscriptionChange::Subscribe(_));
            let event = match change {
                SubscriptionChange::Subscribe(channel) => PubSubEvent::Subscribed(channel),
                SubscriptionChange::Unsubscribe(channel) => PubSubEvent::Unsubscribed(channel),
            };
            let effects = self.registry().on_event(&event);
            self.send(effects.change);
        }

        /// What stood is being subscribed again by the connection.
        fn gap(&mut self) {
            self.registry().on_event(&PubSubEvent::Gap);
            if self.subscribed && self.under_way.is_none() {
                self.under_way = subscribe();
            }
            self.subscribed = false;
        }

        fn send(&mut self, change: Option<SubscriptionChange>) {
            let Some(change) = change else { return };
            assert_eq!(self.under_way, None, "and now {change:?}");
            self.under_way = Some(change);
        }

        fn finish(&mut self) {
            while !self.listeners.is_empty() {
                self.leave();
            }
            while self.under_way.is_some() {
                self.answer();
            }
            assert!(!self.subscribed);
            assert!(self.registry().channels.is_empty());
        }
    }
}
