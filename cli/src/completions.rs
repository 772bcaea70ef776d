//! `palisade completions`: what a shell completes words by.

use clap_complete::{Shell, generate};

use crate::{
    args::{CompletingShell, CompletionsArgs},
    command,
    exit::Failure,
    print,
};

/// Prints it.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let shell = match args.shell {
        CompletingShell::Bash => Shell::Bash,
        CompletingShell::Zsh => Shell::Zsh,
        CompletingShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut command(), "palisade", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
