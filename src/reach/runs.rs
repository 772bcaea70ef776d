//! Which of the processes that answer at one address is the newest. Pure, but for the wait for a change.
//!
//! Another process at an address has taken the place of the one before, and sockets to that are closed. It
//! may not know yet that it is no master any more. Perhaps the one before is met again, and has been the
//! master of the same data all the while. Then both are: something hands connections out to several masters
//! in turn, and what one of them grants, the other does not know.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{clock::Instant, error::NodeError, latest::Latest, standing::RunId};

/// The processes that have answered at one address.
#[derive(Debug)]
pub(crate) struct Runs {
    seen: Mutex<Seen>,
    newest: Latest<Option<Newest>>,
}

/// The how-manieth socket it is that is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct DialNumber(u64);

/// A process as the master of some data, which a change of roles makes other data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reign {
    pub(crate) run_id: RunId,
    /// `None` if the user may not ask.
    pub(crate) replid: Option<RunId>,
}

#[derive(Debug, Default)]
struct Seen {
    dials: DialNumber,
    /// The last of those that had answered before the newest.
    before: VecDeque<Reign>,
    refused_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Newest {
    reign: Reign,
    /// The last socket that had been dialled when it was met.
    since: DialNumber,
    is_first: bool,
}

impl Default for Runs {
    fn default() -> Self {
        Self { seen: Mutex::default(), newest: Latest::new(None) }
    }
}

impl Runs {
    /// To be called before a socket is dialled.
    pub(crate) fn dial(&self) -> DialNumber {
        let mut seen = self.seen();
        seen.dials.0 += 1;
        seen.dials
    }

    /// Takes note of the process that answers on a socket. Once two have answered in turn, neither is
    /// spoken to until one alone has answered for so long.
    ///
    /// # Errors
    /// [`NodeError::Unsupported`]: several masters answer in turn. [`NodeError::Unreachable`]: another has
    /// taken the place of this one meanwhile.
    pub(crate) fn met(
        &self,
        dial: DialNumber,
        reign: Reign,
        now: Instant,
        alone_for: Duration,
    ) -> Result<(), NodeError> {
        let mut seen = self.seen();
        match self.newest.look(Clone::clone) {
            Some(newest) if newest.reign.run_id == reign.run_id => {}
            Some(newest) if dial <= newest.since => {
                let reason = "another server has taken the place of the one that answers".into();
                return Err(NodeError::Unreachable { reason });
            }
            newest => {
                if seen.before.contains(&reign) && reign.replid.is_some() {
                    seen.refused_until = Some(now + alone_for);
                }
                seen.retire(newest);
                let is_first = newest.is_none();
                self.newest.replace(Some(Newest { reign, since: seen.dials, is_first }));
            }
        }
        match seen.refused_until {
            Some(until) if now < until => Err(in_turn()),
            _ => Ok(()),
        }
    }

    /// Completes when a socket is to be closed: it leads to another than the newest, or, if that is not
    /// known of it, was dialled before the newest was met.
    pub(crate) async fn succeeded(&self, dial: DialNumber, run_id: Option<RunId>) {
        let is_older = |newest: &Option<Newest>| match (newest, run_id) {
            (Some(newest), Some(run_id)) => newest.reign.run_id != run_id,
            (Some(newest), None) => !newest.is_first && dial <= newest.since,
            (None, _) => false,
        };
        self.newest.wait_for(is_older).await;
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn retire(&mut self, newest: Option<Newest>) {
        self.before.extend(newest.map(|newest| newest.reign));
        while self.before.len() > REMEMBERED {
            self.before.pop_front();
        }
    }
}

fn in_turn() -> NodeError {
    let what = "several masters answer at its address in turn, as behind a load balancer: what one of them \
                grants, the others do not know";
    NodeError::Unsupported { what: what.into() }
}

/// More masters than this are not told from new ones.
const REMEMBERED: usize = 16;

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const ALONE: Duration = Duration::from_secs(60);

    fn reign(run: char, replid: char) -> Reign {
        let id = |letter: char| RunId::new(&letter.to_string().repeat(40)).unwrap();
        Reign { run_id: id(run), replid: Some(id(replid)) }
    }

    fn s(s: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(s))
    }

    /// What became of a new socket that leads there.
    fn meet(runs: &Runs, at: u64, reign: Reign) -> Result<(), NodeError> {
        runs.met(runs.dial(), reign, s(at), ALONE)
    }

    fn is_refused(met: &Result<(), NodeError>) -> bool {
        matches!(met, Err(NodeError::Unsupported { .. }))
    }

    #[test]
    fn masters_that_answer_in_turn_are_refused_until_one_alone_answers() {
        let runs = Runs::default();
        for (at, run, refused) in [
            (0, 'a', false),
            (1, 'a', false),
            (2, 'b', false),
            (3, 'a', true),
            (4, 'a', true),
            (62, 'b', true),
            (100, 'b', true),
            (122, 'b', false),
            (123, 'b', false),
            (124, 'a', true),
        ] {
            let met = meet(&runs, at, reign(run, run));
            assert_eq!(is_refused(&met), refused, "{at}: {met:?}");
        }
    }

    #[test]
    fn who_was_demoted_meanwhile_may_be_the_master_again() {
        let runs = Runs::default();
        for replid in ['1', '2', '3', '4'] {
            let run = if matches!(replid, '1' | '3') { 'a' } else { 'b' };
            assert!(meet(&runs, 0, reign(run, replid)).is_ok(), "{replid}");
        }
        let unknown = |run| Reign { replid: None, ..reign(run, '1') };
        for run in ['c', 'd', 'c'] {
            assert!(meet(&runs, 0, unknown(run)).is_ok(), "{run}");
        }
    }

    #[test]
    fn what_was_dialled_before_a_takeover_says_nothing_against_it() {
        let runs = Runs::default();
        meet(&runs, 0, reign('a', '1')).unwrap();
        let late = runs.dial();
        meet(&runs, 0, reign('b', '2')).unwrap();
        let met = runs.met(late, reign('a', '1'), s(1), ALONE);
        assert!(matches!(met, Err(NodeError::Unreachable { .. })), "{met:?}");
        assert!(meet(&runs, 1, reign('b', '2')).is_ok());
    }

    /// Two are dialled at one moment, and each leads to another: whichever answers first is the newest.
    #[test]
    fn what_was_dialled_last_before_a_takeover_is_older_than_that() {
        let runs = Runs::default();
        meet(&runs, 0, reign('a', '1')).unwrap();
        let (first, last, listening) = (runs.dial(), runs.dial(), runs.dial());
        runs.met(first, reign('b', '2'), s(0), ALONE).unwrap();
        for (dial, at) in [(last, 0), (listening, 1)] {
            let met = runs.met(dial, reign('a', '1'), s(at), ALONE);
            assert!(matches!(met, Err(NodeError::Unreachable { .. })), "{met:?}");
        }
        assert!(runs.succeeded(listening, None).now_or_never().is_some());
        assert!(meet(&runs, 1, reign('b', '2')).is_ok());
    }

    #[test]
    fn sockets_to_the_one_before_are_closed() {
        let runs = Runs::default();
        let (a, b) = (reign('a', '1'), reign('b', '2'));
        let (first, listening) = (runs.dial(), runs.dial());
        runs.met(first, a, s(0), ALONE).unwrap();
        let is_over = |dial, run| runs.succeeded(dial, run).now_or_never().is_some();
        assert!(!is_over(first, Some(a.run_id)) && !is_over(listening, None));
        let second = runs.dial();
        runs.met(second, b, s(0), ALONE).unwrap();
        assert!(is_over(first, Some(a.run_id)) && is_over(listening, None));
        assert!(!is_over(second, Some(b.run_id)) && !is_over(runs.dial(), None));
    }
}
