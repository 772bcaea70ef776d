//! What is known of other processes that wait for the same lock. Pure.
//!
//! A release tells how many listened to its announcement. A listener may not want the lock: once it let
//! the lock pass twice, it is not believed any more. But one that took it before may only be late, on a
//! busy machine, and has more patience to expect.

/// Those elsewhere that listened when the lock was last released here.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// `None` if that is unknown.
    listening: Option<u32>,
    /// How often in a row they let the lock pass.
    passed: u8,
    /// Whether they took it before that.
    took: bool,
    /// So many only look on.
    onlookers: u32,
}

impl Others {
    /// Whether no other is known to wait.
    pub(crate) fn nobody_waits(&self) -> bool {
        self.listening.is_some_and(|listening| listening <= self.onlookers)
    }

    /// So many others heard of a release.
    pub(crate) const fn heard(&mut self, listening: Option<u32>) {
        self.listening = listening;
    }

    /// The lock was free for others, and is this process' again.
    pub(crate) fn let_it_pass(&mut self) {
        self.passed = self.passed.saturating_add(1);
        if self.passed >= if self.took { PATIENCE_WITH_TAKERS } else { PATIENCE } {
            self.onlookers = self.listening.unwrap_or(0);
            self.took = false;
        }
    }

    /// Another process took it.
    pub(crate) const fn took_it(&mut self) {
        *self = Self { listening: self.listening, passed: 0, took: true, onlookers: 0 };
    }
}

const PATIENCE: u8 = 2;
const PATIENCE_WITH_TAKERS: u8 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_wait_unless_a_release_told_that_nobody_listens() {
        let mut others = Others::default();
        assert!(!others.nobody_waits(), "nobody knows");
        for (listening, nobody) in [(Some(0), true), (Some(1), false), (None, false)] {
            others.heard(listening);
            assert_eq!(others.nobody_waits(), nobody, "{listening:?}");
        }
    }

    #[test]
    fn who_lets_two_releases_pass_looks_on_until_the_lock_is_taken_or_more_listen() {
        let mut others = Others::default();
        others.heard(Some(2));
        others.let_it_pass();
        assert!(!others.nobody_waits());
        others.let_it_pass();
        assert!(others.nobody_waits());
        others.heard(Some(3));
        assert!(!others.nobody_waits(), "one more");
        others.heard(Some(2));
        others.took_it();
        assert!(!others.nobody_waits());
        for _ in 1..32 {
            others.let_it_pass();
            assert!(!others.nobody_waits(), "it may be late");
        }
        others.let_it_pass();
        assert!(others.nobody_waits());
    }
}
