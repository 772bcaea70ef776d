//! Sets of time: when something was the case. Pure.

use std::time::Duration;

use crate::time::Time;

/// From one instant up to, and without, another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Time,
    pub to: Time,
}

impl Span {
    /// Empty if `to` is not after `from`.
    pub const fn new(from: Time, to: Time) -> Self {
        Self { from, to }
    }

    pub fn length(self) -> Duration {
        self.to.since(self.from)
    }

    pub fn is_empty(self) -> bool {
        self.to <= self.from
    }

    pub fn overlaps(self, other: Self) -> bool {
        !self.common(other).is_empty()
    }

    /// What both cover.
    pub fn common(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// The shortest span that covers both.
    pub fn around(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// A set of time.
///
/// # Invariants
/// The spans are sorted, not empty, and do not touch each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }

    /// What lies in either.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// What lies in both.
    pub fn intersection(&self, other: &Self) -> Self {
        at_least(2, self.iter().chain(other.iter()))
    }

    /// What lies in this and not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut holes = other.0.iter().peekable();
        for span in self.iter() {
            let mut from = span.from;
            while let Some(hole) = holes.next_if(|hole| hole.to <= span.to) {
                left.push(Span::new(from, hole.from));
                from = from.max(hole.to);
            }
            // A hole that goes on beyond this span may also cut the next: it stays in `holes`.
            let to = holes.peek().map_or(span.to, |hole| hole.from.min(span.to));
            left.push(Span::new(from, to));
        }
        left.into_iter().collect()
    }

    /// How much of `span` is covered.
    pub fn within(&self, span: Span) -> Duration {
        self.iter().map(|one| one.common(span).length()).sum()
    }
}

/// Spans in any order, empty and overlapping ones too.
impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        at_least(1, spans)
    }
}

/// When at least `n` of the spans are the case at once.
pub fn at_least(n: usize, spans: impl IntoIterator<Item = Span>) -> Spans {
    let edges = spans.into_iter().filter(|span| !span.is_empty());
    let mut edges: Vec<_> = edges.flat_map(|span| [(span.from, 0), (span.to, 1)]).collect();
    // Beginnings (0) before endings (1), so that spans that touch become one.
    edges.sort_unstable();
    let (mut open, mut since, mut found) = (0, None, Vec::new());
    for (at, edge) in edges {
        if edge == 0 {
            open += 1;
            if open == n {
                since = Some(at);
            }
        } else {
            if open == n {
                found.extend(since.take().map(|from| Span::new(from, at)));
            }
            open -= 1;
        }
    }
    found.retain(|span| !span.is_empty());
    Spans(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span((from, to): (u64, u64)) -> Span {
        Span::new(Time::from_micros(from), Time::from_micros(to))
    }

    fn spans<const N: usize>(all: [(u64, u64); N]) -> Spans {
        all.map(span).into_iter().collect()
    }

    #[test]
    fn collected_spans_are_sorted_and_merged() {
        let merged = spans([(5, 9), (1, 3), (3, 4), (6, 7), (8, 12), (20, 20), (31, 30)]);
        assert_eq!(merged.0, [span((1, 4)), span((5, 12))]);
    }

    #[test]
    fn sets_are_combined() {
        let (a, b) = (spans([(0, 10), (20, 30)]), spans([(5, 22), (28, 40)]));
        assert_eq!(a.union(&b), spans([(0, 40)]));
        assert_eq!(a.intersection(&b), spans([(5, 10), (20, 22), (28, 30)]));
        assert_eq!(a.without(&b), spans([(0, 5), (22, 28)]));
        assert_eq!(b.without(&a), spans([(10, 20), (30, 40)]));
        assert_eq!(a.without(&Spans::default()), a);
        assert_eq!(a.without(&a), Spans::default());
    }

    #[test]
    fn a_hole_over_several_spans_cuts_each() {
        let a = spans([(0, 10), (12, 14), (16, 30)]);
        assert_eq!(a.without(&spans([(8, 20), (25, 26)])), spans([(0, 8), (20, 25), (26, 30)]));
        assert_eq!(a.without(&spans([(2, 3), (4, 5)])).0.len(), 5);
    }

    #[test]
    fn sets_agree_with_a_bitmap() {
        let mut random = crate::random::Random::new(1);
        let mut draw = || -> Spans {
            (0..6)
                .map(|_| {
                    let from = random.below(60);
                    span((from, from + random.below(12)))
                })
                .collect()
        };
        let has = |set: &Spans, at: u64| !set.within(span((at, at + 1))).is_zero();
        for _ in 0..500 {
            let (a, b) = (draw(), draw());
            let (union, common, rest) = (a.union(&b), a.intersection(&b), a.without(&b));
            for at in 0..80 {
                assert_eq!(has(&union, at), has(&a, at) || has(&b, at));
                assert_eq!(has(&common, at), has(&a, at) && has(&b, at));
                assert_eq!(has(&rest, at), has(&a, at) && !has(&b, at));
            }
        }
    }

    #[test]
    fn the_covered_part_of_a_span_is_measured() {
        let set = spans([(0, 10), (20, 30)]);
        assert_eq!(set.within(span((5, 25))), Duration::from_micros(10));
        assert_eq!(set.within(span((12, 18))), Duration::ZERO);
    }

    #[test]
    fn two_of_three_are_counted() {
        let all = [(0, 10), (5, 15), (12, 20)].map(span);
        assert_eq!(at_least(2, all), spans([(5, 10), (12, 15)]));
        assert_eq!(at_least(3, all), Spans::default());
    }
}
