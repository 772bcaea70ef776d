//! What the command line says.

use super::{Origin, Said, Set};
use crate::args::{ServerArgs, TlsArgs};

/// What stands there.
pub(super) fn said(args: &ServerArgs) -> Said {
    let TlsArgs { tls_ca, tls_cert, tls_key, tls_server_name } = &args.tls;
    let urls = Some(&args.servers).filter(|urls| !urls.is_empty());
    Said {
        servers: set(urls.cloned().as_ref()),
        password_file: set(args.password_file.as_ref()),
        max_lease: set(args.max_lease.as_ref()),
        fleet_max_lease: set(args.fleet_max_lease.as_ref()),
        namespace: set(args.namespace.as_ref()),
        replicas: set(args.replicas.as_ref()),
        failover_lag: set(args.failover_lag.as_ref()),
        tracking: set(args.tracking.as_ref()),
        sharded_pubsub: set(args.sharded_pubsub.as_ref()),
        quarantine: set(args.quarantine.as_ref()),
        failover: set(args.failover.as_ref()),
        unidentified: set(args.unidentified.as_ref()),
        clock_skew: set(args.clock_skew.as_ref()),
        tls_ca: set(tls_ca.as_ref()),
        tls_cert: set(tls_cert.as_ref()),
        tls_key: set(tls_key.as_ref()),
        tls_server_name: set(tls_server_name.as_ref()),
    }
}

/// An option that was given.
pub(super) fn set<T: Clone>(value: Option<&T>) -> Option<Set<T>> {
    value.map(|value| Set { value: value.clone(), by: Origin::Flag })
}
