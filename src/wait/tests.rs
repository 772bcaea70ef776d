//! Lines, and what is offered in them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    HandoverTerms, Offered, Overdue,
    line::{Attention, HeadSignal, Line, Summons},
};
use crate::{clock::Instant, lease::Lease};

/// Counts how often it was given back.
#[derive(Debug, Default)]
struct Hold(AtomicU32);

impl Offered for Hold {
    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn terms(sort: u64) -> HandoverTerms {
    let (day, lease) = (Duration::from_secs(86_400), Lease::Watchdog);
    HandoverTerms { lease: lease.term(day, day).expect("an allowed lease"), sort }
}

fn summons(line: &Line<Hold>, place: u64) -> &'static str {
    match line.poll_summons(place, &Context::from_waker(Waker::noop())) {
        Poll::Pending => "waits",
        Poll::Ready(Summons::First) => "first",
        Poll::Ready(Summons::Offer(_)) => "offer",
        Poll::Ready(Summons::Closed) => "closed",
    }
}

#[test]
fn places_come_in_order_and_one_that_is_left_is_passed_over() {
    let line = Line::<Hold>::default();
    let places = [(); 3].map(|()| line.join(None).0);
    assert_eq!(places.map(|place| summons(&line, place)), ["first", "waits", "waits"]);
    assert!(!line.leave(places[1]) && !line.leave(places[0]));
    assert_eq!(summons(&line, places[2]), "first");
    assert!(line.leave(places[2]), "it was the last");
}

#[test]
fn offer_is_for_the_first_and_on_its_terms_alone() {
    let line = Line::<Hold>::default();
    let hold = Arc::new(Hold::default());
    assert!(line.offer(terms(1), hold.clone()).is_err(), "nobody is there");
    let places = [Some(terms(1)), Some(terms(2)), None].map(|takes| line.join(takes).0);
    assert!(line.offer(terms(2), hold.clone()).is_err(), "on other terms");
    assert_eq!(line.offer(terms(1), hold.clone()).ok(), Some(Some(1)));
    assert!(line.offer(terms(1), hold.clone()).is_err(), "one at a time");
    assert_eq!(places.map(|place| summons(&line, place)), ["offer", "waits", "waits"]);
    line.leave(places[0]);
    assert_eq!(line.offer(terms(2), hold.clone()).ok(), Some(None), "it is watched already");
    line.leave(places[1]);
    assert_eq!(Arc::strong_count(&hold), 1, "given back, since the next takes nothing");
    assert_eq!(summons(&line, places[2]), "first");
}

#[test]
fn whoever_comes_to_be_first_or_to_be_offered_something_is_woken() {
    let line = Line::<Hold>::default();
    let hold = Arc::new(Hold::default());
    let places = [(); 3].map(|()| (line.join(Some(terms(1))).0, Arc::new(Woken::default())));
    let looks = |(place, woken): &(u64, Arc<Woken>)| {
        let waker = woken.clone().into();
        let _summons = line.poll_summons(*place, &Context::from_waker(&waker));
    };
    places.iter().for_each(looks);
    line.leave(places[0].0);
    assert_eq!(places.each_ref().map(|(_, woken)| woken.times()), [0, 1, 0], "the first left");
    looks(&places[1]);
    assert!(line.offer(terms(1), hold).is_ok());
    assert_eq!(places.each_ref().map(|(_, woken)| woken.times()), [0, 2, 0], "an offer");
    line.leave(places[1].0);
    assert_eq!(places.each_ref().map(|(_, woken)| woken.times()), [0, 2, 1], "passed on");
}

/// No message of a server need come: a waiter that polls hears none.
#[test]
fn first_who_sleeps_is_woken_when_the_lock_is_released_here() {
    let line = Line::<Hold>::default();
    let places = [(); 2].map(|()| (line.join(None).0, Arc::new(Woken::default())));
    let wakers = places.each_ref().map(|(_, woken)| Waker::from(woken.clone()));
    let [first, next] = wakers.each_ref().map(Context::from_waker);
    assert!(line.poll_word(places[0].0, &first).is_pending());
    assert!(line.poll_summons(places[1].0, &next).is_pending());
    line.released(Instant::from_origin(Duration::ZERO), false);
    assert_eq!(places.each_ref().map(|(_, woken)| woken.times()), [1, 0]);
    assert!(matches!(line.poll_word(places[0].0, &first), Poll::Ready(HeadSignal::Released)));
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Woken {
    fn times(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

// proves: offer-taken-or-back
#[test]
fn offer_that_is_not_taken_is_withdrawn_once_it_is_old() {
    let line = Line::<Hold>::default();
    let hold = Arc::new(Hold::default());
    let places = [(); 2].map(|()| line.join(Some(terms(1))).0);
    assert_eq!(line.offer(terms(1), hold.clone()).ok(), Some(Some(1)));
    assert!(matches!(line.withdraw(0), Overdue::LookAgain(1)), "it is younger");
    assert!(matches!(line.withdraw(1), Overdue::GiveBack(_)), "nobody took it");
    assert_eq!(summons(&line, places[1]), "first", "the one before is passed over");
    assert_eq!(summons(&line, places[0]), "first", "until it comes");
    assert_eq!(summons(&line, places[1]), "waits");
    assert!(matches!(line.withdraw(1), Overdue::Nothing));
    assert_eq!(line.offer(terms(1), hold).ok(), Some(Some(2)), "and is watched anew");
}

#[test]
fn first_who_does_not_come_when_it_is_called_is_passed_over() {
    let line = Line::<Hold>::default();
    let first = line.join(None);
    assert_eq!(first, (0, false), "nobody waits behind it");
    assert_eq!(line.look_after_first(), None);
    let places = [0, line.join(None).0, line.join(None).0];
    assert_eq!(line.look_after_first(), Some(Attention::Later), "it is called");
    assert_eq!(summons(&line, places[0]), "first");
    assert_eq!(line.look_after_first(), Some(Attention::Later), "it had come");
    assert_eq!(line.look_after_first(), Some(Attention::Soon), "not this time");
    assert_eq!(summons(&line, places[1]), "first");
    assert_eq!(line.look_after_first(), Some(Attention::Later));
    assert_eq!(summons(&line, places[0]), "first", "here it is");
    line.leave(places[0]);
    line.leave(places[1]);
    assert_eq!(line.look_after_first(), None, "one is left");
    assert!(line.join(None).1, "and is looked after again");
}

#[test]
fn those_who_do_not_come_are_passed_over_many_at_a_time() {
    let line = Line::<Hold>::default();
    let last = (0..1_000).map(|_| line.join(None).0).last().unwrap();
    let looks = (1..).find(|_| {
        line.look_after_first();
        summons(&line, last) == "first"
    });
    assert_eq!(looks, Some(6));
}

#[test]
fn all_who_wait_are_told_that_the_line_is_closed() {
    let line = Line::<Hold>::default();
    let places = [(); 3].map(|()| (line.join(None).0, Arc::new(Woken::default())));
    for (place, woken) in &places {
        let waker = woken.clone().into();
        let _waits = line.poll_summons(*place, &Context::from_waker(&waker));
    }
    line.close();
    assert_eq!(places.each_ref().map(|(_, woken)| woken.times()), [1; 3]);
    assert_eq!(places.map(|(place, _)| summons(&line, place)), ["closed"; 3]);
    let late = line.join(None).0;
    assert_eq!(summons(&line, late), "closed");
}

/// In which order threads may come.
#[cfg(shuttle)]
mod orders {
    use shuttle::thread;

    use super::*;
    use crate::sync::{Mutex, in_many_orders};

    /// Had by the waiter that took it, or given back: what comes first.
    #[derive(Debug, Default)]
    struct OneEnd(Mutex<Ends>);

    #[derive(Debug, Default)]
    struct Ends {
        is_had: bool,
        given_back: u32,
    }

    impl OneEnd {
        /// False if it was given back before.
        fn have(&self) -> bool {
            let mut ends = self.0.lock().expect("nobody panics");
            ends.is_had = ends.given_back == 0;
            ends.is_had
        }

        fn given_back(&self) -> u32 {
            self.0.lock().expect("nobody panics").given_back
        }
    }

    impl Offered for OneEnd {
        fn give_back(&self) {
            let mut ends = self.0.lock().expect("nobody panics");
            ends.given_back += u32::from(!ends.is_had);
        }
    }

    // proves: offer-taken-or-back
    /// One takes, one leaves and one withdraws at the same time: a hold that is offered is one
    /// waiter's, or given back once.
    #[test]
    fn offer_has_one_end_whoever_comes_first() {
        in_many_orders(4_000, || {
            let line = Arc::new(Line::<OneEnd>::default());
            let places = [(); 2].map(|()| line.join(Some(terms(1))).0);
            let hold = Arc::new(OneEnd::default());
            let offers = {
                let (line, what) = (line.clone(), hold.clone());
                thread::spawn(move || {
                    // There may be no waiter any more.
                    let Ok(number) = line.offer(terms(1), what) else { return false };
                    let mut number = number.expect("nobody watches yet");
                    loop {
                        match line.withdraw(number) {
                            Overdue::Nothing => return true,
                            Overdue::LookAgain(next) => number = next,
                            Overdue::Taken => {
                                let taken = line.withdraw_taken(number);
                                taken.into_iter().for_each(|what| what.give_back());
                            }
                            Overdue::GiveBack(what) => what.give_back(),
                        }
                    }
                })
            };
            let waits = places.map(|place| {
                let (line, hold) = (line.clone(), hold.clone());
                thread::spawn(move || {
                    let cx = Context::from_waker(Waker::noop());
                    let summons = line.poll_summons(place, &cx);
                    let is_had = matches!(summons, Poll::Ready(Summons::Offer(_))) && hold.have();
                    line.leave(place);
                    is_had
                })
            });
            let had = waits.map(|thread| thread.join().expect("it does not panic"));
            let was_offered = offers.join().expect("it does not panic");
            let had = had.into_iter().map(u32::from).sum::<u32>();
            assert_eq!(had + hold.given_back(), u32::from(was_offered));
        });
    }
}
