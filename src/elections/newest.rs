// keeps: deciders-pure
//! Which of two looks is newer, for what is shown to users. Pure.

use super::announced::Leader;
use crate::kind::FencingToken;

/// What was shown last.
#[derive(Debug, Clone, Default)]
pub(super) struct NewestLeader {
    leader: Option<Leader>,
    /// Of all leaders that were shown.
    reached: Option<(FencingToken, u64)>,
}

impl NewestLeader {
    /// Whether there is something new to show; if not, what was shown stays.
    pub(super) fn learn(&mut self, seen: Option<Leader>) -> bool {
        let at = seen.as_ref().and_then(|leader| Some((leader.token?, leader.number)));
        // Told by a server that was left behind, or was asked before another.
        let is_older = at.is_some() && at < self.reached;
        if is_older || seen == self.leader {
            return false;
        }
        self.reached = self.reached.max(at);
        self.leader = seen;
        true
    }

    pub(super) fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader(holder: &str, token: Option<u64>, number: u64) -> Option<Leader> {
        let token = token.map(|token| FencingToken::try_from(token).unwrap());
        let value = (number > 0).then(|| number.to_string().into_bytes());
        Some(Leader { holder: holder.to_owned(), token, value, number })
    }

    #[test]
    fn no_older_term_and_no_older_value_is_shown_after_a_newer_one() {
        let mut newest = NewestLeader::default();
        for (seen, is_shown) in [
            (None, false),
            (leader("a", None, 0), true),
            (leader("a", Some(3), 0), true),
            (leader("a", Some(3), 0), false),
            (leader("a", Some(3), 2), true),
            (leader("a", Some(3), 1), false),
            (None, true),
            (leader("a", Some(3), 1), false),
            (leader("b", None, 0), true),
            (leader("b", Some(4), 0), true),
            (leader("a", Some(3), 9), false),
            (leader("b", Some(4), 1), true),
        ] {
            assert_eq!(newest.learn(seen.clone()), is_shown, "{seen:?}");
            assert_eq!(is_shown, newest.leader() == seen.as_ref() && is_shown, "{seen:?}");
        }
        assert_eq!(newest.leader(), leader("b", Some(4), 1).as_ref());
    }
}
