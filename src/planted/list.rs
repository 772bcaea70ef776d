//! Every bug that can be planted, entered here and nowhere else.
//!
//! The list is handed to a macro. Of it the library makes its `Bug` (`bugs.rs`), `cargo xtask planted`
//! what it plants, and `cargo xtask proofs` the page `docs/maintain/planted.md`. The tests include this
//! file too.
//!
//! An entry is
//!
//! ```text
//! Variant = "its-name": "What the library does then."
//!     breaks ["invariant"], found by FINDER;
//! ```
//!
//! - `Variant` is what `planted!(Variant)` asks for, where the code would go wrong. The file is not
//!   entered: it is read from the sources, and so it cannot be a wrong one.
//! - `breaks` has the names of invariants in `docs/maintain/invariants.md`. It is empty for a promise
//!   that is none of those.
//! - `simulation("I1", 144)`: the check that fails first, and after how many seeds in one run.
//!   `periods("I15", 3)`: the same where it is about jobs that run once for a period, `guarded("I17", 2)` about
//!   guarded scripts, `leases("I1", 7)` about clients whose longest leases differ.
//!   `test("rw::waiting")`: the tests with this in their name. `chaos_blocking("kept", 20)`: real
//!   servers and processes that block their runtimes, the check, and after how many seconds.

/// Hands the list to a macro.
macro_rules! every_bug {
    ($then:ident) => {
        $then! {
            NoDrift = "no-drift": "A lease is counted in full, as if no two clocks ever parted."
                breaks ["lost-at-deadline"], found by simulation("I1", 144);
            QuorumMinusOne = "quorum-minus-one": "Half of the masters are a majority."
                breaks [], found by simulation("I2", 1);
            WallClock = "wall-clock": "Leases are measured by the time of day."
                breaks ["lost-at-deadline"], found by simulation("I5", 4);
            NonStrictPromote = "non-strict-promote": "A counter is set to the holder's token, even if the lock has another holder by then."
                breaks ["counter-rises"], found by simulation("I2", 371);
            NoQuarantine = "no-quarantine": "A master votes at once after a restart."
                breaks ["no-forgetful-vote"], found by simulation("I1", 1043);
            TtlUnchecked = "ttl-unchecked": "Any lease is sent as it is."
                breaks [], found by simulation("conduct", 2);
            TimedOutNotReleased = "timed-out-not-released": "A member that did not answer is not released."
                breaks ["three-answers"], found by simulation("I6", 10);
            GhostStampOff = "ghost-stamp-off": "An acquire may be executed at any time."
                breaks ["no-blind-resend"], found by simulation("I6", 1);
            NoSecondLook = "no-second-look": "What happened between the refusal and the subscription is not looked at."
                breaks ["wake-up-is-hint"], found by simulation("I4", 55);
            ReleaseStopsAtError = "release-stops-at-error": "The members are released one by one until the first that fails."
                breaks [], found by simulation("I4", 55);
            GoneStillCounts = "gone-still-counts": "A member that does not know the hold any more still confirms it."
                breaks ["no-answer-no-movement"], found by simulation("I5", 15);
            WatchdogOnUsersRuntime = "watchdog-on-users-runtime": "Renewals wait for the user's runtime."
                breaks [], found by chaos_blocking("kept", 20);
            MarkNotCompared = "mark-not-compared": "An acquire does not compare the mark in the data."
                breaks ["no-forgetful-vote"], found by simulation("I1", 313);
            BrokenSocketNotRetried = "broken-socket-not-retried": "What met a broken socket is not said again."
                breaks ["no-blind-resend"], found by simulation("conduct", 577);
            NoHurry = "no-hurry": "What is held at a server that came back is renewed when it is due."
                breaks [], found by simulation("I5", 541);
            NoWitness = "no-witness": "Whether a run of a server has had a mark before is not looked at."
                breaks ["mark-adds-waiting"], found by simulation("I1", 220);
            BatchNotHalved = "batch-not-halved": "One key that is refused fails all locks that are renewed with it."
                breaks ["three-answers"], found by simulation("kept", 157);
            BatchesByAddress = "batches-by-address": "What is held at one address is renewed together, with the rights of any of its users."
                breaks [], found by simulation("conduct", 53);
            GuardedHoldPassedOn = "guarded-hold-passed-on": "A hold is passed on though a script of its last user may still be executed."
                breaks [], found by test("guarded::passing_on");
            ToldIsVerdict = "told-is-verdict": "What a server tells of a key ends its holds."
                breaks [], found by test("tracking::what_is_told_is_no_verdict");
            GapNotLookedAt = "gap-not-looked-at": "What may have changed while nothing was told is not looked at."
                breaks [], found by test("tracking::streaks::holds_are_looked_at_once_the_connection_is_back");
            LookRenews = "look-renews": "A look renews what it looks at, and so has all that share it told again."
                breaks [], found by test("tracking::fixed_lease_that_was_cut_short");
            NotReadAgain = "not-read-again": "A key that was told of is looked at, and not read again: its next change is not told."
                breaks [], found by test("tracking::key_is_read_again");
            HandoverAfterDeadline = "handover-after-deadline": "What is passed on inside a process counts as granted at that moment."
                breaks ["offer-taken-or-back", "no-answer-no-movement"], found by simulation("I1", 2935);
            HandoverBeyondLimit = "handover-beyond-limit": "A lock stays with a process for as long as there are waiters in it."
                breaks [], found by simulation("I10", 2427);
            OfferNeverWithdrawn = "offer-never-withdrawn": "What is offered to a waiter that does not come stays offered."
                breaks ["offer-taken-or-back"], found by simulation("I4", 54);
            FormerOwnerEnters = "former-owner-enters": "An owner that had a hold enters it again, even if another has it now."
                breaks ["fresh-holder"], found by simulation("I1", 5);
            AnnouncementLost = "announcement-lost": "A release counts as announced whether or not it was."
                breaks [], found by simulation("I10", 231);
            BatchOutcomesShifted = "batch-outcomes-shifted": "Each lock of a call is told what became of the next one."
                breaks ["three-answers"], found by simulation("I1", 68);
            ValidityFromTheAnswer = "validity-from-the-answer": "A lease counts from when the answer came."
                breaks ["no-answer-no-movement"], found by simulation("I1", 95);
            WithdrawnAfterNoscript = "withdrawn-after-noscript": "An acquire that was given up is sent again with others whose call was refused."
                breaks ["one-sender"], found by simulation("I11", 76);
            ReleaseAheadOfHeal = "release-ahead-of-heal": "An acquire that waits, as a heal may, is sent behind the release of its hold."
                breaks ["final-release"], found by simulation("I11", 117);
            DowngradeDeletesFirst = "downgrade-deletes-first": "A writer that becomes a reader is released first."
                breaks ["ttl-not-shortened"], found by simulation("I1", 42);
            IntentBeforeOwnField = "intent-before-own-field": "The wish of a writer keeps out readers that are in already."
                breaks [], found by test("rw::waiting");
            OnceKeyRemoved = "once-key-removed": "What is kept of a change is deleted while a second copy of it may be on its way."
                breaks ["no-blind-resend"], found by test("latch::outage");
            WaiterNotWithdrawn = "waiter-not-withdrawn": "A waiter that gives up stays in the queue."
                breaks [], found by simulation("I4", 16);
            FairPlacesOfOneTurn = "fair-places-of-one-turn": "A place lasts as long as that of the first, wherever it is."
                breaks [], found by test("fair::redisson");
            HeadJudgedWithoutScore = "head-judged-without-score": "The first in a queue is judged by what was noted of it, whatever it has done since."
                breaks [], found by test("fair::redisson");
            PermitRolledBackTwice = "permit-rolled-back-twice": "Permits are given back whether or not they were held."
                breaks [], found by simulation("I13", 2);
            ScoreWithoutSkew = "score-without-skew": "A permit ends when its lease does, by whatever clock."
                breaks [], found by test("expirable::redisson");
            RunNotCompared = "run-not-compared": "The mark of another run passes for that of a promoted replica."
                breaks ["no-forgetful-vote"], found by simulation("I1", 829);
            MarkTakenUnraised = "mark-taken-unraised": "After a look that only reads, votes are asked for by a mark that tells a lesser wait than the client's."
                breaks ["mark-adds-waiting"], found by leases("I1", 113);
            RefusedRaises = "refused-raises": "A client that is refused for its leases has all others wait as long as those."
                breaks [], found by test("quarantine::markers::client_with_longer_leases");
            MissingNotRewritten = "missing-not-rewritten": "A hold that a promoted replica lacks is lost."
                breaks ["no-forgetful-vote"], found by simulation("kept", 1382);
            NoResubscribe = "no-resubscribe": "A channel stays subscribed where its slot was."
                breaks ["wake-up-is-hint"], found by test("deployment::sharded::waiter_listens_where");
            MovedSentBlindly = "moved-sent-blindly": "What met a broken socket of a cluster is sent on, as if nothing had been executed."
                breaks ["no-blind-resend"], found by test("deployment::cluster::lock_that_may_have");
            RenewalNamesMissingKey = "renewal-names-missing-key": "A renewal names a key that need not exist."
                breaks [], found by test("deployment::moving_slots::slot_that_is_half");
            ReplidNotCompared = "replid-not-compared": "An acquire does not compare the name of the data's history."
                breaks ["no-forgetful-vote"], found by test("deployment::promoted::over_and_back");
            RecordNotLookedAt = "record-not-looked-at": "Whether a run is recorded is looked at before the lock is held, and not under it."
                breaks [], found by periods("I15", 1);
            RecordOfMinority = "record-of-minority": "A record on one server counts as one on all."
                breaks [], found by periods("I15", 17);
            GuardNotLookedAt = "guard-not-looked-at": "A guarded script, as those of records are, is executed whether or not the hold stands."
                breaks [], found by guarded("I17", 11);
            TermPassedOn = "term-passed-on": "A hold that leads is passed on inside the process, with the id that its leader announced."
                breaks [], found by test("elections::terms::a_term_is_not_passed_on");
            AnnouncementOfAnother = "announcement-of-another": "What a leader before has announced is shown of the one that holds the lock now."
                breaks [], found by test("elections::terms::a_value_is_that_of_the_leader");
        }
    };
}
