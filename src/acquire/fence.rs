// keeps: deciders-pure
//! Which token a round over many members comes to, and whether it is won. Pure.
//!
//! The token is the greatest that a member told. It is the round's once `need` members *wrote* it and
//! still confirm. Any two such sets share a member, whose counter only rises, so of two rounds the one
//! that wrote there later has the greater token. Members that told a lesser one are asked to write it
//! too: strictly upwards, and only while the round's key stands there.
//!
//! Sources: `model/README.md`, findings 2 and 6; the write-back of a read in the ABD register.

use crate::{
    by_member::{ByMember, MemberId},
    claim::ToldToken,
    clock::Instant,
    kind::FencingToken,
};

/// What the tokens of a round amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Enough members wrote the token and confirm.
    Won,
    /// Not yet: these members granted with a lesser one and confirm, and would make it enough.
    Promote(Vec<MemberId>),
    /// Not enough of the members confirm, or told no more than the token.
    Lost,
}

/// The token of a round, fixed when it has enough grants: whatever is told later is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    token: FencingToken,
    need: usize,
}

impl Fence {
    /// `None` if none granted.
    pub(crate) fn of(told: &ByMember<Option<ToldToken>>, need: usize) -> Option<Self> {
        let token = told.values().flatten().map(|told| told.token).max()?;
        Some(Self { token, need })
    }

    pub(crate) const fn token(&self) -> FencingToken {
        self.token
    }

    // keeps: counter-rises
    /// Members confirm if they do so until `least` or later.
    pub(crate) fn decide(&self, told: &ByMember<Option<ToldToken>>, least: Instant) -> Decision {
        let confirms = |told: &ToldToken| told.until.is_some_and(|until| until >= least);
        let confirming =
            || told.iter().filter_map(|(id, told)| Some((id, told.filter(confirms)?.token)));
        let wrote = confirming().filter(|(_, token)| *token == self.token).count();
        if wrote >= self.need {
            return Decision::Won;
        }
        let behind: Vec<MemberId> =
            confirming().filter(|(_, token)| *token < self.token).map(|(id, _)| id).collect();
        if wrote + behind.len() >= self.need {
            return Decision::Promote(behind);
        }
        Decision::Lost
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LEAST: Instant = Instant::from_origin(Duration::from_secs(10));

    fn at(seconds: u64) -> Option<Instant> {
        Some(Instant::from_origin(Duration::from_secs(seconds)))
    }

    /// A digit is a token, of a member that confirms; in brackets, of one that does not; `.`: no
    /// grant.
    fn told(text: &str) -> ByMember<Option<ToldToken>> {
        let mut until = at(20);
        let mut told = Vec::new();
        for c in text.chars() {
            match c {
                '(' => until = at(9),
                '[' => until = None,
                ')' | ']' => until = at(20),
                '.' => told.push(None),
                digit => {
                    let token = FencingToken::of(i64::from(digit.to_digit(10).unwrap())).unwrap();
                    told.push(Some(ToldToken { token, until }));
                }
            }
        }
        ByMember::new(told).unwrap()
    }

    fn behind(members: &[usize]) -> Decision {
        Decision::Promote(members.iter().map(|i| MemberId::nth(*i)).collect())
    }

    fn decide(text: &str, need: usize) -> Decision {
        let told = told(text);
        Fence::of(&told, need).unwrap().decide(&told, LEAST)
    }

    #[test]
    fn decisions_are_those_of_the_table() {
        use Decision::{Lost, Won};
        for (text, need, decision) in [
            ("7", 1, Won),
            ("77.", 2, Won),
            ("777", 2, Won),
            ("778", 2, behind(&[0, 1])),
            ("788", 2, Won),
            ("78.", 2, behind(&[0])),
            ("7.8", 2, behind(&[0])),
            ("789", 2, behind(&[0, 1])),
            ("789", 3, behind(&[0, 1])),
            ("888", 3, Won),
            ("788", 3, behind(&[0])),
            // The token is the greatest, even of a member that confirms no longer.
            ("77(8)", 2, behind(&[0, 1])),
            ("77[8]", 2, behind(&[0, 1])),
            ("7(88)", 2, Lost),
            ("(7)8.", 2, Lost),
            ("[7]8.", 2, Lost),
            ("8(8)8", 2, Won),
            ("8(88)", 2, Lost),
            ("8..", 2, Lost),
            ("8.", 1, Won),
            ("7788(8)", 3, behind(&[0, 1])),
            ("77(888)", 3, Lost),
        ] {
            assert_eq!(decide(text, need), decision, "{text} {need}");
        }
        assert_eq!(Fence::of(&told("..."), 2), None);
    }

    #[test]
    fn a_member_confirms_until_the_least_deadline_and_not_before_it() {
        let on_time = told("88").map(|told| told.map(|told| ToldToken { until: at(10), ..told }));
        let fence = Fence::of(&on_time, 2).unwrap();
        assert_eq!(fence.decide(&on_time, LEAST), Decision::Won);
        assert_eq!(fence.decide(&on_time, LEAST + Duration::from_nanos(1)), Decision::Lost);
    }

    /// What one member may have told: nothing, or one of three tokens, confirming or not.
    const TOLD: [&str; 7] = [".", "1", "2", "3", "(1)", "(2)", "[3]"];

    fn all(members: u32) -> impl Iterator<Item = (String, ByMember<Option<ToldToken>>)> {
        let count = 7_usize.pow(members);
        (0..count).map(move |number| {
            let digit = |i| TOLD.get(number / 7_usize.pow(i) % 7).copied().unwrap();
            let text: String = (0..members).map(digit).collect();
            let told = told(&text);
            (text, told)
        })
    }

    // proves: counter-rises
    /// Over all replies of up to five members, judged by the definition.
    #[test]
    fn every_decision_is_right_for_all_replies_of_up_to_five_members() {
        for members in 1..=5_u32 {
            let n = members as usize;
            for need in [n / 2 + 1, n] {
                for (text, told) in all(members) {
                    let Some(fence) = Fence::of(&told, need) else { continue };
                    check(&text, &told, fence, need);
                }
            }
        }
    }

    fn check(text: &str, told: &ByMember<Option<ToldToken>>, fence: Fence, need: usize) {
        let tokens: Vec<_> = told.values().flatten().map(|told| told.token).collect();
        assert!(tokens.iter().all(|token| *token <= fence.token()), "{text}: not the greatest");
        assert!(tokens.contains(&fence.token()), "{text}: nobody wrote it");
        let confirms = |told: &ToldToken| told.until.is_some_and(|until| until >= LEAST);
        let with_it = |told: &ByMember<Option<ToldToken>>| {
            told.values().flatten().filter(|t| confirms(t) && t.token == fence.token()).count()
        };
        match fence.decide(told, LEAST) {
            Decision::Won => assert!(with_it(told) >= need, "{text}"),
            Decision::Promote(behind) => {
                assert!(with_it(told) < need && !behind.is_empty(), "{text}");
                let mut after = told.clone();
                for id in behind {
                    let told = after[id].as_mut().unwrap();
                    assert!(
                        confirms(told) && told.token < fence.token(),
                        "{text}: {id:?} is behind"
                    );
                    told.token = fence.token();
                }
                assert_eq!(fence.decide(&after, LEAST), Decision::Won, "{text}: was not enough");
            }
            Decision::Lost => {
                let confirming = told.values().flatten().filter(|told| confirms(told)).count();
                assert!(confirming < need, "{text}: enough of them confirm");
            }
        }
    }

    /// Once tokens are fixed, a later and greater reply does not matter: it neither counts nor is
    /// lowered.
    #[test]
    fn a_greater_token_told_later_is_not_read() {
        let first = told("78.");
        let fence = Fence::of(&first, 2).unwrap();
        assert_eq!(fence.decide(&told("789"), LEAST), behind(&[0]));
        assert_eq!(fence.decide(&told("789"), LEAST), fence.decide(&first, LEAST));
        // One that wrote the same token does count.
        assert_eq!(fence.decide(&told("788"), LEAST), Decision::Won);
        assert_eq!(fence.decide(&told("7(8)9"), LEAST), Decision::Lost);
    }
}
