//! Two processes play the same: nothing of a process, its id, its addresses or the order of its
//! hash maps, reaches a run.

use std::process::Command;

fn play(args: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_palisade-simulation"));
    let output = program.args(args.split_whitespace()).output().expect("the program can be run");
    String::from_utf8(output.stdout).expect("it writes text")
}

/// The line in which `first` and `second` differ, as each has it.
fn difference<'a>(first: &'a str, second: &'a str) -> Option<(&'a str, &'a str)> {
    let differ = first.lines().zip(second.lines()).find(|(one, other)| one != other);
    differ.or_else(|| (first != second).then_some(("", "one goes on")))
}

#[test]
fn a_seed_is_the_same_in_every_process() {
    for seed in [4, 4_711, 4_712] {
        for more in ["", "--tcp", "--periods"] {
            let args = format!("--seed {seed} --trace {more}");
            let (first, second) = (play(&args), play(&args));
            assert!(first.contains(&format!("seed {seed}: fingerprint")), "{first}");
            assert_eq!(difference(&first, &second), None, "{args}");
            let untraced = play(&format!("--seed {seed} {more}"));
            assert!(first.ends_with(&untraced), "{args}: {untraced}");
        }
    }
}
