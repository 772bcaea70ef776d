//! On which server of a cluster each channel is subscribed: the one that serves its slot. Pure.
//!
//! # Invariants
//! - A channel is asked for at one place at a time, and not where it is still being left: a confirmation
//!   would be of the subscription before.
//! - What is heard of a place where the channel is not asked for any more is not told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::event::{PubSubEvent, SubscriptionChange};
use crate::reach::HostPort;

/// Where the channels are that are wanted, and those that are being left.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// `None` while no server is known to serve it, or it is still being left there.
    wanted: BTreeMap<Arc<str>, Option<HostPort>>,
    leaving: BTreeSet<(Arc<str>, HostPort)>,
    /// Not wanted any more, which is told when it is left everywhere.
    ending: BTreeSet<Arc<str>>,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum RouteStep {
    /// Of the server at a place.
    Ask(HostPort, SubscriptionChange),
    /// To the listeners.
    Tell(PubSubEvent),
}

impl Routes {
    /// It is wanted; `owner` serves its slot, as far as is known.
    pub(super) fn subscribe(
        &mut self,
        channel: &Arc<str>,
        owner: Option<&HostPort>,
    ) -> Vec<RouteStep> {
        let at = self.wanted.entry(channel.clone()).or_default();
        match at {
            // Another attempt after it was refused.
            Some(place) if Some(&*place) == owner => vec![ask_for(place, channel)],
            _ => self.settle(channel, owner),
        }
    }

    /// It is not wanted any more.
    pub(super) fn unsubscribe(&mut self, channel: &Arc<str>) -> Vec<RouteStep> {
        self.ending.insert(channel.clone());
        match self.wanted.remove(channel).flatten() {
            Some(place) => vec![self.leave(channel, place)],
            None => self.ended(channel),
        }
    }

    /// Has it subscribed where it belongs by now, if it is elsewhere.
    pub(super) fn settle(
        &mut self,
        channel: &Arc<str>,
        owner: Option<&HostPort>,
    ) -> Vec<RouteStep> {
        let (Some(at), Some(owner)) = (self.wanted.get_mut(channel), owner) else { return vec![] };
        if at.as_ref() == Some(owner) || at.is_some() && planted!(NoResubscribe) {
            return vec![];
        }
        let mut steps = Vec::new();
        let is_being_left = self.leaving.contains(&(channel.clone(), owner.clone()));
        let before = std::mem::replace(at, (!is_being_left).then(|| owner.clone()));
        if let Some(before) = before {
            steps.push(self.leave(channel, before));
            steps.push(RouteStep::Tell(PubSubEvent::GapOn(channel.clone())));
        }
        if !is_being_left {
            steps.push(ask_for(owner, channel));
        }
        steps
    }

    /// A server has said something.
    pub(super) fn heard(&mut self, place: &HostPort, event: PubSubEvent) -> Vec<RouteStep> {
        match &event {
            PubSubEvent::Subscribed(channel)
            | PubSubEvent::Refused(channel, _)
            | PubSubEvent::GapOn(channel)
            | PubSubEvent::Read(channel, _)
                if !self.is_at(channel, place) =>
            {
                vec![]
            }
            PubSubEvent::Unsubscribed(channel) => {
                self.leaving.remove(&(channel.clone(), place.clone()));
                self.ended(channel)
            }
            PubSubEvent::Gap => self.all_at(place, PubSubEvent::GapOn),
            PubSubEvent::AllChanged => self.all_at(place, PubSubEvent::Changed),
            _ => vec![RouteStep::Tell(event)],
        }
    }

    pub(super) fn wanted(&self) -> Vec<Arc<str>> {
        self.wanted.keys().cloned().collect()
    }

    /// Those that are asked for nowhere, and are not about to be.
    pub(super) fn unplaced(&self) -> Vec<Arc<str>> {
        let is_nowhere = |(channel, at): &(&Arc<str>, &Option<HostPort>)| {
            at.is_none() && !self.is_being_left(channel)
        };
        self.wanted.iter().filter(is_nowhere).map(|(channel, _)| channel.clone()).collect()
    }

    pub(super) fn needs(&self, place: &HostPort) -> bool {
        self.wanted.values().flatten().any(|at| at == place)
            || self.leaving.iter().any(|(_, left)| left == place)
    }

    pub(super) fn is_at(&self, channel: &Arc<str>, place: &HostPort) -> bool {
        self.wanted.get(channel).and_then(Option::as_ref) == Some(place)
    }

    fn all_at(&self, place: &HostPort, event: fn(Arc<str>) -> PubSubEvent) -> Vec<RouteStep> {
        let at_it = self.wanted.iter().filter(|(_, at)| at.as_ref() == Some(place));
        at_it.map(|(channel, _)| RouteStep::Tell(event(channel.clone()))).collect()
    }

    fn leave(&mut self, channel: &Arc<str>, place: HostPort) -> RouteStep {
        self.leaving.insert((channel.clone(), place.clone()));
        RouteStep::Ask(place, SubscriptionChange::Unsubscribe(channel.clone()))
    }

    fn ended(&mut self, channel: &Arc<str>) -> Vec<RouteStep> {
        if self.is_being_left(channel) || !self.ending.remove(channel) {
            return vec![];
        }
        vec![RouteStep::Tell(PubSubEvent::Unsubscribed(channel.clone()))]
    }

    fn is_being_left(&self, channel: &Arc<str>) -> bool {
        let mut rest = self.leaving.range((channel.clone(), HostPort::default())..);
        rest.next().is_some_and(|(left, _)| left == channel)
    }
}

fn ask_for(place: &HostPort, channel: &Arc<str>) -> RouteStep {
    RouteStep::Ask(place.clone(), SubscriptionChange::Subscribe(channel.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NodeError;

    fn place(name: char) -> HostPort {
        (name.to_string().into(), 1)
    }

    fn channel() -> Arc<str> {
        "x".into()
    }

    /// `+p`: asked for at p, `-p`: left there; `s`, `u`, `r`, `g`: what is told.
    fn said(steps: &[RouteStep]) -> String {
        let word = |step: &RouteStep| match step {
            RouteStep::Ask((host, _), SubscriptionChange::Subscribe(_)) => format!("+{host}"),
            RouteStep::Ask((host, _), SubscriptionChange::Unsubscribe(_)) => format!("-{host}"),
            RouteStep::Tell(PubSubEvent::Subscribed(_)) => "s".into(),
            RouteStep::Tell(PubSubEvent::Unsubscribed(_)) => "u".into(),
            RouteStep::Tell(PubSubEvent::Refused(..)) => "r".into(),
            RouteStep::Tell(PubSubEvent::GapOn(_)) => "g".into(),
            RouteStep::Tell(other) => format!("{other:?}"),
        };
        steps.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// `w`, `W`: wanted, and served by none or by p; `e`: not wanted; `o`: p serves it now; others: p says
    /// so.
    fn done(routes: &mut Routes, what: &str) -> String {
        let (word, at) = what.split_at(1);
        let at = place(at.chars().next().unwrap_or('?'));
        let heard = |event| (at.clone(), event);
        let (from, event) = match word {
            "w" => return said(&routes.subscribe(&channel(), None)),
            "W" => return said(&routes.subscribe(&channel(), Some(&at))),
            "e" => return said(&routes.unsubscribe(&channel())),
            "o" => return said(&routes.settle(&channel(), Some(&at))),
            "s" => heard(PubSubEvent::Subscribed(channel())),
            "u" => heard(PubSubEvent::Unsubscribed(channel())),
            "r" => heard(PubSubEvent::Refused(channel(), NodeError::Closed)),
            "g" => heard(PubSubEvent::Gap),
            other => panic!("{other}"),
        };
        said(&routes.heard(&from, event))
    }

    #[test]
    fn channel_goes_where_its_slot_goes_as_in_the_table() {
        for story in [
            // The usual one.
            &[("Wp", "+p"), ("sp", "s"), ("op", ""), ("e", "-p"), ("up", "u")][..],
            // Which server serves it is unknown.
            &[("w", ""), ("op", "+p"), ("sp", "s")],
            &[("w", ""), ("e", "u")],
            // Refused, and tried again for a newcomer.
            &[("Wp", "+p"), ("rp", "r"), ("Wp", "+p")],
            // It moves; what the server before says does not matter any more.
            &[("Wp", "+p"), ("sp", "s"), ("oq", "-p g +q"), ("rp", ""), ("gp", ""), ("sq", "s")],
            // Back before it was left there.
            &[("Wp", "+p"), ("oq", "-p g +q"), ("op", "-q g"), ("up", ""), ("op", "+p")],
            // Not wanted while it moves: told once, when it is left everywhere.
            &[("Wp", "+p"), ("oq", "-p g +q"), ("e", "-q"), ("up", ""), ("uq", "u")],
            &[("Wp", "+p"), ("oq", "-p g +q"), ("op", "-q g"), ("e", ""), ("uq", ""), ("up", "u")],
            // Messages may have been missed.
            &[("Wp", "+p"), ("sp", "s"), ("gp", "g"), ("gq", ""), ("sp", "s")],
        ] {
            let mut routes = Routes::default();
            for (what, expected) in story {
                assert_eq!(done(&mut routes, what), *expected, "{what} in {story:?}");
            }
        }
    }

    #[test]
    fn place_is_needed_until_it_is_left() {
        let (mut routes, p, q) = (Routes::default(), place('p'), place('q'));
        done(&mut routes, "w");
        assert_eq!(routes.unplaced(), [channel()]);
        done(&mut routes, "op");
        assert!(routes.unplaced().is_empty() && routes.needs(&p) && !routes.needs(&q));
        done(&mut routes, "oq");
        assert!(routes.needs(&p) && routes.needs(&q));
        done(&mut routes, "up");
        assert!(!routes.needs(&p));
    }
}
