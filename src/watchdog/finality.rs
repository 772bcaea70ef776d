// keeps: deciders-pure
//! When a release is final. Pure.
//!
//! A request that timed out or was cancelled, or one on a socket that was closed, may still be
//! executed when a stalled server resumes. An acquire therefore carries a not-after stamp in the
//! server's time, and a release counts for good only if no unanswered acquire of the claim can
//! still follow it.

use smallvec::SmallVec;

/// An acquire that was sent and not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    /// The socket it went out on.
    epoch: u64,
    /// The server's time in µs after which it changes nothing.
    not_after: i64,
}

/// The acquires of one claim on one node that may still be executed, oldest first. Mostly one, and
/// none while the claim is held.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unanswered(SmallVec<[Sent; 1]>);

impl Unanswered {
    /// An acquire is about to be sent.
    pub(crate) fn sent(&mut self, epoch: u64, not_after: i64) {
        self.0.push(Sent { epoch, not_after });
    }

    pub(crate) fn contains(&self, epoch: u64, not_after: i64) -> bool {
        self.position(epoch, not_after).is_some()
    }

    /// The acquire has not left and never will, which says nothing about others. False if it is not
    /// among these.
    pub(crate) fn was_not_sent(&mut self, epoch: u64, not_after: i64) -> bool {
        let this = self.position(epoch, not_after);
        this.map(|this| self.0.remove(this)).is_some()
    }

    /// The acquire was answered, and with it every earlier one on the same socket. False if it is
    /// not among these.
    pub(crate) fn answered(&mut self, epoch: u64, not_after: i64) -> bool {
        let Some(this) = self.position(epoch, not_after) else {
            return false;
        };
        let mut index = 0;
        self.0.retain(|s| {
            let done = s.epoch == epoch && index <= this;
            index += 1;
            !done
        });
        true
    }

    fn position(&self, epoch: u64, not_after: i64) -> Option<usize> {
        self.0.iter().rposition(|s| *s == Sent { epoch, not_after })
    }

    /// A release was answered on socket `epoch`, executed at `server_time`: it came behind all
    /// acquires of that socket, and after the stamps that are over.
    pub(crate) fn settle(&mut self, epoch: u64, server_time: i64) {
        self.0.retain(|s| s.epoch != epoch && s.not_after >= server_time);
    }

    /// Whether whatever is sent on the socket `epoch` now comes behind all of them.
    pub(crate) fn is_all_on(&self, epoch: u64) -> bool {
        self.0.iter().all(|s| s.epoch == epoch)
    }

    // keeps: final-release
    /// Whether no acquire can still be executed.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.is_empty()
    }

    /// The server's time in µs after which a release is final in any case.
    pub(crate) fn last_stamp(&self) -> Option<i64> {
        self.0.iter().map(|s| s.not_after).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: final-release
    #[test]
    fn a_release_behind_the_acquire_on_its_socket_is_final() {
        let mut unanswered = Unanswered::default();
        unanswered.sent(1, 500);
        unanswered.settle(1, 100);
        assert!(unanswered.is_settled());
    }

    // proves: final-release
    #[test]
    fn a_release_on_another_socket_is_final_only_past_the_stamp() {
        let mut unanswered = Unanswered::default();
        unanswered.sent(1, 500);
        assert!(unanswered.is_all_on(1) && !unanswered.is_all_on(2));
        unanswered.settle(2, 500);
        assert_eq!(unanswered.last_stamp(), Some(500));
        unanswered.settle(2, 501);
        assert!(unanswered.is_settled());
    }

    #[test]
    fn one_that_never_left_takes_no_other_with_it() {
        let mut unanswered = Unanswered::default();
        unanswered.sent(1, 100);
        unanswered.sent(1, 200);
        assert!(unanswered.was_not_sent(1, 200));
        assert!(!unanswered.was_not_sent(1, 200));
        assert_eq!(unanswered.last_stamp(), Some(100));
    }

    #[test]
    fn an_answer_covers_what_was_sent_before_it_on_the_same_socket_only() {
        let mut unanswered = Unanswered::default();
        unanswered.sent(1, 100);
        unanswered.sent(2, 200);
        unanswered.sent(2, 300);
        unanswered.sent(2, 400);
        unanswered.answered(2, 300);
        assert_eq!(unanswered.0.iter().map(|s| s.not_after).collect::<Vec<_>>(), [100, 400]);
        unanswered.answered(2, 999);
        assert_eq!(unanswered.0.len(), 2);
    }
}
