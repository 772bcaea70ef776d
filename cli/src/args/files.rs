//! Files with settings, and the question what is set.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;
use crate::help;

/// Where settings stand that are neither options nor variables.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    #[arg(long, value_name = "FILE", help = help::options::CONFIG)]
    pub(crate) config: Option<PathBuf>,

    #[arg(long, value_name = "NAME", help = help::options::PROFILE)]
    pub(crate) profile: Option<String>,
}

/// Show which settings are in effect, and where each comes from
#[derive(Debug, Args)]
#[command(long_about = help::config::ABOUT, after_long_help = help::config::MORE)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) question: ConfigQuestion,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfigQuestion {
    Show(Box<ShowArgs>),
}

/// Show each setting, and where it comes from
#[derive(Debug, Args)]
#[command(long_about = help::config::SHOW_ABOUT, after_long_help = help::config::SHOW_MORE)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
