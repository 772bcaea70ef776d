//! Where nothing is done to servers and processes, a lock that is renewed is not lost: whatever its
//! holder does to its own runtime, renewals do not wait for that.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Section},
    spans::Span,
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut records = history.records.iter();
    if !records.any(|record| record.event == Event::Undisturbed) {
        return Vec::new();
    }
    history.sections.iter().filter(|section| section.renewed).filter_map(lost).collect()
}

fn lost(section: &Section) -> Option<Violation> {
    let hold = section.hold.as_ref()?;
    let at = hold.lost.as_ref().map(|loss| loss.at).or(hold.withheld)?;
    Some(Violation {
        invariant: Invariant::Kept,
        lock: Some(section.lock.clone()),
        span: Span::new(hold.granted, at),
        what: format!("{} lost a lock that was renewed, and nothing was broken", section.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    #[test]
    fn a_loss_without_a_fault_is_found() {
        let lost = || {
            Story::new().section("w0.0/0#1", |s| {
                s.asked(0).granted(5, 1_000).lost(900).releasing(905).released(910)
            })
        };
        assert_eq!(check(&lost().history()), []);
        assert_eq!(check(&lost().and(1, Event::Undisturbed).history()).len(), 1);
        let kept = Story::new().section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(90));
        assert_eq!(check(&kept.and(1, Event::Undisturbed).history()), []);
    }
}
