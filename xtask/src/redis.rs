//! Finds `redis-server`, or installs the system's package.

use std::env;
use std::path::Path;

use crate::packages::{self, as_root, exists, run, version};

/// Makes sure that tests find a `redis-server`.
///
/// # Errors
/// There is none and none can be installed; the text says what to do.
pub(crate) fn ensure() -> Result<(), String> {
    if let Some(named) = env::var_os("PALISADE_REDIS_SERVER") {
        return match version(&named) {
            Some(_) => Ok(()),
            None => Err(format!("PALISADE_REDIS_SERVER={} does not run", named.display())),
        };
    }
    if version("redis-server").is_some() {
        return Ok(());
    }
    println!("redis-server is not on the PATH, installing it");
    if exists("apt-get") {
        install_by_apt()?;
    } else if exists("brew") {
        run("brew", &["install", "redis"])?;
    } else {
        return Err("redis-server is missing and neither apt-get nor brew is here to install it; \
                    put one on the PATH or name it in PALISADE_REDIS_SERVER"
            .into());
    }
    let found = version("redis-server").ok_or("redis-server was installed but does not run")?;
    println!("{found}");
    Ok(())
}

/// The tests start servers of their own, so the package's service is not left running.
fn install_by_apt() -> Result<(), String> {
    packages::install_by_apt(&["redis-server"])?;
    let stop: &[&str] = if Path::new("/run/systemd/system").exists() {
        &["systemctl", "disable", "--now", "redis-server"]
    } else {
        &["service", "redis-server", "stop"]
    };
    // Where services are not started by an install there is none to stop.
    if let Err(reason) = as_root(stop) {
        eprintln!("warning: {reason}");
    }
    Ok(())
}
