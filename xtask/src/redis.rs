//! Finds `redis-server`, or installs the system's package.

use std::env;

use crate::packages::{exists, install_by_apt, leave_no_service, run, version};

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
        install_by_apt(&["redis-server"])?;
        leave_no_service("redis-server");
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
