//! On which runtimes answers are looked for, as the user says.

/// Whether an answer is looked for, for up to 80 µs, before a thread sleeps until it comes. At first, and after
/// each pause, it is up to 200 µs, since what was asleep answers late.
///
/// On the same machine or in the same rack that halves the time of an acquire on a single server. It takes hardly
/// any CPU: what is spent on looking would have been spent on sleeping and waking. It is done where a call is
/// alone on its connection and round trips there are shorter than that. It stops for a second after more than
/// half of the answers came later, or had come by the first look. Then the server runs on the same CPU, in the
/// client's stead.
///
/// For locks on several servers it is done on runtimes of a single thread only, which looks at all of them
/// in turns. Where there are three that takes about a third less time for a fifth more CPU; where there are five,
/// a quarter less for a third more.
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
    /// On runtimes of a single thread only. All their tasks have their turns meanwhile.
    OnCurrentThread,
    /// On all runtimes. On those of several threads one of these looks, over TCP or a unix socket, and
    /// does nothing else meanwhile; the others go on.
    #[default]
    Always,
    /// On none.
    Never,
}
