//! The operator's word, asked for on a terminal.

use std::io::{self, IsTerminal};

use crate::{exit::Failure, tell};

/// Whether there is an operator to ask.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether the answer to the question is yes.
pub(crate) fn is_yes(question: &str) -> Result<bool, Failure> {
    tell(format_args!("{question} Type yes:"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| Failure::system("no answer", error))?;
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}
