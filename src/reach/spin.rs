//! On which runtimes answers are looked for, as the user says.

/// Whether an answer is looked for, for up to 80 µs, before a thread sleeps until it comes.
///
/// On the same machine that takes about a third off the time of an acquire on a single server. Over a network it
/// gains nothing that is sure. It is done where a call is alone on its connection, and round trips there are shorter
/// than that. All tasks have their turns meanwhile. After an answer that came later it stops for 8 ms, so a connection
/// wastes one hundredth of a CPU at most.
///
/// For locks on several servers it is done on runtimes of a single thread only, which looks at all of them
/// in turns.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::Spin};
///
/// let client = Client::builder().url("redis://127.0.0.1").spin(Spin::Never).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spin {
    /// On runtimes of a single thread only.
    OnCurrentThread,
    /// On all runtimes.
    #[default]
    Always,
    /// On none.
    Never,
}
