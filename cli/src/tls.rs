//! What TLS trusts, and which certificate it shows.

use palisade::settings::Tls;

use crate::{
    config::{Origin, Said, Set},
    exit::Failure,
};

/// What was said of it, for those of `servers` that speak it; `None` if nothing was.
///
/// In a file it may stand for servers of which the profile in use has none.
pub(crate) fn named(said: &Said, servers: &[String]) -> Result<Option<Tls>, Failure> {
    let Said { tls_ca, tls_cert, tls_key, tls_server_name, .. } = said;
    let files = [tls_ca, tls_cert, tls_key].into_iter().flatten().map(|set| &set.by);
    let said_by: Vec<_> = files.chain(tls_server_name.as_ref().map(|set| &set.by)).collect();
    if !servers.iter().any(|url| is_spoken(url)) {
        return if said_by.iter().all(|by| matches!(by, Origin::File(_))) {
            Ok(None)
        } else {
            Err(Failure::usage(
                "--tls-ca and the like, or PALISADE_TLS_CA and the like, are for servers named by rediss://",
            ))
        };
    }
    let mut tls = Tls::new();
    if let Some(ca) = tls_ca {
        tls = tls.ca_file(&ca.value);
    }
    match (tls_cert, tls_key) {
        (Some(certificate), Some(key)) => {
            tls = tls.client_certificate(&certificate.value, &key.value);
        }
        (None, None) => {}
        (Some(Set { by, .. }), None) | (None, Some(Set { by, .. })) => {
            return Err(Failure::new(
                by.code(),
                format_args!(
                    "{}a certificate and its key go together: --tls-cert, PALISADE_TLS_CERT and \
                     --tls-key, PALISADE_TLS_KEY",
                    by.place()
                ),
            ));
        }
    }
    if let Some(name) = tls_server_name {
        tls = tls.server_name(&name.value);
    }
    Ok((!said_by.is_empty()).then_some(tls))
}

/// Whether it is spoken at this URL.
pub(crate) fn is_spoken(url: &str) -> bool {
    let is_of_master = ["rediss", "valkeys"].iter().any(|product| url.starts_with(product));
    is_of_master || url.contains("sentinel_tls=true")
}
