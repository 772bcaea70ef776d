//! Answers and messages on their way to a client.

use checkers::history::Event as Told;

use super::{Answer, Inner, Network, Wakes, connection::Client};
use crate::{
    event::{ConnId, Event, NetEvent},
    frame,
};

impl Network {
    /// Sends what the server has to say to the listeners.
    pub(super) fn deliver_messages(&self, inner: &mut Inner, node: usize) {
        for conn in 0..inner.conns.len() {
            let Some(this) = inner.conns.get_mut(conn) else { continue };
            if this.node != node || !this.listens {
                continue;
            }
            let Some(server) = &mut this.server else { continue };
            let mut message = Vec::new();
            server.receive(&mut message);
            if !message.is_empty() {
                self.log.note([4, conn as u64, message.len() as u64], || {
                    format!("n{node} c{conn} says {}", frame::tell_answer(&message))
                });
                self.reply(inner, conn, Answer { bytes: message, ..Answer::default() });
            }
        }
    }

    pub(super) fn reply(&self, inner: &mut Inner, conn: ConnId, answer: Answer) {
        if answer.bytes.is_empty() {
            return;
        }
        let parts = if inner.bytes {
            let parts = inner.cut_up(&answer.bytes).into_iter();
            parts.map(|bytes| Answer { bytes, ..Answer::default() }).collect()
        } else {
            vec![answer]
        };
        for part in parts {
            let at = self.world.now_us() + inner.delay() + self.delay_answer(inner);
            // Broken off in the middle of an answer.
            let breaks = inner.bytes && inner.faulty && inner.hit(inner.plan.lose_answer);
            let Some(this) = inner.conns.get_mut(conn) else { return };
            if this.answers.lost || this.answers.ends {
                return;
            }
            let at = this.answers.push(part, at);
            this.answers.ends |= breaks;
            self.world.schedule(at, Event::Net(NetEvent::Answer(conn)));
            if breaks {
                self.log.saw("fault: answer broken off");
                self.reset_in(inner, conn, 0);
            }
        }
    }

    /// By how much an answer is late, and may still be waited for.
    fn delay_answer(&self, inner: &mut Inner) -> u64 {
        if inner.bytes || !inner.faulty || !inner.hit(inner.plan.late_answer) {
            return 0;
        }
        self.log.saw("fault: answer delayed");
        inner.random.below(LATE_US)
    }

    pub(super) fn answer(&self, inner: &mut Inner, conn: ConnId, wakes: &mut Wakes) {
        let Some(this) = inner.conns.get(conn) else { return };
        let cut = inner.cut(this.process, this.node).answers;
        let usual = inner.plan.round_trip_us();
        let Some(this) = inner.conns.get_mut(conn) else { return };
        if cut {
            this.answers.owed += 1;
            return;
        }
        let Some(answer) = this.answers.queue.pop_front() else { return };
        if this.answers.lost {
            return;
        }
        this.inbox.extend_from_slice(&answer.bytes);
        this.is_released(answer.releases.as_ref());
        if !self.world.is_paused(this.process) && this.client == Client::There {
            wakes.of(this.reader.take());
            // Nothing waits any more for what comes later.
            let in_time = self.world.now_us() - answer.asked <= usual;
            for section in answer.gone.into_iter().filter(|_| in_time) {
                self.log.record(Told::ToldGone { section });
            }
        }
    }
}

/// Most votes are given up sooner.
const LATE_US: u64 = 100_000;
