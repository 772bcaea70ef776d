//! Finds Prometheus and its tool, or installs the system's package.

use crate::packages::{exists, install_by_apt, leave_no_service, run};

/// Makes sure that the tests of `palisade exporter` find a Prometheus.
///
/// # Errors
/// There is none and none can be installed; the text says what to do.
pub(crate) fn ensure() -> Result<(), String> {
    if is_here() {
        return Ok(());
    }
    println!("Prometheus is not here, installing it");
    if exists("apt-get") {
        // What it recommends is an exporter of this machine, which would be one more service.
        install_by_apt(&["--no-install-recommends", "prometheus"])?;
        leave_no_service("prometheus");
    } else if exists("brew") {
        run("brew", &["install", "prometheus"])?;
    }
    if is_here() {
        return Ok(());
    }
    Err("Prometheus is missing and neither apt-get nor brew could install it; \
         put `prometheus` and `promtool` on the PATH"
        .into())
}

fn is_here() -> bool {
    exists("prometheus") && exists("promtool")
}
