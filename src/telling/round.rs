//! What a thread that is spared has to tell in one poll, handed over at its end.

use std::{cell::RefCell, future::poll_fn, mem, pin::pin};

use super::{
    crew::Callback,
    desk::{desk, is_spared},
    event::{event, event_elsewhere},
};
use crate::logging::WATCHDOG;

thread_local! {
    /// What is to be told at the end of the round that is under way.
    static ROUND: RefCell<Option<PendingNotices>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct PendingNotices {
    wakers: Vec<Callback>,
    /// What happened to many, with the first that it happened to.
    events: Vec<(&'static str, Vec<Callback>, usize)>,
    /// What tells the numbers that were noted, if any were.
    #[cfg(feature = "metrics")]
    numbers: Option<Callback>,
}

impl PendingNotices {
    /// Whatever has happened, of `what` only so much that all of it is of use.
    fn add(&mut self, what: &'static str, tell: impl FnOnce() + Send + 'static) {
        let known = self.events.iter().position(|(known, ..)| *known == what);
        let known = known.unwrap_or_else(|| {
            self.events.push((what, Vec::new(), 0));
            self.events.len() - 1
        });
        if let Some((_, first, all)) = self.events.get_mut(known) {
            *all += 1;
            if first.len() < FEW {
                first.push(Box::new(tell));
            }
        }
    }

    fn hand_over(self) {
        desk().wakers.add_all(self.wakers);
        for (what, mut first, all) in self.events {
            let (told, others) = told_of(&first, all);
            first.truncate(told);
            first.into_iter().for_each(|tell| desk().events.add(tell));
            if others > 0 {
                event_elsewhere(move || tracing::warn!(target: WATCHDOG, locks = others, "{what}"));
            }
        }
        #[cfg(feature = "metrics")]
        self.numbers.into_iter().for_each(|tell| desk().numbers.add(tell));
    }
}

/// Of how many it is told, and how many others there were, if these were kept of all.
fn told_of(first: &[Callback], all: usize) -> (usize, usize) {
    let told = if all > FEW { first.len().min(1) } else { first.len() };
    (told, all - told)
}

/// Has what is told by each poll of `work` handed over at its end, where a thread is spared.
///
/// # Cancel safety
/// That of `work`.
pub(crate) async fn in_rounds<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _round = Underway::begun();
        work.as_mut().poll(cx)
    })
    .await
}

/// What was told in this round by now is handed over: it took its time.
pub(crate) fn hand_over() {
    if !is_spared() {
        return;
    }
    let told = ROUND.with_borrow_mut(|round| round.as_mut().map(mem::take));
    told.into_iter().for_each(PendingNotices::hand_over);
}

/// Ends the round, whatever it ends by.
struct Underway;

impl Underway {
    fn begun() -> Self {
        ROUND.with_borrow_mut(|round| *round = is_spared().then(PendingNotices::default));
        Self
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let told = ROUND.with_borrow_mut(Option::take);
        told.into_iter().for_each(PendingNotices::hand_over);
    }
}

/// Wakes what waits for something, by `wake`.
pub(crate) fn wake(wake: impl FnOnce() + Send + 'static) {
    if !is_spared() {
        return wake();
    }
    let wake: Callback = Box::new(wake);
    let left = noted(wake, |round, wake| round.wakers.push(wake));
    left.into_iter().for_each(|wake| desk().wakers.add(wake));
}

/// Tells subscribers of what may happen to very many locks at once: then of one of them, and how many others there
/// were, which is `of_others`.
pub(crate) fn event_of_many(tell: impl FnOnce() + Send + 'static, of_others: &'static str) {
    if !is_spared() {
        return event(tell);
    }
    let left = noted(tell, |round, tell| round.add(of_others, tell));
    left.into_iter().for_each(event);
}

/// Has the numbers told that were noted, on a thread that does nothing else. One that waits to do so tells those of all:
/// so neither is there more than one, nor does one that captures nothing cost an allocation.
#[cfg(feature = "metrics")]
pub(crate) fn numbers_elsewhere(tell: impl FnOnce() + Send + 'static) {
    let tell: Callback = Box::new(tell);
    let left = noted(tell, |round, tell| _ = round.numbers.get_or_insert(tell));
    left.into_iter().for_each(|tell| desk().numbers.add(tell));
}

/// Notes it for the end of the round; where none is under way, it is left.
fn noted<T>(what: T, note: impl FnOnce(&mut PendingNotices, T)) -> Option<T> {
    ROUND.with_borrow_mut(|round| match round {
        Some(round) => {
            note(round, what);
            None
        }
        None => Some(what),
    })
}

/// What has happened to so many at once is told of each.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread};

    use super::{super::desk::spare_this_thread, *};

    #[test]
    fn what_happens_to_many_is_told_of_one_and_counted() {
        for (all, told) in [(1, 1), (FEW, FEW), (FEW + 1, 1), (1_000, 1)] {
            let mut round = PendingNotices::default();
            for _ in 0..all {
                round.add("others", || {});
                round.add("else", || {});
            }
            let told_of: Vec<_> = round
                .events
                .into_iter()
                .map(|(what, first, all)| (what, told_of(&first, all)))
                .collect();
            assert_eq!(told_of, [("others", (told, all - told)), ("else", (told, all - told))]);
        }
    }

    /// However many there are: first all is noted that was lost.
    #[test]
    fn wakers_are_called_behind_the_round_of_a_thread_that_is_spared() {
        let (send, told) = channel();
        let spared = thread::spawn(move || {
            spare_this_thread();
            let work = in_rounds(async {
                for i in 0..100 {
                    let send = send.clone();
                    wake(move || send.send(i).unwrap());
                }
                ROUND.with_borrow(|round| round.as_ref().map_or(0, |round| round.wakers.len()))
            });
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(work)
        });
        assert_eq!(spared.join().unwrap(), 100);
        let mut told: Vec<i32> = told.iter().collect();
        told.sort_unstable();
        assert_eq!(told, (0..100).collect::<Vec<_>>());
    }
}
