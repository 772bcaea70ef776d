//! The pages that `cargo xtask proofs` writes are those of today's sources.

use std::fs;

use super::root;
use crate::proofs;

#[test]
fn pages_say_what_proves_each_invariant_today() {
    let pages = proofs::pages(&root()).unwrap_or_else(|wrong| panic!("{wrong}"));
    for page in pages {
        let there = fs::read_to_string(root().join(page.path)).unwrap_or_default();
        assert!(there == page.text, "{}: write it anew by `cargo xtask proofs`", page.path);
    }
}
