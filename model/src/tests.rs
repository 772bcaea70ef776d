//! Each rule's counterexample, and small settings in which the protocol holds.

use crate::{
    configs::SMALL,
    explorer::{Sometimes, Verdict, explore},
    removed::{self, REMOVED, Removed},
    setting::Setting,
    trace,
};

/// The trace is printed; `--nocapture` shows it.
fn must_break(case: &Removed) {
    let Setting { name, .. } = case.setting;
    match explore(&case.setting).verdict {
        Verdict::Holds => panic!("{name}: no counterexample"),
        Verdict::Violates { property, trace } => {
            println!("{name}\n{}", trace::tell(&case.setting, &trace, property));
            assert!(case.breaks.contains(&property), "{name} breaks {property:?}");
        }
    }
}

fn must_hold(setting: &Setting) -> Sometimes {
    let report = explore(setting);
    if let Verdict::Violates { property, trace } = report.verdict {
        panic!("{}\n{}", setting.name, trace::tell(setting, &trace, property));
    }
    report.sometimes
}

/// A test for each: `name => CASE` says what happens without the rule.
macro_rules! removed_rules {
    ($($name:ident => $case:ident,)*) => {
        $(
            #[test]
            fn $name() {
                must_break(&removed::$case);
            }
        )*

        #[test]
        fn every_removed_rule_has_its_test() {
            assert_eq!([$(removed::$case.setting.name),*].len(), REMOVED.len());
        }
    };
}

removed_rules! {
    one_grant_too_few_lets_two_hold => QUORUM,
    greatest_counter_alone_repeats_a_token => WRITE_BACK,
    clock_hints_do_not_replace_the_write_back => WRITE_BACK_WITH_CLOCKS,
    promote_that_lowers_a_counter_repeats_a_token => PROMOTE_BELOW,
    promote_on_a_strangers_key_repeats_a_token => PROMOTE_OWNER,
    counter_deleted_on_release_repeats_a_token => COUNTER_KEPT,
    reentry_that_raises_the_counter_changes_the_token => REENTRY,
    restart_without_quarantine_lets_two_hold => QUARANTINE,
    restart_without_quarantine_breaks_tokens => QUARANTINE_FOR_TOKENS,
    hint_of_a_fast_clock_outlives_a_restart_without_clamp => CLAMP,
    bless_of_a_half_young_fleet_lets_two_hold => BLESS,
    bless_of_a_fleet_started_bit_by_bit_lets_two_hold => BLESS_STAGGERED,
    token_on_members_that_no_longer_vouch_is_overtaken => TOKEN_WHERE_VOUCHED,
    deadline_of_a_gone_member_kept_lets_two_hold => GONE,
    heal_that_counts_inside_the_quarantine_lets_two_hold => HEALS_WAIT,
    hold_written_again_where_only_others_vouched_lets_two_hold => REWRITTEN_BY_OTHERS,
    hold_written_again_by_old_votes_lets_two_hold => REWRITTEN_BY_OLD_VOTES,
    heals_do_not_replace_the_quarantine => HEALS_WITHOUT_QUARANTINE,
    heal_after_the_loss_revives_a_hold => LOSS,
    release_that_forgets_heals_leaves_a_key => HEALS_COUNTED,
    release_taken_for_final_too_early_leaves_a_key => FINAL_RELEASE,
    ghost_without_stamp_leaves_a_key => STAMP,
    quarantine_shorter_than_twice_the_skew_breaks_tokens => SHORT_QUARANTINE,
    clock_behind_by_more_than_the_skew_breaks_tokens => CLOCK_BEHIND,
    acquire_that_does_not_compare_the_mark_lets_two_hold => MARK_COMPARED,
    newcomer_without_a_witness_lets_two_hold => WITNESS,
    restart_without_quarantine_lets_a_writer_meet_readers => QUARANTINE_FOR_SIDES,
    downgrade_that_deletes_first_lets_a_writer_in => DOWNGRADE_AT_ONCE,
    heal_of_a_reader_beside_a_writer_lets_both_hold => WRITER_REFUSES_HEALS,
}

/// The small settings reach everything that the properties are about.
#[test]
fn protocol_holds_in_all_small_settings() {
    let mut all = Sometimes::default();
    for setting in SMALL {
        let seen = must_hold(setting);
        assert!(seen.wins > 0, "{}: nobody ever held the lock", setting.name);
        all = all.and(seen);
    }
    let Sometimes { wins, promotes, heals, rewrites, ghosts, survived } = all;
    assert!(
        [wins, promotes, heals, rewrites, ghosts, survived].iter().all(|seen| *seen > 0),
        "{all}"
    );
}

#[test]
fn hints_lifted_by_servers_need_no_clock_of_clients() {
    must_hold(&removed::LIFTED);
}
