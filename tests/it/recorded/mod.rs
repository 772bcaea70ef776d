//! What the library says to each server, word by word: some thirty scenarios, recorded.
//!
//! Processes, servers, chance and time are simulated, so the same is said each time. What a change
//! of the library does to it shows as a difference to `expected.txt`. If that is what was wanted,
//! `PALISADE_RECORD=1` has the file written anew; the test fails then, so that nothing passes by
//! writing its own expectations.

mod blessings;
mod fair;
mod fencing;
mod golden;
mod leases;
mod members;
mod pipe;
mod readers;
mod reentry;
mod single;
mod stage;
mod trouble;
mod words;

use futures::future::{BoxFuture, FutureExt};

use self::{golden::Section, stage::Stage, words::Greetings};

/// What is done on a stage.
struct Scenario {
    name: &'static str,
    play: for<'a> fn(&'a Stage) -> BoxFuture<'a, ()>,
}

macro_rules! scenarios {
    ($($room:ident::$name:ident),+ $(,)?) => {
        &[$(Scenario {
            name: concat!(stringify!($room), "::", stringify!($name)),
            play: |stage| $room::$name(stage).boxed(),
        }),+]
    };
}

/// The first shows in full how a connection is greeted; in the others that is one line.
const SCENARIOS: &[Scenario] = scenarios![
    single::handed_over_between_processes,
    single::acquired_and_released,
    single::dropped,
    single::waited_for_in_one_process,
    single::refused,
    single::waited_for_in_vain,
    single::inspected,
    reentry::by_the_guard,
    reentry::by_the_owner,
    reentry::with_a_longer_lease,
    leases::fixed,
    leases::renewed,
    leases::renewed_in_one_batch,
    leases::orphaned,
    trouble::forced_open,
    trouble::foreign_key,
    trouble::scripts_forgotten,
    trouble::cancelled_under_way,
    trouble::shut_down_while_held,
    fencing::alone,
    fencing::reentered,
    fencing::of_all,
    fencing::agreed_in_one_round,
    fencing::counters_that_disagree,
    members::all_of_three,
    members::two_names_on_one_server,
    members::contended_in_order,
    members::majority_of_three,
    members::majority_of_five,
    members::majority_with_one_down,
    members::majority_refused_by_two,
    members::majority_healed,
    readers::read_by_two_and_written,
    readers::writer_waits_for_a_reader,
    readers::writer_downgraded,
    fair::granted_in_order_to_two_processes,
    fair::waited_for_in_vain,
    fair::place_kept,
    blessings::waited_out_by_the_strict,
    blessings::given_and_looked_at,
];

#[test]
fn the_library_says_to_its_servers_what_it_said_before() {
    let mut greetings = Greetings::default();
    let played = SCENARIOS.iter().map(|scenario| {
        let lines = stage::perform(scenario, &mut greetings);
        Section { name: scenario.name.to_owned(), lines }
    });
    golden::compare(&played.collect::<Vec<_>>());
}
