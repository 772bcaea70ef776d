//! The words of a request.

use super::super::number;
use super::super::resp::Refusal;

/// A request, the command's name first. Its arity has been checked before a command sees it, so a
/// missing word simply reads as empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'a>(pub(crate) &'a [&'a [u8]]);

impl<'a> Args<'a> {
    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    pub(crate) fn at(self, index: usize) -> &'a [u8] {
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The words from this one on.
    pub(crate) fn from(self, index: usize) -> &'a [&'a [u8]] {
        self.0.get(index..).unwrap_or_default()
    }

    /// The words from this one on, two by two.
    pub(crate) fn pairs(self, index: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
        let (pairs, _) = self.from(index).as_chunks::<2>();
        pairs.iter().map(|[first, second]| (*first, *second))
    }

    pub(crate) fn is(self, index: usize, word: &str) -> bool {
        self.at(index).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(crate) fn integer(self, index: usize) -> Result<i64, Refusal> {
        self.integer_or(index, Refusal::NOT_INTEGER)
    }

    /// An integer, or a refusal in the command's own words.
    pub(crate) fn integer_or(self, index: usize, refusal: Refusal) -> Result<i64, Refusal> {
        number::integer(self.at(index)).ok_or(refusal)
    }

    /// An integer that may not be negative.
    pub(crate) fn natural(self, index: usize) -> Result<usize, Refusal> {
        number::integer(self.at(index))
            .and_then(|value| usize::try_from(value).ok())
            .ok_or(Refusal::new("ERR value is out of range, must be positive"))
    }

    /// A word for a message.
    pub(crate) fn text(self, index: usize) -> String {
        String::from_utf8_lossy(self.at(index)).into_owned()
    }

    /// A word in lower case, for options.
    pub(crate) fn lower(self, index: usize) -> String {
        self.text(index).to_ascii_lowercase()
    }
}
