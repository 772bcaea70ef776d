//! `palisade doctor`: how the servers are, and what a crash of one of them would cost.

mod finding;
mod problem;
mod usable;
mod verdict;
mod wait_safe;

use self::{finding::Finding, problem::Allowance, usable::Usable};
use crate::{
    args::DoctorArgs,
    examine::{CLOCK_SKEW, Examined, examine_all, one_server_twice},
    exit::Failure,
    print, refusal,
    servers::Servers,
    to_json,
};

pub(crate) use self::verdict::Deployment;

/// Examines all servers and prints what there is to say.
pub(crate) async fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    if args.wait_safe.is_some() {
        let judged = wait_safe::wait_safe(args, &servers).await;
        servers.close().await;
        return judged;
    }
    let clients = servers.masters().clients();
    let examined = examine_all(clients).await?;
    refuse_one_server_twice(&examined)?;
    let usable = Usable::ask(args, clients, &examined).await?;
    servers.close().await;
    let rule = Deployment::of(&servers, args.all);
    let skew = servers.clock_skew().unwrap_or(CLOCK_SKEW);
    let allowance = Allowance { skew, lag: servers.failover_lag() };
    let finding = Finding::of(&examined, &usable, &rule, &allowance);
    print(&if args.json { to_json(&finding)? } else { finding.to_string() })?;
    let (answered, asked) = (finding.answered(), finding.asked());
    if 2 * answered <= asked {
        let why = format_args!("{answered} of {asked} servers answered");
        let codes = examined.iter().filter_map(|one| Some(one.answer.as_ref().err()?.code));
        return Err(Failure::new(refusal::of_too_few(codes), why));
    }
    Ok(u8::from(finding.has_problems()))
}

/// As every acquire refuses them: what is said of their votes would be of another fleet.
fn refuse_one_server_twice(examined: &[Examined]) -> Result<(), Failure> {
    one_server_twice(examined).map_or(Ok(()), |(one, other)| {
        Err(Failure::usage(format_args!(
            "{one} and {other} are the same server: each is to be named once"
        )))
    })
}
