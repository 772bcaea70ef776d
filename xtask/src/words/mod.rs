//! Counts what makes prose hard to read: sentences about persons, and long ones.
//!
//! A sentence about a person makes the reader look for the thing that is meant: `whoever waits` is a task, a process
//! or a user. So the subject is the thing, and `tests/it/tidy` keeps the count of the others low.

mod sentences;

use std::path::Path;
use std::process::ExitCode;

use sentences::Sentence;

/// From here on a sentence has to be read twice.
const LONG: usize = 30;

/// Prints the totals, and with `list` each sentence that is to be written anew.
pub(crate) fn run(list: bool) -> Result<ExitCode, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let all = sentences::of_workspace(&root).map_err(|reason| reason.to_string())?;
    let public: Vec<_> = all.iter().filter(|sentence| sentence.is_public).collect();
    if list {
        for sentence in all.iter().filter(|sentence| sentence.leans_on_a_person()) {
            tell("person", sentence);
        }
        for sentence in public.iter().filter(|sentence| sentence.words() > LONG) {
            tell("long", sentence);
        }
    }
    let leaning = all.iter().filter(|sentence| sentence.leans_on_a_person()).count();
    let words: usize = public.iter().map(|sentence| sentence.words()).sum();
    let long = public.iter().filter(|sentence| sentence.words() > LONG).count();
    println!("{leaning} of {} sentences lean on a person", all.len());
    println!(
        "public docs and doors: {} sentences, {:.1} words each, {:.1} % above {LONG} words",
        public.len(),
        ratio(words, public.len()),
        100.0 * ratio(long, public.len()),
    );
    Ok(ExitCode::SUCCESS)
}

fn tell(why: &str, sentence: &Sentence) {
    println!("{}:{}: {why}: {}", sentence.file, sentence.line, sentence.text);
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
