//! The pub/sub connection of one node: what is subscribed stays subscribed.
//!
//! A connection is made at the first subscription and made again when it is lost. Messages in
//! between are lost too, so every loss and every new connection is reported as a gap.
//!
//! # Invariants
//! - A wanted channel is either being subscribed, subscribed or was refused; each of its outcomes
//!   is an event. Nobody waits for an event that does not come: a failed attempt to connect
//!   refuses every wanted channel.
//! - Events are reported without any lock of ours held.

mod desk;
mod event;
mod session;
mod task;

use std::sync::Arc;

use tokio::{runtime::Handle, sync::mpsc};

pub(crate) use self::event::PubSubEvent;
use self::{
    desk::Desk,
    event::{Command, Events},
};
use super::node_core::Core;

/// Subscriptions on one node. Dropping it ends its task and its connection.
#[derive(Debug)]
pub(crate) struct PubSub {
    core: Arc<Core>,
    commands: mpsc::UnboundedSender<Command>,
    events: Events,
}

impl PubSub {
    pub(super) fn open(
        core: Arc<Core>,
        on: &Handle,
        events: Arc<dyn Fn(PubSubEvent) + Send + Sync>,
    ) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let events = Events::new(events);
        let desk = Desk::new(core.clone(), events.clone(), inbox);
        let closed = core.closed.clone();
        on.spawn(async move { closed.run_until_cancelled(task::run(desk)).await });
        Self { core, commands, events }
    }

    /// Starts subscribing; answered by `Subscribed` or `Refused`. Asking again after `Refused` is
    /// a new attempt.
    pub(crate) fn subscribe(&self, channel: Arc<str>) {
        self.send(Command::Subscribe(channel));
    }

    /// Starts unsubscribing; answered by `Unsubscribed`.
    pub(crate) fn unsubscribe(&self, channel: Arc<str>) {
        self.send(Command::Unsubscribe(channel));
    }

    fn send(&self, command: Command) {
        if let Err(mpsc::error::SendError(command)) = self.commands.send(command) {
            self.events.over(command, &self.core);
        }
    }
}
