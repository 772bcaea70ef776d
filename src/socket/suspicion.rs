//! Whether a server that lets calls time out is still there.
//!
//! A server that is there answers, however late; a runtime that is busy reads late, too. So nothing is
//! concluded before the driver has looked for answers once more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::cmd;
use tokio::sync::Notify;

use super::{
    call_future::send_and_wait,
    call_table::{CallEnd, QueuedCall},
    outbox::{ConnectionEnd, Outbox},
    priority::Priority,
    request::Request,
    silence::Silence,
};
use crate::{
    error::Phase,
    reach::{NodeSettings, cause},
};

/// Of one socket.
#[derive(Debug)]
pub(super) struct Suspicion {
    outbox: Arc<Outbox>,
    node_timeout: Duration,
    silence: Mutex<Silence>,
    /// Notified when a call has timed out: is the server still there?
    doubt: Notify,
    /// Notified when several have, between which nothing was read.
    seems_frozen: Notify,
}

impl Suspicion {
    pub(super) fn new(outbox: Arc<Outbox>, settings: &NodeSettings) -> Self {
        Self {
            outbox,
            node_timeout: settings.node_timeout,
            silence: Mutex::new(Silence::new(settings.frozen_after)),
            doubt: Notify::new(),
            seems_frozen: Notify::new(),
        }
    }

    /// Notes that a call has timed out.
    pub(super) fn timed_out(&self, phase: Phase) {
        if phase == Phase::Sending {
            self.outbox.note_unsent();
        }
        let (reads, now) = (self.outbox.traffic.reads(), self.outbox.clocks.now());
        let seems_frozen = self.silence().timed_out(reads, now);
        let notified = if seems_frozen { &self.seems_frozen } else { &self.doubt };
        notified.notify_one();
    }

    /// Completes once a call was not answered and nothing else was heard either: the peer, or the way to
    /// it, is gone and does not say so, and would cost each caller all of its time.
    pub(super) async fn confirmed(&self) -> ConnectionEnd {
        // Only several time-outs take the node down. After one, or after quiet, another socket may well
        // succeed at once, and callers wait for it.
        tokio::select! {
            biased;
            () = self.silent_after_several_timeouts() => {
                ConnectionEnd::Unusable(cause::unreachable(&"it has stopped answering"))
            }
            () = self.silent_after_a_timeout() => ConnectionEnd::Lost,
            () = self.silent_after_quiet() => ConnectionEnd::Lost,
        }
    }

    async fn silent_after_several_timeouts(&self) {
        loop {
            self.seems_frozen.notified().await;
            let reads = self.reads_when_owed().await;
            let now = self.outbox.clocks.now();
            if reads.is_some_and(|reads| self.silence().is_frozen(reads, now)) {
                return;
            }
        }
    }

    /// A call has timed out. A server that is there answers a PING behind it, however late.
    async fn silent_after_a_timeout(&self) {
        let outbox = &*self.outbox;
        loop {
            self.doubt.notified().await;
            let reads = outbox.traffic.reads();
            let deadline = outbox.clocks.now() + self.node_timeout;
            let ping = QueuedCall::Command { request: Request::one(&cmd("PING")), deadline };
            let answer = send_and_wait(outbox, Priority::default(), ping, deadline, None).await;
            let is_late = matches!(answer, CallEnd::GivenUp(_));
            if is_late && self.reads_when_owed().await == Some(reads) {
                return;
            }
        }
    }

    /// A call goes out after a long time in which whatever stands between may have forgotten the
    /// socket. It is given up so early that the call can still be made on another one; not so early
    /// that a slow answer counts as none.
    async fn silent_after_quiet(&self) {
        let outbox = &*self.outbox;
        loop {
            outbox.breaks_quiet().await;
            let patience = (self.node_timeout / 2).max(outbox.clocks.round_trip() * 4);
            outbox.clocks.here().sleep_until(outbox.clocks.now() + patience).await;
            outbox.look().await;
            if outbox.traffic.is_quiet_still() {
                return;
            }
        }
    }

    /// How often something was read, once the driver has looked; `None` if nothing is overdue: a busy
    /// server has pauses, too.
    async fn reads_when_owed(&self) -> Option<u64> {
        self.outbox.look().await;
        self.outbox.is_owed_for(self.node_timeout / 2).then(|| self.outbox.traffic.reads())
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
