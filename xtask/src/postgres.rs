//! Finds a PostgreSQL server, or installs the system's package.

use std::env;
use std::fs;

use crate::packages::{exists, install_by_apt, leave_no_service, run, version};

/// Makes sure that the tests of `palisade::fence` find a PostgreSQL.
///
/// # Errors
/// There is none and none can be installed; the text says what to do.
pub(crate) fn ensure() -> Result<(), String> {
    if env::var_os("PALISADE_POSTGRES_BIN").is_some()
        || version("postgres").is_some()
        || is_packaged()
    {
        return Ok(());
    }
    println!("PostgreSQL is not here, installing it");
    if exists("apt-get") {
        install_by_apt(&["postgresql"])?;
        leave_no_service("postgresql");
        return Ok(());
    }
    if exists("brew") {
        return run("brew", &["install", "postgresql"]);
    }
    Err("PostgreSQL is missing and neither apt-get nor brew is here to install it; \
         put `postgres` and `initdb` on the PATH or name their folder in PALISADE_POSTGRES_BIN"
        .into())
}

/// Debian keeps servers off the PATH, a folder for each version.
fn is_packaged() -> bool {
    let mut versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.any(|version| version.path().join("bin/postgres").exists())
}
