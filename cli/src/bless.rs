//! `palisade bless`: the operator's word that a fleet is new and has forgotten nothing.

use palisade::error::BlessError;

use crate::{
    args::BlessArgs,
    duration,
    exit::{self, Failure},
    refusal, said,
    servers::Servers,
    tell, word,
};

/// Blesses all servers, or says why not.
pub(crate) async fn bless(args: &BlessArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let blessed = with_the_word(args, &servers).await;
    servers.close().await;
    blessed?;
    let number = servers.len();
    let them = if number == 1 { "the server votes" } else { "the servers vote" };
    tell(format_args!("blessed: {them} at once, until the next restart"));
    Ok(0)
}

/// Shows what is known of the servers, and blesses them if that is the operator's word.
async fn with_the_word(args: &BlessArgs, servers: &Servers) -> Result<(), Failure> {
    match servers.masters().check_bless().await {
        Ok(uptimes) => {
            for (server, uptime) in uptimes {
                let up = duration::show_roughly(uptime);
                tell(format_args!("{server}: running for {up}, no mark of an earlier vote"));
            }
        }
        Err(error) if args.force && refusal::of_bless(&error) == exit::NOT_NEW => {
            tell(format_args!("against it speaks: {error}"));
        }
        Err(error) => return Err(refused(&error)),
    }
    give_word(args)?;
    servers.bless(args.force).await.map_err(|error| refused(&error))
}

/// Servers that come back after a crash look new as well: whether they are is not to be seen, and no script knows it.
fn give_word(args: &BlessArgs) -> Result<(), Failure> {
    if args.new || args.force && !word::is_at_terminal() {
        return Ok(());
    }
    if !word::is_at_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask at; --new says that these servers never held a lock (those that come back \
             after a crash look new too: wait for them)",
        ));
    }
    if word::is_yes("did these servers never hold a lock, not even before a crash?")? {
        return Ok(());
    }
    Err(Failure::new(exit::NOT_NEW, "not blessed: their votes count by themselves after a while"))
}

fn refused(error: &BlessError) -> Failure {
    match refusal::of_bless(error) {
        code @ exit::NOT_NEW => {
            Failure::new(code, format_args!("{error}; see `palisade bless --help`"))
        }
        code => Failure::new(code, said(error)),
    }
}
