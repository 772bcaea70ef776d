//! `palisade bless`: the operator's word that a fleet is new and has forgotten nothing.

use palisade::error::BlessError;

use crate::{
    args::BlessArgs,
    exit::{self, Failure},
    servers::Servers,
    tell,
};

/// Blesses all servers, or says why not.
pub(crate) async fn bless(args: &BlessArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let blessed = servers.bless(args.force).await;
    servers.close().await;
    blessed.map_err(|error| refused(&error))?;
    let number = servers.len();
    let them = if number == 1 { "the server votes" } else { "the servers vote" };
    tell(format_args!("blessed: {them} at once, until the next restart"));
    Ok(0)
}

fn refused(error: &BlessError) -> Failure {
    match error {
        BlessError::Config(_) => Failure::usage(error),
        BlessError::Node { .. } | BlessError::NotWritten { .. } => {
            Failure::new(exit::UNAVAILABLE, error)
        }
        _ => Failure::new(exit::NOT_NEW, format_args!("{error}; see `palisade bless --help`")),
    }
}
