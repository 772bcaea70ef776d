//! A run is what its seed says, whatever ran before it in the same process; and a few of
//! them keep every promise. Many more are run by `cargo xtask sim`.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use simulation::{Options, Outcome, Topic, run};

fn traced(seed: u64) -> Outcome {
    let mut options = Options::default();
    options.trace = true;
    // Every other one byte by byte.
    options.tcp = seed.is_multiple_of(2);
    run(seed, &options)
}

#[test]
fn a_seed_gives_the_same_run_each_time() {
    let seeds = 1_000..1_006;
    let first: Vec<_> = seeds.clone().map(traced).collect();
    // In another order, after others, and with another thing to do on the side.
    for (seed, first) in seeds.rev().zip(first.iter().rev()) {
        let again = traced(seed);
        assert_eq!(first.trace, again.trace, "seed {seed}");
        assert_eq!(first.history, again.history, "seed {seed}");
        assert_eq!(first.fingerprint, again.fingerprint, "seed {seed}");
        let mut options = Options::default();
        options.tcp = seed.is_multiple_of(2);
        let untraced = run(seed, &options);
        assert_eq!(first.fingerprint, untraced.fingerprint, "seed {seed} without a trace");
    }
    let all: std::collections::BTreeSet<_> = first.iter().map(|run| run.fingerprint).collect();
    assert_eq!(all.len(), first.len(), "different seeds differ");
}

#[test]
fn threads_do_not_disturb_each_other() {
    let seed = 77;
    let runs: Vec<_> = (0..4).map(|_| std::thread::spawn(move || traced(seed))).collect();
    let runs: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
    for run in &runs {
        assert_eq!(run.trace, runs.first().unwrap().trace);
    }
}

#[test]
fn some_seeds_keep_every_promise() {
    for seed in 0..12_u64 {
        let mut options = Options::default();
        options.tcp = seed.is_multiple_of(3);
        let outcome = run(seed, &options);
        assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
    }
}

/// Each of its minutes has one recorded run, and no more: more would be a violation, as would be none.
#[test]
fn hosts_with_a_schedule_run_their_job_once_a_minute() {
    let (mut done, mut not_due) = (0, 0);
    for seed in 0..12_u64 {
        let mut options = Options::default();
        options.topic = Topic::Periods;
        options.tcp = seed.is_multiple_of(3);
        let outcome = run(seed, &options);
        assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
        assert!(outcome.simulated.as_secs() > 500, "seed {seed}: {:?}", outcome.simulated);
        done += outcome.coverage.of("period: done");
        not_due += outcome.coverage.of("period: not due");
    }
    // The process of a run that is recorded may not live to hear of it.
    assert!((100..=120).contains(&done), "{done} of 120 minutes");
    assert!(not_due > 2 * done, "{not_due} later triggers found a record");
}

/// Here 24 callers hold one lock one after the other for 26 of 30 seconds, and it is passed on all the time.
#[test]
fn many_callers_of_one_lock_are_waited_for() {
    let outcome = run(7_370, &Options::default());
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.violations);
}

/// A server restarts without its data, and one reader is written there again before the next one asks: that one is
/// written again, too.
#[test]
fn readers_are_written_again_whichever_was_first() {
    for seed in [42_266, 46_544] {
        let outcome = run(seed, &Options::default());
        assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
    }
}
