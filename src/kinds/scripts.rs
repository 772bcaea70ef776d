//! Every script of every kind.

use super::{
    counter, expirable, fair, fenced, latch, mutex, once, permits, rw, semaphore, usage::Use,
};
use crate::{acquire::turnstile, elections, periods, voting::marker, wire::Script};

/// What connections load in advance.
pub(crate) fn of_locks() -> Vec<&'static Script> {
    let all = mutex::script::SCRIPTS.into_iter().chain(fenced::script::SCRIPTS);
    all.chain(rw::script::SCRIPTS).chain(fair::script::SCRIPTS).chain(turnstile::SCRIPTS).collect()
}

/// What a server learns with the first call: few clients use all of it, and none is in a hurry.
#[cfg(any(test, feature = "embedded"))]
fn of_counters() -> impl Iterator<Item = &'static Script> {
    let numbers = counter::script::SCRIPTS.into_iter().chain(once::script::SCRIPTS);
    let numbers = numbers.chain(latch::script::SCRIPTS).chain(permits::script::SCRIPTS);
    let numbers = numbers.chain(semaphore::script::SCRIPTS).chain(expirable::script::SCRIPTS);
    let numbers = numbers.chain(periods::SCRIPTS).chain(elections::SCRIPTS);
    let numbers = numbers.chain([&fenced::script::LOOK]);
    numbers.chain(crate::presence::SCRIPTS).chain(super::revoking::script::SCRIPTS)
}

#[cfg(any(test, feature = "embedded"))]
fn all() -> Vec<&'static Script> {
    of_locks().into_iter().chain(of_counters()).collect()
}

/// Those that concern a lock of this sort, or a number.
pub(super) fn of(usage: Use) -> Vec<&'static Script> {
    let plain = mutex::script::SCRIPTS.into_iter().chain(periods::SCRIPTS);
    let alone = plain.clone().chain(turnstile::SCRIPTS);
    // Changes of numbers, which are made once.
    let counted = counter::script::SCRIPTS.into_iter().chain(once::script::SCRIPTS);
    let permits = counted.clone().chain(permits::script::SCRIPTS);
    match usage {
        Use::Lock => alone.collect(),
        Use::FencedLock => {
            alone.chain(fenced::script::SCRIPTS).chain([&fenced::script::LOOK]).collect()
        }
        Use::Election => of(Use::FencedLock).into_iter().chain(elections::SCRIPTS).collect(),
        Use::FairLock => plain.chain(fair::script::SCRIPTS).collect(),
        Use::RwLock => plain.chain(rw::script::SCRIPTS).collect(),
        Use::Semaphore => permits.chain(semaphore::script::SCRIPTS).collect(),
        Use::ExpirableSemaphore => permits.chain(expirable::script::SCRIPTS).collect(),
        Use::CountDownLatch => counted.chain(latch::script::SCRIPTS).collect(),
    }
}

/// Those that give back a hold that an operator has taken away.
pub(super) fn of_releases() -> [&'static Script; 3] {
    [&mutex::script::COUNT, &fair::script::RELEASE, &rw::script::COUNT]
}

/// Those about the mark in the data, behind which an acquire may stand.
pub(super) fn of_marks() -> impl Iterator<Item = &'static Script> {
    marker::SCRIPTS.into_iter()
}

/// All that are ever sent, each with its digest and what it is called.
#[cfg(feature = "embedded")]
pub(crate) fn named() -> impl Iterator<Item = (&'static str, String)> {
    let mark = marker::SCRIPTS.into_iter().map(|script| (script.text().sha, script.name.into()));
    let plain = all().into_iter().map(|script| (script.text().sha, script.name.into()));
    let checked = all().into_iter().filter(|script| script.grants);
    let checked = checked.map(|script| {
        (script.behind(marker::checked::CHECK).sha, format!("checked {}", script.name))
    });
    mark.chain(plain).chain(checked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::{Fencing, FencingToken, ServerQueue, Statements},
        lease::Lease,
        wire::{Batch, Call, Items, Publishing, test_answers::for_any_answer},
    };

    /// The header of a script documents each argument of a lock; the wrapper must agree.
    #[test]
    fn headers_name_as_many_arguments_as_the_wrapper_sends() {
        for script in all() {
            let named = script.source.lines().filter(|line| line.starts_with("--   ARGV["));
            let shared = script.source.lines().filter(|line| is_shared(line)).count();
            assert_eq!(named.count() - shared, script.args_per_lock, "{}", script.name);
        }
    }

    /// Whether a line documents an argument that is there once in a call: its place does not depend on i.
    fn is_shared(line: &str) -> bool {
        line.strip_prefix("--   ARGV[")
            .is_some_and(|rest| rest.split(']').next().is_some_and(|place| !place.contains('i')))
    }

    #[test]
    fn scripts_have_a_digest_of_their_own() {
        let digests: std::collections::BTreeSet<_> =
            all().into_iter().map(|script| script.text().sha).collect();
        assert_eq!(digests.len(), all().len());
        assert!(digests.iter().all(|digest| digest.len() == 40));
    }

    /// The one word by which they differ, wherever it stands.
    #[test]
    fn scripts_that_publish_do_so_by_shard_where_that_is_wanted() {
        let code = |text: &str| -> String {
            let is_code = |line: &&str| !line.trim_start().starts_with("--");
            text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
        };
        let publishing = all().into_iter().filter(|script| code(script.source).contains("PUBLISH"));
        let publishing: Vec<_> = publishing.collect();
        assert!(publishing.len() > 10, "{}", publishing.len());
        for script in all() {
            for plain in [script.text(), script.behind(marker::checked::CHECK)] {
                let sharded = plain.publishing(Publishing::Sharded);
                assert_eq!(plain.publishing(Publishing::Broadcast).source, plain.source);
                let others = code(sharded.source).replace("call('SPUBLISH', ", "");
                assert!(!others.contains("PUBLISH"), "{}: {others}", script.name);
                assert_eq!(sharded.source.replace("'SPUBLISH'", "'PUBLISH'"), plain.source);
                assert_eq!(sharded.sha == plain.sha, sharded.source == plain.source);
                assert_eq!(sharded.sha, sha1_smol::Sha1::from(sharded.source).digest().to_string());
            }
        }
    }

    #[test]
    fn answers_of_any_shape_are_decoded_or_refused() {
        let (day, holder) = (std::time::Duration::from_secs(86_400), "me".into());
        let term = Lease::Watchdog.term(day, day).unwrap();
        let mutex = mutex::script::Mutex::new("x");
        let inspect = mutex::script::Inspect { name: "x".into() };
        let fenced = fenced::script::Fenced::member("x");
        let counter = fenced::script::CounterLook::at(&"x".into());
        let fair = fair::script::Fair::new("x");
        let read = counter::script::Read { name: "x".into() };
        let look = latch::script::Latch::new(&"x".into()).look();
        let store = permits::script::Store::new(&"x".into(), "y".into());
        let holders = semaphore::script::PermitHolders { store: store.clone() };
        let leased = expirable::script::LeasedPermitHolders { store, clock_skew: day };
        let change = once::script::ChangeRequest {
            change: latch::script::Latch::new(&"x".into()).count_down(),
            once: "once".into(),
            not_after: 0,
        };
        let place = fair.keep_place(&holder);
        let (pass, leave) =
            (turnstile::Pass::new("x", &holder), turnstile::Leave::new("x", &holder, true));
        let renewal = mutex.renew(&holder, 1_000);
        let token = FencingToken::of(1).unwrap();
        let promotion = fenced.promote(&holder, token, term);
        let batch = Batch::new(renewal.script, vec![renewal.clone(); 3]);
        for_any_answer(|answer| {
            let items = || Items::of(answer.clone());
            drop(items().map(|items| inspect.decode(items)));
            drop(items().map(|items| counter.decode(items)));
            drop(items().map(|items| fair.waiting().decode(items)));
            drop(items().map(|items| read.decode(items)));
            drop(items().map(|items| look.decode(items)));
            drop(items().map(|items| holders.decode(items)));
            drop(items().map(|items| leased.decode(items)));
            drop(items().map(|items| change.decode(items)));
            drop(items().map(|items| place.decode(items)));
            drop(items().map(|items| batch.decode(items)));
            drop(items().map(|items| pass.decode(items)));
            drop(items().map(|items| leave.decode(items)));
            drop(items().map(|items| promotion.decode(items)));
        });
    }
}
