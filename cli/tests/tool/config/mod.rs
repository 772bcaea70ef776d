//! What is set in files: where they are found, what comes first, and what is refused.

mod precedence;
mod refusals;
mod secrets;

use std::path::Path;

use crate::support::tool::{Finished, Tool, palisade};

const CONFIGURATION: i32 = 78;

/// `palisade config show --json` with these words and this file.
fn show(file: &Path, words: &str) -> Tool {
    let mut all = vec!["config", "show", "--json", "--config", file.to_str().expect("UTF-8")];
    all.extend(words.split_whitespace());
    palisade(&all)
}

fn json(finished: &Finished) -> serde_json::Value {
    assert_eq!(finished.code(), 0, "{finished:?}");
    serde_json::from_str(&finished.output.join("\n")).expect("JSON")
}

/// A setting's value, and where it comes from.
fn told(finished: &Finished, key: &str) -> (serde_json::Value, String) {
    let shown = json(finished);
    let of = |field: &str| shown.pointer(&format!("/settings/{key}/{field}")).cloned();
    let from = ["variable", "line", "from"].into_iter().find_map(of).expect("a place");
    (of("value").expect("a value"), from.to_string().replace('"', ""))
}
