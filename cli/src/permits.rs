//! `palisade permits`: how many commands may run at once under one name.

use serde::Serialize;

use crate::{args::PermitsArgs, exit::Failure, print_json, refusal, said, servers::Servers, tell};

/// What was set. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Permits<'a> {
    name: &'a str,
    permits: u32,
    /// Below zero if more are held than there are to be.
    left: i64,
}

/// Sets how many permits there are, those that are held included.
pub(crate) async fn permits(args: &PermitsArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let [client] = servers.masters().clients() else {
        return Err(Failure::usage("permits are counted on one server: name one"));
    };
    let (name, of) = (&args.name, args.number);
    let set = client.expirable_semaphore(name).set_permits(of).await;
    servers.close().await;
    let left = set.map_err(|error| Failure::new(refusal::of_change(&error), said(&error)))?;
    if args.json {
        print_json(&Permits { name, permits: of, left })?;
    }
    if left < 0 {
        let more = left.unsigned_abs();
        tell(format_args!(
            "{name} has {of} permits, and {more} more are held: none is granted until those have come back"
        ));
    } else {
        tell(format_args!("{name} has {of} permits, of which {left} are left"));
    }
    Ok(0)
}
