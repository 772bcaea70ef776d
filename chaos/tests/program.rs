//! The program itself, on real servers and processes, for a few seconds.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn run(args: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_palisade-chaos"));
    program.args(args.split_whitespace()).output().expect("the program can be run")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_worker_that_ignores_the_locks_is_found_now_and_in_the_kept_history() {
    let found = run("--seed 1 --secs 5 --planted no-lock");
    let said = text(&found);
    assert_eq!(found.status.code(), Some(1), "{said}");
    assert!(said.contains("I1 exclusion") && said.contains("I3 no lost update"), "{said}");
    let kept = said.lines().find_map(|line| line.strip_prefix("history: ")).expect(&said);
    let again = run(&format!("check {kept}"));
    assert_eq!(again.status.code(), Some(1));
    let summary =
        |said: &str| said.lines().find(|line| line.contains(" violations (")).map(str::to_owned);
    assert_eq!(summary(&text(&again)), summary(&said));
    let page =
        fs::read_to_string(Path::new(kept).with_extension("html")).expect("a page beside it");
    assert!(page.contains("</svg>") && page.contains("class=\"violation\""), "{page}");
    let folder = Path::new(kept).parent().expect("a kept history lies in a folder");
    fs::remove_dir_all(folder).expect("a kept history can be removed");
}

#[test]
fn a_short_run_ends_without_violations_and_leaves_no_folder() {
    let ended = run("--seed 1 --secs 5 --masters 5");
    let said = text(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("\n0 violations\n"), "{said}");
    assert!(!said.contains("history: "), "{said}");
    let [first, last] = [said.lines().next(), said.lines().rev().nth(1)];
    assert_eq!(first, last, "the seed comes first and last");
}

#[test]
fn short_runs_of_other_profiles_end_without_violations() {
    for profile in ["failover", "resharding"] {
        let ended = run(&format!("--profile {profile} --seed 2 --secs 8"));
        let said = text(&ended);
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(said.contains("\n0 violations\n"), "{said}");
        let again = format!("again: cargo xtask chaos --seed 2 --secs 8 --profile {profile} ");
        assert!(said.contains(&again), "{said}");
    }
}

/// Two holds are halted, one in each way, and a halt lasts until another has written.
const SETS: &str = "--profile lock-set --seed 92 --additions 200 --masters 1 --sets 1 --workers 4";

#[test]
fn guarded_additions_to_a_set_outlast_halted_holds() {
    let ended = run(&format!("{SETS} --no-kills"));
    let said = text(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("200 additions, guarded"), "{said}");
    assert_eq!(figure(&said, "in which another wrote meanwhile"), 2, "{said}");
    assert_eq!(figure(&said, "acknowledged and missing"), 0, "{said}");
    assert_eq!(figure(&said, "refused: lost before"), 1, "{said}");
    assert!(figure(&said, "acknowledged") <= 198, "what was halted is not written: {said}");
}

#[test]
fn guarded_additions_to_sets_outlast_masters_that_are_killed() {
    let ended =
        run("--profile lock-set --seed 217 --additions 300 --masters 2 --sets 4 --workers 8");
    let said = text(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(figure(&said, "masters killed") > 0, "{said}");
    assert_eq!(figure(&said, "acknowledged and missing"), 0, "{said}");
}

#[test]
fn plain_additions_to_a_set_are_lost_by_a_halted_hold() {
    let found = run(&format!("{SETS} --no-kills --plain"));
    let said = text(&found);
    assert_eq!(found.status.code(), Some(1), "{said}");
    assert_eq!(figure(&said, "in which another wrote meanwhile"), 2, "{said}");
    assert!(figure(&said, "acknowledged and missing") > 0, "{said}");
    assert!(said.contains(", and is not there\n"), "{said}");
}

/// What stands behind this in a report.
fn figure(said: &str, label: &str) -> u32 {
    let rest = |line: &str| line.trim().strip_prefix(label).map(|rest| rest.trim().parse());
    said.lines().filter_map(rest).find_map(Result::ok).expect(said)
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_the_usage() {
    let refused = run("--masters 4");
    assert_eq!(refused.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("usage: palisade-chaos"));
}
