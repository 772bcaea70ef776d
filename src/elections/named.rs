// keeps: deciders-pure
//! Which leader the servers name. Pure.

use std::{collections::BTreeMap, time::Duration};

use super::{
    announced::{Announced, Leader},
    script::{Standing, ToldLeader},
};

/// What the servers say together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// A majority names this one, until its hold there has ended, unless it is renewed. `None`: it has no end.
    Leader(Leader, Option<Duration>),
    /// None is named by a majority, whatever the servers say that did not answer.
    Nobody,
    /// Too few of them answered.
    Unknown,
}

impl Named {
    /// What they say; `None` of one that did not answer.
    pub(super) fn of(told: &[Option<ToldLeader>]) -> Self {
        let need = told.len() / 2 + 1;
        let missing = told.iter().filter(|told| told.is_none()).count();
        let mut by_leader: BTreeMap<&str, Vec<&Standing>> = BTreeMap::new();
        for standing in told.iter().flatten().flatten() {
            by_leader.entry(standing.leader()).or_default().push(standing);
        }
        let most = by_leader.iter().max_by_key(|(_, named)| named.len());
        let most_names = most.map_or(0, |(_, named)| named.len());
        match most {
            Some((holder, named)) if most_names >= need => named_by(holder, named, need),
            _ if most_names + missing >= need => Self::Unknown,
            _ => Self::Nobody,
        }
    }
}

impl Standing {
    /// By what the leader is known on most servers; on this one it may have another id.
    fn leader(&self) -> &str {
        match &self.announced {
            Some(announced) if announced.holder == self.holder => &announced.leader,
            _ => &self.holder,
        }
    }
}

fn named_by(holder: &str, named: &[&Standing], need: usize) -> Named {
    // Of another holder it is what one before has left.
    let own = named.iter().filter_map(|standing| {
        let is_its_own = |announced: &&Announced| {
            announced.holder == standing.holder || planted!(AnnouncementOfAnother)
        };
        standing.announced.as_ref().filter(is_its_own)
    });
    let newest = own.max_by_key(|announced| (announced.token, announced.number));
    let mut ends: Vec<Duration> =
        named.iter().map(|standing| standing.ttl.unwrap_or(Duration::MAX)).collect();
    ends.sort_by(|a, b| b.cmp(a));
    let end = ends.get(need - 1).copied().filter(|end| *end < Duration::MAX);
    let leader = Leader {
        holder: holder.to_owned(),
        token: newest.map(|newest| newest.token),
        // The first announcement says nothing but that it leads.
        value: newest.filter(|newest| newest.number > 0).map(|newest| newest.value.clone()),
        number: newest.map_or(0, |newest| newest.number),
    };
    Named::Leader(leader, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::FencingToken;

    /// `-` does not answer, `.` is free, a letter holds it; `a7.3` has announced its third value with token 7; `b a7.3` is
    /// b beside what a left.
    fn told(text: &str) -> Option<ToldLeader> {
        let standing = |holder: &str, said: &str| {
            let announced = said.split_at_checked(1).filter(|(_, rest)| !rest.is_empty());
            let announced = announced.map(|(by, rest)| {
                let (token, number) = rest.split_once('.').unwrap();
                Announced {
                    // Known by the small letter on most servers, whatever it is here.
                    leader: by.to_lowercase(),
                    holder: by.to_owned(),
                    token: FencingToken::try_from(token.parse::<u64>().unwrap()).unwrap(),
                    number: number.parse().unwrap(),
                    value: number.into(),
                }
            });
            Some(Some(Standing { holder: holder.to_owned(), ttl: None, announced }))
        };
        match text {
            "-" => None,
            "." => Some(None),
            _ => match text.split_once(' ') {
                Some((holder, said)) => standing(holder, said),
                None => standing(&text[..1], text),
            },
        }
    }

    fn named(texts: &[&str]) -> String {
        match Named::of(&texts.iter().map(|text| told(text)).collect::<Vec<_>>()) {
            Named::Nobody => "nobody".to_owned(),
            Named::Unknown => "unknown".to_owned(),
            Named::Leader(Leader { holder, token, value, .. }, _) => {
                let token = token.map_or(String::new(), |token| token.get().to_string());
                let value = value.map(|value| String::from_utf8(value).unwrap());
                format!("{holder}{token}{}", value.map_or(String::new(), |v| format!(".{v}")))
            }
        }
    }

    #[test]
    fn what_a_majority_names_leads() {
        for (told, expected) in [
            (&["."][..], "nobody"),
            (&["-"], "unknown"),
            (&["a"], "a"),
            (&["a7.0"], "a7"),
            (&["a7.3"], "a7.3"),
            // What another left is not shown.
            (&["b a7.3"], "b"),
            (&["a", "a", "."], "a"),
            (&["a7.1", "a7.1", "b"], "a7.1"),
            (&["a7.1", "a", "-"], "a7.1"),
            // The newest of the same leader, wherever it stands.
            (&["a7.1", "a7.2", "."], "a7.2"),
            // It is known by another id on one of them.
            (&["a7.1", "A7.1", "."], "a7.1"),
            (&["a", "b", "."], "nobody"),
            (&["a", "b", "-"], "unknown"),
            (&["a", ".", "-"], "unknown"),
            (&[".", ".", "-"], "nobody"),
            (&["a", "-", "-"], "unknown"),
            (&["a", ".", ".", "-", "."], "nobody"),
            (&["a", "a", "-", "-", "b"], "unknown"),
            (&["b a9.9", "b", "b8.1"], "b8.1"),
        ] {
            assert_eq!(named(told), expected, "{told:?}");
        }
    }

    #[test]
    fn it_leads_until_less_than_a_majority_holds() {
        let at = |secs: Option<u64>| {
            let ttl = secs.map(Duration::from_secs);
            Some(Some(Standing { holder: "a".to_owned(), ttl, announced: None }))
        };
        for (ttls, expected) in [
            ([Some(1), Some(9), Some(5)], Some(5)),
            ([Some(1), Some(9), None], Some(9)),
            ([None, Some(9), None], None),
        ] {
            let Named::Leader(_, end) = Named::of(&ttls.map(at)) else { panic!("{ttls:?}") };
            assert_eq!(end, expected.map(Duration::from_secs), "{ttls:?}");
        }
    }
}
