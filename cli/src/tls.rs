//! What TLS trusts, and which certificate it shows.

use std::{env, path::PathBuf};

use palisade::settings::Tls;

use crate::{args::TlsArgs, exit::Failure};

/// What was said of it on the command line or else in the environment, for those of `servers` that
/// speak it; `None` if nothing was.
pub(crate) fn named(args: &TlsArgs, servers: &[String]) -> Result<Option<Tls>, Failure> {
    let TlsArgs { tls_ca, tls_cert, tls_key, tls_server_name } = args;
    let file = |given: &Option<PathBuf>, variable| given.clone().or_else(|| path(variable));
    let ca = file(tls_ca, "PALISADE_TLS_CA");
    let shown = (file(tls_cert, "PALISADE_TLS_CERT"), file(tls_key, "PALISADE_TLS_KEY"));
    let name = tls_server_name.clone().or_else(|| env::var("PALISADE_TLS_SERVER_NAME").ok());
    let is_asked = ca.is_some() || shown.0.is_some() || name.is_some();
    if is_asked && !servers.iter().any(|url| is_spoken(url)) {
        return Err(Failure::usage(
            "--tls-ca and the like, or PALISADE_TLS_CA and the like, are for servers named by rediss://",
        ));
    }
    let mut tls = Tls::new();
    if let Some(ca) = &ca {
        tls = tls.ca_file(ca);
    }
    match &shown {
        (Some(certificate), Some(key)) => tls = tls.client_certificate(certificate, key),
        (None, None) => {}
        _ => {
            return Err(Failure::usage(
                "a certificate and its key go together: --tls-cert, PALISADE_TLS_CERT and \
                 --tls-key, PALISADE_TLS_KEY",
            ));
        }
    }
    if let Some(name) = &name {
        tls = tls.server_name(name);
    }
    Ok(is_asked.then_some(tls))
}

/// Whether it is spoken at this URL.
pub(crate) fn is_spoken(url: &str) -> bool {
    let is_of_master = ["rediss", "valkeys"].iter().any(|product| url.starts_with(product));
    is_of_master || url.contains("sentinel_tls=true")
}

fn path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}
