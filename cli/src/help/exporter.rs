//! What `palisade exporter --help` says.

pub(crate) const ABOUT: &str = "\
Tell Prometheus what is held and how the servers are, until it is ended

Locks are counted every minute, by going through all keys of all masters, with so many pauses that a server is kept busy \
for a hundredth of the time at most. Every 15s the servers are asked how they are. A scrape is answered by what was seen \
last, and costs the servers nothing. No name of a lock is told. It begins, and goes on, while servers do not answer.";

pub(crate) const MORE: &str = "\
GET /metrics is answered, without a password and without TLS: by default only on this machine. The rights it needs are \
those of `palisade acl --role exporter`. Alert rules are in docker/prometheus.

palisade_locks_held{sort}, palisade_oldest_hold_seconds, palisade_holds_of_unknown_age, palisade_waiting_processes,
palisade_locks_short_of_votes      held, but not on all servers
palisade_locks_on_too_few_servers  not held: rounds under way, and what broken ones left
palisade_scan_age_seconds          since the last count; and its palisade_scan_duration_seconds, palisade_scans_total,
                                   palisade_scan_failures_total, palisade_scan_unread_hashes, palisade_scan_left_out_locks
palisade_server_up{server}, palisade_server_votes{server}, palisade_server_quarantine_seconds{server},
palisade_server_clock_offset_seconds{server}, palisade_server_round_trip_seconds{server},
palisade_server_memory_used_ratio{server}, palisade_server_evicts{server}: of a cluster, its master that is worst off
palisade_servers, palisade_votes, palisade_votes_needed, palisade_clock_skew_seconds, palisade_look_age_seconds,
palisade_build_info{version}
What is not known is left out. Metrics are added, never changed.

Example:
  palisade exporter -s redis://a -s redis://b -s redis://c --listen 0.0.0.0:17254

Exit codes:
    0  it was ended by SIGTERM or SIGINT
   64  wrong use
   71  nothing can listen there: the port is taken, or the address is none of this machine";
