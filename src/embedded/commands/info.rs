//! INFO.

use std::fmt::Write as _;

use super::super::resp::{CommandResult, Reply};
use super::super::state::{EngineState, NO_HISTORY};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[Spec::command("info", -1, info)];

/// The version whose behaviour is followed.
pub(super) const VERSION: &str = "7.0.15";

/// A section: its name, whether it is shown unasked, and its lines.
type Section = (&'static str, bool, fn(&EngineState) -> String);

const SECTIONS: [Section; 6] = [
    ("Server", true, server),
    ("Clients", true, clients),
    ("Persistence", true, |_| "loading:0\r\naof_enabled:0\r\n".to_owned()),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("Commandstats", false, commandstats),
];

fn info(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let asked: Vec<_> = (1..args.len()).map(|index| args.lower(index)).collect();
    let any = |names: &[&str]| asked.iter().any(|asked| names.contains(&asked.as_str()));
    let usual = asked.is_empty() || any(&["default", "all", "everything"]);
    let all = any(&["all", "everything"]);
    let shown: Vec<_> = SECTIONS
        .iter()
        .filter(|(name, unasked, _)| {
            all || (usual && *unasked) || any(&[&name.to_ascii_lowercase()])
        })
        .map(|(name, _, lines)| format!("# {name}\r\n{}", lines(call.state)))
        .collect();
    Ok(Reply::Verbatim(shown.join("\r\n")))
}

fn server(state: &EngineState) -> String {
    let now_us = state.clock.unix_us();
    // Whole seconds are subtracted, as Redis does.
    let uptime = now_us.div_euclid(1_000_000) - state.life.started_ms.div_euclid(1000);
    format!(
        "redis_version:{VERSION}\r\nredis_mode:standalone\r\nprocess_id:{pid}\r\nrun_id:{run_id}\r\n\
         tcp_port:0\r\nserver_time_usec:{now}\r\nuptime_in_seconds:{uptime}\r\nuptime_in_days:{days}\r\n",
        pid = state.names.process_id,
        run_id = state.life.run_id,
        now = now_us,
        days = uptime / 86_400,
    )
}

fn clients(state: &EngineState) -> String {
    format!("connected_clients:{}\r\n", state.clients.len())
}

fn stats(state: &EngineState) -> String {
    use super::super::pubsub::ChannelKind;
    let names = |kind| state.registry.names(kind).count();
    format!(
        "total_commands_processed:{}\r\ntotal_net_repl_input_bytes:{}\r\npubsub_channels:{}\r\n\
         pubsub_patterns:{}\r\npubsubshard_channels:{}\r\n",
        state.stats.processed(),
        state.stats.taken_in,
        names(ChannelKind::Channel),
        names(ChannelKind::Pattern),
        names(ChannelKind::Shard),
    )
}

/// Always a master: what it once was as a replica shows in its ids.
fn replication(state: &EngineState) -> String {
    let history = &state.life.history;
    format!(
        "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n\
         master_replid:{}\r\nmaster_replid2:{}\r\nmaster_repl_offset:0\r\n\
         second_repl_offset:{}\r\n",
        history.replid,
        history.before,
        if history.before == NO_HISTORY { -1 } else { 1 },
    )
}

/// Times are not measured: they would mean nothing under a paused clock.
fn commandstats(state: &EngineState) -> String {
    let mut lines = String::new();
    for (name, tally) in state.stats.commands() {
        // Writing to a String cannot fail.
        write!(
            lines,
            "cmdstat_{name}:calls={},usec=0,usec_per_call=0.00,rejected_calls={},failed_calls={}\r\n",
            tally.calls, tally.rejected, tally.failed,
        )
        .ok();
    }
    lines
}
