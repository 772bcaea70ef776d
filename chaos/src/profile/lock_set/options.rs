//! How a run about sets is made.

use std::fmt;

/// What it is run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetOptions {
    pub(crate) seed: u64,
    pub(crate) additions: u64,
    pub(crate) masters: u32,
    /// On each master.
    pub(crate) sets: u32,
    pub(crate) workers: u32,
    /// The control: what is written is not guarded.
    pub(crate) plain: bool,
    /// Whether masters are killed.
    pub(crate) kills: bool,
}

impl SetOptions {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            additions: 5_000,
            masters: 3,
            sets: 24,
            workers: 48,
            plain: false,
            kills: true,
        }
    }
}

/// As it is run again.
impl fmt::Display for SetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, additions, masters, sets, workers, plain, kills } = self;
        write!(f, "cargo xtask chaos --profile lock-set --seed {seed} --additions {additions}")?;
        write!(f, " --masters {masters} --sets {sets} --workers {workers}")?;
        f.write_str(if *plain { " --plain" } else { "" })?;
        f.write_str(if *kills { "" } else { " --no-kills" })
    }
}
