//! What a shell is told of the tool.

use clap::{Args, ValueEnum};

use crate::help;

/// Print what a shell completes words of palisade by
#[derive(Debug, Args)]
#[command(long_about = help::completions::ABOUT, after_long_help = help::completions::MORE)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: CompletingShell,
}

/// A shell that completes words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletingShell {
    Bash,
    Zsh,
    Fish,
}
