//! `palisade inspect --last`: the last run that is recorded, server by server.

use palisade::error::InspectError;

use crate::{
    args::InspectArgs,
    exit::{self, Failure},
    inspect::cause,
    print,
    servers::Servers,
};

/// Asks all servers and prints what they say.
pub(crate) async fn last(args: &InspectArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let (mut text, mut answered) = (String::new(), 0);
    for client in servers.masters().clients() {
        let told = match client.lock(&args.name).last_run().await {
            Ok(run) => {
                answered += 1;
                run.map_or_else(|| "no run is recorded".to_owned(), |run| run.to_string())
            }
            Err(InspectError::Config(error)) => return Err(Failure::usage(error)),
            Err(error) => cause(&error),
        };
        text.push_str(&format!("{}: {told}\n", client.node_id()));
    }
    let printed = print(&text);
    servers.close().await;
    printed?;
    if 2 * answered > servers.len() {
        return Ok(0);
    }
    let asked = servers.len();
    Err(Failure::new(exit::UNAVAILABLE, format_args!("{answered} of {asked} servers answered")))
}
