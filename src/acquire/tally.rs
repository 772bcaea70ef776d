// keeps: deciders-pure
//! Counting votes. Pure.

use crate::error::Vote;

/// How many members are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// All of them: `MultiLock`.
    All,
    /// More than half: `RedLock`. An even number tolerates no more than the odd one below it.
    Majority,
}

impl Rule {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Majority => "majority",
        }
    }

    pub(crate) fn need(self, members: usize) -> usize {
        match self {
            Self::All => members,
            Self::Majority if planted!(QuorumMinusOne) => (members / 2).max(1),
            Self::Majority => members / 2 + 1,
        }
    }
}

/// What the votes so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pending,
    Won,
    /// Lost to others: worth waiting for.
    LostToOthers,
    /// Lost because too many members did not vote.
    LostToOutage,
}

/// The votes so far, counted as they come: there may be thousands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    members: usize,
    need: usize,
    granted: usize,
    refused: usize,
    failed: usize,
}

impl Tally {
    /// A member that has not voted may still do so.
    pub(crate) fn of<'a>(rule: Rule, votes: impl ExactSizeIterator<Item = &'a Vote>) -> Self {
        let members = votes.len();
        let need = rule.need(members);
        let mut tally = Self { members, need, granted: 0, refused: 0, failed: 0 };
        votes.for_each(|vote| tally.voted(&Vote::Pending, vote));
        tally
    }

    /// One vote is another now.
    pub(crate) fn voted(&mut self, before: &Vote, now: &Vote) {
        if let Some(count) = self.count_of(before) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(now) {
            *count += 1;
        }
    }

    fn count_of(&mut self, vote: &Vote) -> Option<&mut usize> {
        match vote {
            Vote::Granted => Some(&mut self.granted),
            Vote::Refused { .. } => Some(&mut self.refused),
            Vote::Failed(_) => Some(&mut self.failed),
            Vote::Pending => None,
        }
    }

    /// The same if the members that have not voted will not.
    pub(crate) const fn closed(mut self) -> Self {
        self.failed = self.members - self.granted - self.refused;
        self
    }

    pub(crate) const fn verdict(&self) -> Verdict {
        if self.granted >= self.need {
            return Verdict::Won;
        }
        // Members that can still say yes: for both rules the round is lost when they are too few.
        let hopeful = self.members - self.refused - self.failed;
        if hopeful >= self.need {
            return Verdict::Pending;
        }
        if self.failed > self.members - self.need {
            Verdict::LostToOutage
        } else {
            Verdict::LostToOthers
        }
    }

    /// How many refusing members must change their mind for another round to be worth it.
    pub(crate) const fn short_of(&self) -> usize {
        let hopeful = self.members - self.refused - self.failed;
        self.need.saturating_sub(hopeful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NodeError;

    fn vote(letter: char) -> Vote {
        match letter {
            'g' => Vote::Granted,
            'r' => Vote::Refused { ttl: None },
            'f' => Vote::Failed(NodeError::Closed),
            '.' => Vote::Pending,
            other => panic!("{other}"),
        }
    }

    fn count(rule: Rule, votes: &str) -> Tally {
        let votes: Vec<_> = votes.chars().map(vote).collect();
        Tally::of(rule, votes.iter())
    }

    /// A table to check by hand: g granted, r refused, f failed, . outstanding.
    #[test]
    fn verdicts_are_those_of_the_table() {
        use Rule::{All, Majority};
        use Verdict::{LostToOthers, LostToOutage, Pending, Won};
        for (rule, votes, verdict) in [
            (Majority, "...", Pending),
            (Majority, "g..", Pending),
            (Majority, "gg.", Won),
            (Majority, "gr.", Pending),
            (Majority, "rr.", LostToOthers),
            (Majority, "rf.", LostToOthers),
            (Majority, "ff.", LostToOutage),
            (Majority, "grf", LostToOthers),
            (Majority, "gff", LostToOutage),
            (Majority, "gg..", Pending),
            (Majority, "ggg.", Won),
            (Majority, "ggrr", LostToOthers),
            (Majority, "rr..", LostToOthers),
            (Majority, "ggf.f", Pending),
            (Majority, "gfff.", LostToOutage),
            (All, "gg.", Pending),
            (All, "ggg", Won),
            (All, "r..", LostToOthers),
            (All, "f..", LostToOutage),
            (All, "rf.", LostToOutage),
            (All, "g", Won),
            (Majority, "r", LostToOthers),
        ] {
            assert_eq!(count(rule, votes).verdict(), verdict, "{rule:?} {votes}");
        }
    }

    #[test]
    fn a_lost_round_names_how_many_refusals_must_go() {
        assert_eq!(count(Rule::Majority, "rr.").short_of(), 1);
        assert_eq!(count(Rule::Majority, "rrr").short_of(), 2);
        assert_eq!(count(Rule::Majority, "grf").short_of(), 1);
        assert_eq!(count(Rule::All, "grr").short_of(), 2);
    }

    /// All of {granted, refused, failed, outstanding}^N, in every order of arrival that matters:
    /// once a verdict is reached, no further vote changes it from won to lost or back.
    #[test]
    fn verdicts_are_final_for_all_votes_of_up_to_five_members() {
        for members in [1, 2, 3, 5] {
            for rule in [Rule::All, Rule::Majority] {
                explore(rule, &".".repeat(members));
            }
        }
    }

    fn explore(rule: Rule, votes: &str) {
        let before = count(rule, votes).verdict();
        if !votes.contains('.') {
            assert_ne!(before, Verdict::Pending);
            return;
        }
        for next in ["g", "r", "f"] {
            let votes = votes.replacen('.', next, 1);
            let after = count(rule, &votes).verdict();
            match before {
                Verdict::Pending => {}
                Verdict::Won => assert_eq!(after, Verdict::Won),
                Verdict::LostToOthers | Verdict::LostToOutage => {
                    assert!(matches!(after, Verdict::LostToOthers | Verdict::LostToOutage));
                }
            }
            explore(rule, &votes);
        }
    }

    #[test]
    fn whoever_votes_no_more_has_failed() {
        let votes = ['g', 'r', '.'].map(vote);
        let tally = Tally::of(Rule::Majority, votes.iter());
        assert_eq!(tally.verdict(), Verdict::Pending);
        assert_eq!(tally.closed().verdict(), Verdict::LostToOthers);
    }

    #[test]
    fn votes_that_are_counted_as_they_come_are_those_that_stand() {
        let mut votes = ['.', '.', '.'].map(vote);
        let mut tally = Tally::of(Rule::All, votes.iter());
        for (member, now) in [(0, 'g'), (1, 'r'), (1, 'g'), (2, 'f'), (0, '.'), (2, 'g'), (0, 'g')]
        {
            let before = std::mem::replace(&mut votes[member], vote(now));
            tally.voted(&before, &votes[member]);
            let counted = Tally::of(Rule::All, votes.iter());
            assert_eq!(format!("{tally:?}"), format!("{counted:?}"));
        }
        assert_eq!(tally.verdict(), Verdict::Won);
    }

    #[test]
    fn two_quorums_always_share_a_member() {
        for members in 1..=9 {
            assert!(2 * Rule::Majority.need(members) > members);
        }
    }

    #[test]
    fn all_are_needed_or_more_than_half() {
        for (members, majority) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)] {
            assert_eq!(Rule::All.need(members), members);
            assert_eq!(Rule::Majority.need(members), majority, "of {members}");
        }
        assert_ne!(Rule::All.name(), Rule::Majority.name(), "or one would re-enter the other");
    }
}
