//! Which of those that wait for a socket leaves next.
//!
//! Where there is room for all, all leave as they came, and acquires last: more of them share a call. Where
//! there is not, none is kept waiting by what comes ever faster in another lane:
//! - Renewals go first. A lease ends while they wait.
//! - Acquires, a call of them at a time, and releases and whatever else a caller waits for go by turns.
//! - One call in four is for what no caller waits for, as the release of a guard that was dropped.

use std::collections::VecDeque;

use crate::socket::priority::Priority;

/// All that waits, but for acquires.
#[derive(Debug)]
pub(in crate::socket) struct Lanes<T> {
    renewals: Lane<T>,
    awaited: Lane<T>,
    unawaited: Lane<T>,
    /// How many ever came.
    came: u64,
    /// How many of those that a caller waits for have left.
    let_go: u64,
    acquires_are_next: bool,
    /// How many have left by turns since one that no caller waits for.
    others: u8,
}

#[derive(Debug)]
struct Lane<T> {
    calls: VecDeque<LaneItem<T>>,
    bytes: usize,
}

#[derive(Debug)]
struct LaneItem<T> {
    it: T,
    bytes: usize,
    /// How many came before.
    number: u64,
}

/// What leaves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) enum NextToSend<T> {
    Call(T),
    /// One call of the acquires that wait.
    Acquires,
}

impl<T> Lanes<T> {
    pub(in crate::socket) fn push(&mut self, it: T, bytes: usize, awaited: Priority) {
        let lane = match awaited {
            Priority::Renewal => &mut self.renewals,
            Priority::Background => &mut self.unawaited,
            Priority::Normal | Priority::Fanout | Priority::FanoutOneServer | Priority::Single => {
                &mut self.awaited
            }
        };
        lane.calls.push_back(LaneItem { it, bytes, number: self.came });
        lane.bytes += bytes;
        self.came += 1;
    }

    /// What came first.
    pub(in crate::socket) fn oldest(&mut self) -> Option<T> {
        let [renewal, awaited, unawaited] = self.all().map(Lane::came_first_at);
        if awaited <= renewal && awaited <= unawaited {
            self.next_awaited()
        } else if renewal <= unawaited {
            self.renewals.pop()
        } else {
            self.unawaited.pop()
        }
    }

    /// By turns with acquires, if there are some that may go.
    pub(in crate::socket) fn next(&mut self, acquires: bool) -> Option<NextToSend<T>> {
        if let Some(renewal) = self.renewals.pop() {
            return Some(NextToSend::Call(renewal));
        }
        let has_others = acquires || !self.awaited.calls.is_empty();
        if (self.others >= OTHERS || !has_others)
            && let Some(unawaited) = self.unawaited.pop()
        {
            self.others = 0;
            return Some(NextToSend::Call(unawaited));
        }
        self.others = self.others.saturating_add(1);
        if acquires && (self.acquires_are_next || self.awaited.calls.is_empty()) {
            self.acquires_are_next = false;
            return Some(NextToSend::Acquires);
        }
        self.acquires_are_next = true;
        self.next_awaited().map(NextToSend::Call)
    }

    fn next_awaited(&mut self) -> Option<T> {
        let awaited = self.awaited.pop()?;
        self.let_go += 1;
        Some(awaited)
    }

    /// How many that a caller waits for are to leave before an acquire that passes none.
    pub(in crate::socket) fn end(&self) -> u64 {
        self.let_go + self.awaited.calls.len() as u64
    }

    /// Whether so many have left.
    pub(in crate::socket) const fn has_let_go(&self, so_many: u64) -> bool {
        so_many <= self.let_go
    }

    pub(in crate::socket) fn len(&self) -> usize {
        self.all().map(|lane| lane.calls.len()).into_iter().sum()
    }

    pub(in crate::socket) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much waits.
    pub(in crate::socket) fn bytes(&self) -> usize {
        self.all().map(|lane| lane.bytes).into_iter().sum()
    }

    const fn all(&self) -> [&Lane<T>; 3] {
        [&self.renewals, &self.awaited, &self.unawaited]
    }
}

impl<T> Lane<T> {
    fn pop(&mut self) -> Option<T> {
        let LaneItem { it, bytes, .. } = self.calls.pop_front()?;
        self.bytes -= bytes;
        Some(it)
    }

    /// The number of its first; after all others if it has none.
    fn came_first_at(&self) -> u64 {
        self.calls.front().map_or(u64::MAX, |call| call.number)
    }
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self {
            renewals: Lane::default(),
            awaited: Lane::default(),
            unawaited: Lane::default(),
            came: 0,
            let_go: 0,
            acquires_are_next: false,
            others: 0,
        }
    }
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { calls: VecDeque::new(), bytes: 0 }
    }
}

/// How many go between two that no caller waits for.
const OTHERS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// R for renewals, c for what callers wait for, d for what they do not.
    fn lanes(waiting: &str) -> Lanes<char> {
        let mut lanes = Lanes::default();
        for letter in waiting.chars() {
            let awaited = match letter {
                'R' => Priority::Renewal,
                'd' => Priority::Background,
                _ => Priority::Single,
            };
            lanes.push(letter, 10, awaited);
        }
        assert_eq!((lanes.len(), lanes.bytes()), (waiting.len(), 10 * waiting.len()));
        lanes
    }

    /// With A for each call of acquires.
    fn by_turns(waiting: &str, mut acquires: usize) -> String {
        let mut lanes = lanes(waiting);
        let next = || {
            let next = lanes.next(acquires > 0)?;
            acquires -= usize::from(next == NextToSend::Acquires);
            Some(if let NextToSend::Call(letter) = next { letter } else { 'A' })
        };
        let left = std::iter::from_fn(next).collect();
        assert_eq!((lanes.bytes(), acquires), (0, 0));
        left
    }

    #[test]
    fn lanes_go_by_turns_behind_renewals() {
        for (waiting, acquires, expected) in [
            ("", 0, ""),
            ("ccdR", 0, "Rccd"),
            ("cccccc", 3, "cAcAcAccc"),
            ("c", 3, "cAAA"),
            ("dd", 1, "Add"),
            ("ddddcccccccc", 0, "cccdcccdccdd"),
            ("dddcccRc", 4, "RcAcdAcAdcAd"),
        ] {
            assert_eq!(by_turns(waiting, acquires), expected, "{waiting} {acquires}");
        }
    }

    #[test]
    fn turn_goes_on_where_it_was_left() {
        let mut lanes = lanes("cc");
        assert_eq!(lanes.end(), 2);
        assert_eq!(lanes.next(false), Some(NextToSend::Call('c')));
        assert!(lanes.has_let_go(1) && !lanes.has_let_go(2));
        assert_eq!(lanes.next(true), Some(NextToSend::Acquires));
        assert_eq!(lanes.next(true), Some(NextToSend::Call('c')));
    }

    #[test]
    fn all_leave_as_they_came_where_there_is_room() {
        let came = "cdRRcddc";
        let mut lanes = lanes(came);
        assert_eq!(std::iter::from_fn(|| lanes.oldest()).collect::<String>(), came);
        assert!(lanes.is_empty() && lanes.bytes() == 0 && lanes.has_let_go(3));
    }
}
