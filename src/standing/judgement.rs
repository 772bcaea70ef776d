// keeps: deciders-pure
//! What the mark on a server says about its vote, and what is to be written. Pure.

use std::{sync::Arc, time::Duration};

use super::{
    identity::{LONGEST_WAIT, usual_length},
    mark::{Mark, Origin},
};
use crate::clock::Instant;

/// What was seen of a server at one look, in this order: its mark, whether it knows the witness of
/// this run, which run it is, and its clock.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) found: Found,
    /// Whether this run has had a mark in this database.
    pub(crate) has_witness: bool,
    /// Whether that was asked by with a D of our class.
    pub(crate) has_own_witness: bool,
    pub(crate) origin: Origin,
    /// In µs of the clock by which the mark counts.
    pub(crate) server_time: i64,
    /// How far ahead of that the server's own clock is at least, in µs: 0 but in a cluster, where another
    /// one has the mark.
    pub(crate) ahead: i64,
    /// When the answer came, by our clock.
    pub(crate) at: Instant,
}

/// What stands where a mark is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Mark(Mark),
    /// Something that is no mark.
    Foreign,
}

/// What a client brings to a look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Whether a mark of this run was seen before.
    pub(crate) knew: bool,
    /// Whether the process has been running for longer than D.
    pub(crate) is_old: bool,
    /// Whether a server waits that shows no mark at all, however old it is.
    pub(crate) is_strict: bool,
    /// Our own D: for how long a server waits.
    pub(crate) wait: Duration,
    /// The greatest that is known of any client there; at least our own.
    pub(crate) greatest: Duration,
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The mark is of this data. It is taken as it is, whatever mark was known.
    Stands,
    /// The same, but it has the server wait for longer than it may: its clock was set back. It is
    /// written anew.
    Overlong,
    /// The mark is of this data, but of clients with a lesser D than ours: it is to tell ours before we ask
    /// by it, so that they wait as long as our leases last.
    Brief,
    /// The mark is of this data, and tells of a D that no client can have.
    Absurd,
    /// This is not the data on which this run has granted: the server is to wait, from now on.
    Lost,
    /// Nothing is known against this data, and the process is old: the first mark of the run.
    First,
    /// Nothing is known against this data, and the process is young. Nothing is written: a call
    /// that blesses the server wants to find no mark.
    Young,
    /// The key is not ours.
    Foreign,
}

impl Sight {
    pub(crate) fn judge(&self, view: View) -> Judgement {
        let mark = match &self.found {
            Found::Foreign => return Judgement::Foreign,
            Found::Mark(mark) => Some(mark),
            Found::Nothing => None,
        };
        if let Some(mark) = mark.filter(|mark| mark.is_current(self.origin, self.server_time)) {
            return self.judge_current(mark, view.wait);
        }
        let first_contact = view.is_strict && mark.is_none();
        let has_witness = self.has_witness && !planted!(NoWitness);
        if has_witness || view.knew || self.origin.is_fed || first_contact {
            Judgement::Lost
        } else if view.is_old {
            Judgement::First
        } else {
            Judgement::Young
        }
    }

    /// By its own D, not by that of the client that looks: others may have longer leases.
    fn judge_current(&self, mark: &Mark, own: Duration) -> Judgement {
        let wait = mark.wait().unwrap_or(own);
        let latest = self.server_time.saturating_add(micros(wait));
        if wait > LONGEST_WAIT {
            Judgement::Absurd
        } else if mark.waits_until().is_some_and(|until| until > latest) {
            Judgement::Overlong
        } else if told_by(mark, own) < own {
            Judgement::Brief
        } else {
            Judgement::Stands
        }
    }

    /// What is to be written after this judgement, and for how long the server waits from then on, if it does.
    pub(crate) fn remedy(
        &self,
        judgement: Judgement,
        view: View,
        nonce: &str,
    ) -> Option<(Arc<str>, Option<Duration>)> {
        let View { wait: own, greatest, .. } = view;
        match judgement {
            Judgement::Lost => Some((self.origin.waits(nonce, greatest), Some(greatest))),
            Judgement::First => Some((self.origin.epoch(nonce, greatest), None)),
            Judgement::Overlong => {
                let wait = self.mark()?.wait().map_or(own, |wait| wait.max(own));
                Some((self.origin.waits(nonce, wait), Some(wait)))
            }
            Judgement::Brief => {
                let mark = self.mark()?;
                let more = micros(own.saturating_sub(told_by(mark, own)));
                let latest = self.server_time.saturating_add(micros(own));
                let until = mark.waits_until().unwrap_or(0).saturating_add(more).min(latest);
                Some((self.origin.renewed(mark, nonce, own, until), None))
            }
            _ => None,
        }
    }

    /// The mark that was found.
    pub(crate) fn mark(&self) -> Option<&Mark> {
        if let Found::Mark(mark) = &self.found { Some(mark) } else { None }
    }

    /// The text that was found; empty for none.
    pub(crate) fn text(&self) -> Arc<str> {
        self.mark().map_or_else(|| "".into(), |mark| mark.text().clone())
    }
}

/// The D of the clients that ask by this mark. Earlier versions do not tell: most of them go by the
/// defaults.
fn told_by(mark: &Mark, own: Duration) -> Duration {
    mark.wait().unwrap_or_else(|| own.min(usual_length()))
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{super::run_id::RunId, *};

    const D: Duration = Duration::from_millis(66_600);
    const NOW: i64 = 1_000_000_000;

    fn id(letter: char) -> RunId {
        RunId::new(&letter.to_string().repeat(40)).unwrap()
    }

    fn sight(found: Option<String>, has_witness: bool, is_fed: bool) -> Sight {
        let found = match found {
            None => Found::Nothing,
            Some(text) => Mark::read(&text).map_or(Found::Foreign, Found::Mark),
        };
        let (run_id, replid) = (id('a'), Some(id('b')));
        let origin = Origin { run_id, replid, was_renamed: is_fed, is_fed, config: None, db: 0 };
        let at = Instant::from_origin(Duration::ZERO);
        Sight {
            found,
            has_witness,
            has_own_witness: has_witness,
            origin,
            server_time: NOW,
            ahead: 0,
            at,
        }
    }

    const LAX: View = View { knew: false, is_old: true, is_strict: false, wait: D, greatest: D };

    /// All that is asked for besides the mark itself: witness, known mark, fed, age, strictness.
    fn views() -> impl Iterator<Item = (bool, bool, View)> {
        (0_u8..32).map(|bits| {
            let bit = |i: u8| bits & (1 << i) != 0;
            let view = View { knew: bit(2), is_old: bit(3), is_strict: bit(4), ..LAX };
            (bit(0), bit(1), view)
        })
    }

    #[test]
    fn mark_of_this_data_stands_whatever_else_is_known() {
        let (run, replid) = (id('a'), id('b'));
        let far = NOW + 66_600_000;
        for text in [
            format!("epoch {run} {replid} n"),
            format!("blessed {run} {replid} 60000 f"),
            format!("waits {run} {replid} n 1"),
            format!("waits {run} {replid} n {far}"),
            format!("waits {far}"),
        ] {
            for (witness, fed, view) in views() {
                let judged = sight(Some(text.clone()), witness, fed).judge(view);
                assert_eq!(judged, Judgement::Stands, "{text} {view:?}");
            }
        }
    }

    #[test]
    fn wait_of_an_earlier_version_stands_unless_its_run_was_fed_since_it_was_over() {
        for (witness, fed, view) in views() {
            let expected = if fed { Judgement::Lost } else { Judgement::Stands };
            let judged = sight(Some("waits 1".to_owned()), witness, fed).judge(view);
            assert_eq!(judged, expected, "{view:?}");
        }
    }

    #[test]
    fn wait_beyond_d_is_written_anew() {
        let beyond = NOW + 66_600_001;
        let texts =
            [format!("waits {} {} n {beyond}", id('a'), id('b')), format!("waits {beyond}")];
        for text in texts {
            for (witness, fed, view) in views() {
                let judged = sight(Some(text.clone()), witness, fed).judge(view);
                assert_eq!(judged, Judgement::Overlong, "{text}");
            }
        }
    }

    // proves: mark-adds-waiting
    #[test]
    fn none_or_another_runs_mark_is_judged_by_what_is_known_of_the_run() {
        let others = [
            None,
            Some(format!("epoch {} {} n", id('c'), id('b'))),
            Some(format!("waits {} {} n 1", id('c'), id('b'))),
            Some(format!("blessed {} {} 60000 f", id('c'), id('b'))),
            Some(format!("blessed {} 60000 f", id('c'))),
        ];
        for text in others {
            for (witness, fed, view) in views() {
                let strictly = view.is_strict && text.is_none();
                let expected = match (witness || view.knew || fed || strictly, view.is_old) {
                    (true, _) => Judgement::Lost,
                    (false, true) => Judgement::First,
                    (false, false) => Judgement::Young,
                };
                let judged = sight(text.clone(), witness, fed).judge(view);
                assert_eq!(judged, expected, "{text:?} {witness} {fed} {view:?}");
            }
        }
    }

    #[test]
    fn mark_of_this_run_on_other_data_is_a_loss_once_the_run_was_fed() {
        let other_data = format!("epoch {} {} n", id('a'), id('c'));
        let old_text = format!("blessed {} 60000 f", id('a'));
        for text in [other_data, old_text] {
            assert_eq!(
                sight(Some(text.clone()), false, true).judge(LAX),
                Judgement::Lost,
                "{text}"
            );
            assert_eq!(sight(Some(text), false, false).judge(LAX), Judgement::Stands);
        }
    }

    /// What stands, what becomes of it, and the D of the client that looks, in seconds from now on.
    #[test]
    fn greater_d_goes_into_the_mark_and_moves_its_wait_by_the_difference() {
        let (run, replid) = (id('a'), id('b'));
        let head = |sort: &str| format!("{sort} {run} {replid}");
        let at = |seconds: i64| NOW + seconds * 1_000_000;
        for (found, own, becomes) in [
            (format!("{} n/100000/0", head("epoch")), 100, None),
            (format!("{} n/100000/0", head("epoch")), 66, None),
            (
                format!("{} n/100000/0", head("epoch")),
                101,
                Some(format!("{} m/101000/0", head("epoch"))),
            ),
            (format!("{} n", head("epoch")), 66, None),
            (format!("{} n", head("epoch")), 101, Some(format!("{} m/101000/0", head("epoch")))),
            (
                format!("{} 60000 f/100000/0", head("blessed")),
                101,
                Some(format!("{} 60000 f/101000/0", head("blessed"))),
            ),
            (format!("{} n/100000/0 {}", head("waits"), at(100)), 66, None),
            (
                format!("{} n/100000/0 {}", head("waits"), at(70)),
                110,
                Some(format!("{} m/110000/0 {}", head("waits"), at(80))),
            ),
            (
                format!("{} n/100000/0 {}", head("waits"), at(-20)),
                110,
                Some(format!("{} m/110000/0 {}", head("waits"), at(-10))),
            ),
            // An earlier version's, of whatever D: not beyond ours.
            (
                format!("{} n {}", head("waits"), at(100)),
                110,
                Some(format!("{} m/110000/0 {}", head("waits"), at(110))),
            ),
        ] {
            let wait = Duration::from_secs(own);
            let view = View { wait, greatest: wait, ..LAX };
            let sight = sight(Some(found.clone()), true, false);
            let judgement = sight.judge(view);
            let expected = if becomes.is_some() { Judgement::Brief } else { Judgement::Stands };
            assert_eq!(judgement, expected, "{found} {own}");
            let written = sight.remedy(judgement, view, "m");
            assert_eq!(written, becomes.map(|text| (text.into(), None)), "{found} {own}");
        }
    }

    #[test]
    fn wait_that_is_too_long_by_the_marks_own_d_is_made_as_long_as_that() {
        let head = format!("waits {} {}", id('a'), id('b'));
        for (wait, own, becomes) in
            [(100, 66, 100), (100, 100, 100), (100, 110, 110), (3_600, 66, 3_600)]
        {
            let until =
                |more: i64| format!("{head} n/{wait}000/0 {}", NOW + wait * 1_000_000 + more);
            let own = Duration::from_secs(own);
            let view = View { wait: own, greatest: own, ..LAX };
            let overlong = sight(Some(until(1)), true, false);
            assert_eq!(overlong.judge(view), Judgement::Overlong);
            let text = format!("{head} m/{becomes}000/0");
            let written = Some((text.into(), Some(Duration::from_secs(becomes))));
            assert_eq!(overlong.remedy(Judgement::Overlong, view, "m"), written);
            assert_ne!(sight(Some(until(0)), true, false).judge(view), Judgement::Overlong);
        }
    }

    #[test]
    fn d_that_nobody_can_have_is_not_waited_for() {
        let days = |days: u64| format!("epoch {} - n/{}/0", id('a'), days * 86_400_000);
        assert_eq!(sight(Some(days(3)), true, false).judge(LAX), Judgement::Stands);
        assert_eq!(sight(Some(days(5)), true, false).judge(LAX), Judgement::Absurd);
    }

    #[test]
    fn lost_data_is_waited_for_as_long_as_anybodys_leases_last() {
        let view = View { greatest: 2 * D, ..LAX };
        let lost = sight(None, true, false);
        let (text, wait) = lost.remedy(lost.judge(view), view, "n").unwrap();
        assert_eq!((&*text, wait), (&*lost.origin.waits("n", 2 * D), Some(2 * D)));
        let swapped = format!("epoch {} {} n/66600/1", id('a'), id('b'));
        assert_eq!(sight(Some(swapped), true, false).judge(LAX), Judgement::Lost);
    }

    #[test]
    fn what_is_no_mark_is_left_alone() {
        for (witness, fed, view) in views() {
            let judged = sight(Some("curses".to_owned()), witness, fed).judge(view);
            assert_eq!(judged, Judgement::Foreign);
        }
    }

    #[test]
    fn what_was_found_is_known_to_whoever_replaces_it() {
        let epoch = format!("epoch {} {} n", id('a'), id('b'));
        for (found, text) in [(None, ""), (Some(&*epoch), &*epoch), (Some("curses"), "")] {
            let sight = sight(found.map(str::to_owned), true, false);
            assert_eq!(&*sight.text(), text);
            assert_eq!(sight.mark().map(|mark| &**mark.text()), found.filter(|_| !text.is_empty()));
        }
    }
}
