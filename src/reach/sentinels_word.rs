//! Which word of several sentinels is to be believed. Pure.
//!
//! Configurations of a master are numbered, and each failover raises the number. The sentinel that leads one
//! knows first, and one that was cut off goes on naming the master of before. But a number may also start
//! again, where sentinels were set up anew, and one that watches over something else may tell any.

use std::sync::Arc;

/// Where a master is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    /// Host and port.
    pub(crate) place: (Arc<str>, u16),
    /// The number of the configuration, which each failover raises. `None` if the user may not ask for it.
    pub(crate) config: Option<u64>,
}

/// What one sentinel tells.
#[derive(Debug, Clone)]
pub(super) struct SentinelReport {
    pub(super) whereabouts: Whereabouts,
    /// Where the master's replicas are; `None` if it does not tell.
    pub(super) replicas: Option<Vec<(Arc<str>, u16)>>,
}

/// Where the master is, of what some have told by now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SentinelVerdict {
    Untold,
    /// Most tell the same, or the same as before.
    Certain(Whereabouts),
    /// Unless others tell something else.
    SoFar(Whereabouts),
    /// They name another master by a lower number than that by which one was followed, and are too few to be
    /// believed.
    Behind,
}

/// What so many sentinels tell; `last` is what was followed before.
pub(super) fn word(
    told: &[SentinelReport],
    sentinels: usize,
    last: Option<&Whereabouts>,
) -> SentinelVerdict {
    let is_most = |it: &Whereabouts| {
        told.iter().filter(|told| told.whereabouts == *it).count() * 2 > sentinels
    };
    let all = || told.iter().map(|told| &told.whereabouts);
    let most = all().find(|it| is_most(it));
    let Some(newest) = told.iter().max_by_key(|told| told.whereabouts.config) else {
        return SentinelVerdict::Untold;
    };
    let Some(base) = most.or_else(|| all().find(|it| Some(*it) == last)) else {
        let is_behind = |last: &Whereabouts| {
            newest.whereabouts.config < last.config && newest.whereabouts.place != last.place
        };
        return match last {
            Some(last) if is_behind(last) => SentinelVerdict::Behind,
            _ => SentinelVerdict::SoFar(newest.whereabouts.clone()),
        };
    };
    // The sentinel that leads a failover knows of it before the others do, and those know which
    // replica it promotes.
    let is_newer = newest.whereabouts.config > base.config;
    if is_newer && newest.whereabouts.place != base.place && is_replica(newest, base, told) {
        return SentinelVerdict::Certain(newest.whereabouts.clone());
    }
    SentinelVerdict::Certain(base.clone())
}

/// Whether a place is that of a replica, as far as those know that name `base`.
fn is_replica(newest: &SentinelReport, base: &Whereabouts, told: &[SentinelReport]) -> bool {
    let mut others = told.iter().filter(|told| told.whereabouts == *base);
    others.any(|told| {
        let replicas = told.replicas.as_ref();
        replicas.is_none_or(|replicas| replicas.contains(&newest.whereabouts.place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: char, config: u64) -> Whereabouts {
        Whereabouts { place: (place.to_string().into(), 1), config: Some(config) }
    }

    /// A word for each: the master, its replicas, and behind a colon the number.
    fn told(words: &str) -> Vec<SentinelReport> {
        let one = |word: &str| {
            let (places, number) = word.split_once(':').unwrap();
            let mut places = places.chars();
            let whereabouts = at(places.next().unwrap(), number.parse().unwrap());
            let replicas: Vec<_> = places.map(|it| (it.to_string().into(), 1)).collect();
            let is_untold = replicas.iter().any(|(host, _): &(Arc<str>, u16)| &**host == "?");
            SentinelReport { whereabouts, replicas: (!is_untold).then_some(replicas) }
        };
        words.split_whitespace().map(one).collect()
    }

    #[test]
    fn word_is_that_of_the_table() {
        let certain = |place, config| SentinelVerdict::Certain(at(place, config));
        let so_far = |place, config| SentinelVerdict::SoFar(at(place, config));
        for (words, last, expected) in [
            ("", None, SentinelVerdict::Untold),
            // In the beginning.
            ("ab:5", None, so_far('a', 5)),
            ("ab:5 ba:6", None, so_far('b', 6)),
            ("ab:5 ab:5", None, certain('a', 5)),
            // As before, whichever sentinel is silent.
            ("ab:5", Some(at('a', 5)), certain('a', 5)),
            // The leader of a failover, then more of them, and one that was cut off.
            ("ab:5 ab:5 ba:6", Some(at('a', 5)), certain('b', 6)),
            ("a?:5 a?:5 ba:6", Some(at('a', 5)), certain('b', 6)),
            ("ab:5 ba:6 ba:6", Some(at('b', 6)), certain('b', 6)),
            ("ba:6", Some(at('a', 5)), so_far('b', 6)),
            ("ab:5", Some(at('b', 6)), SentinelVerdict::Behind),
            // The leader was alone with it, and most have come back to the one before.
            ("ab:5 ab:5", Some(at('b', 6)), certain('a', 5)),
            // A stray one, which names another or the same.
            ("ab:5 ab:5 x:99", Some(at('a', 5)), certain('a', 5)),
            ("ab:5 x:99", Some(at('a', 5)), certain('a', 5)),
            ("ab:5 ab:5 a:99", Some(at('a', 5)), certain('a', 5)),
            ("ab:5 ab:5", Some(at('x', 99)), certain('a', 5)),
            // They are set up anew, one by one.
            ("ab:5 ab:5 ab:0", Some(at('a', 5)), certain('a', 5)),
            ("ab:5 ab:0 ab:0", Some(at('a', 5)), certain('a', 0)),
            ("ab:0", Some(at('a', 5)), so_far('a', 0)),
            ("x:0", Some(at('a', 5)), SentinelVerdict::Behind),
            ("x:0 x:0", Some(at('a', 5)), certain('x', 0)),
        ] {
            assert_eq!(word(&told(words), 3, last.as_ref()), expected, "{words} {last:?}");
        }
    }
}
