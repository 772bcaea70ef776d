//! Comments and docs are about things, and in sentences that need one reading: `cargo xtask words --list` shows which are
//! not.

#[path = "../../../xtask/src/words/sentences.rs"]
mod sentences;

use sentences::Sentence;

use super::root;

/// Some speak of users, and may.
const LEANING: usize = 30;
/// Words in a sentence that has to be read twice.
const LONG: usize = 30;

fn all() -> Vec<Sentence> {
    sentences::of_workspace(&root()).unwrap()
}

#[test]
fn few_sentences_lean_on_a_person() {
    let all = all();
    assert!(all.len() > 10_000, "{} sentences were found", all.len());
    let leaning: Vec<_> = all.iter().filter(|sentence| sentence.leans_on_a_person()).collect();
    let shown = |it: &&Sentence| format!("{}:{}: {}", it.file, it.line, it.text);
    let list = leaning.iter().map(shown).collect::<Vec<_>>().join("\n");
    assert!(leaning.len() <= LEANING, "{} lean on a person:\n{list}", leaning.len());
}

#[test]
fn sentences_that_users_read_are_short() {
    let all = all();
    let lengths: Vec<_> = all.iter().filter(|it| it.is_public).map(Sentence::words).collect();
    let long = lengths.iter().filter(|words| **words > LONG).count();
    assert!(lengths.len() > 1_000, "{} sentences were found", lengths.len());
    assert!(lengths.iter().sum::<usize>() <= 20 * lengths.len(), "more than 20 words on average");
    assert!(long * 20 <= lengths.len(), "{long} of {} have more than {LONG} words", lengths.len());
}
