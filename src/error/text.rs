//! Text that others chose, such as names, holder ids and what servers say: shown in one line of bounded
//! length. A terminal obeys control characters, and a log believes in lines.

use std::{
    fmt::{self, Write},
    ops::Deref,
    sync::Arc,
};

/// Shows text in one line: what would move a cursor, end a line or turn the direction of writing is
/// escaped, and what is longer than some is cut.
///
/// # Examples
/// ```
/// use palisade::error::Shown;
///
/// assert_eq!(Shown::new("a\u{1b}[2Jb\n").to_string(), r"a\u{1b}[2Jb\n");
/// assert!(Shown::new(&"x".repeat(1 << 20)).to_string().len() < 1_000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shown<'a> {
    text: &'a str,
    most: usize,
}

impl<'a> Shown<'a> {
    /// Shows at most the first 512 bytes.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text, most: MOST }
    }

    /// Shows so many bytes at most.
    #[must_use]
    pub const fn at_most(self, bytes: usize) -> Self {
        Self { most: bytes, ..self }
    }

    /// What is shown of it, and what stands for the rest.
    fn cut(self) -> (&'a str, Option<usize>) {
        if self.text.len() <= self.most {
            return (self.text, None);
        }
        let mut end = self.most;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        (self.text.split_at(end).0, Some(self.text.len()))
    }

    fn write(self, f: &mut fmt::Formatter<'_>, is_escaped: impl Fn(char) -> bool) -> fmt::Result {
        let (head, whole) = self.cut();
        head.chars().try_for_each(|c| match c {
            c if is_escaped(c) => write!(f, "{}", c.escape_debug()),
            c if is_invisible(c) => write!(f, "{}", c.escape_unicode()),
            c => f.write_char(c),
        })?;
        whole.map_or(Ok(()), |bytes| write!(f, "… ({bytes} bytes)"))
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, char::is_control)
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.write(f, |c| c.is_control() || matches!(c, '"' | '\\'))?;
        f.write_char('"')
    }
}

/// Text that is shown as [`Shown`] shows it: what a server said, or what a caller gave. What is longer is cut
/// when it is taken.
///
/// # Examples
/// ```
/// use palisade::error::Text;
///
/// assert_eq!(Text::from("\u{1b}[2J no").to_string(), r"\u{1b}[2J no");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// As it was given, but for what was cut.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What consists of texts that are cut already.
    pub(super) fn put_together(text: String) -> Self {
        Self(text.into())
    }

    /// It is cut already: not again.
    fn shown(&self) -> Shown<'_> {
        Shown::new(&self.0).at_most(usize::MAX)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        match Shown::new(text).cut() {
            (all, None) => Self(all.into()),
            (head, Some(bytes)) => Self(format!("{head}… ({bytes} bytes)").into()),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Arc<str>> for Text {
    fn from(text: &Arc<str>) -> Self {
        if text.len() <= MOST { Self(text.clone()) } else { Self::from(&**text) }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown(), f)
    }
}

/// Why a connection broke, in words.
impl std::error::Error for Text {}

/// What is not seen and yet does something: it ends lines, or turns the direction of writing, so that a text
/// is read as another.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// In bytes: the usual message of a server, and then some.
const MOST: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_nothing_else() {
        let shown = |text: &str| (Shown::new(text).to_string(), Text::from(text).to_string());
        for (text, expected) in [
            ("snow ☃, O'Brien's \\ \"q\" e\u{301}", "snow ☃, O'Brien's \\ \"q\" e\u{301}"),
            ("two\r\nlines\0", "two\\r\\nlines\\0"),
            ("\u{1b}[2J\u{9b}2J\u{7f}", "\\u{1b}[2J\\u{9b}2J\\u{7f}"),
            ("gpj\u{202e}exe.\u{2028}", "gpj\\u{202e}exe.\\u{2028}"),
        ] {
            assert_eq!(shown(text), (expected.to_owned(), expected.to_owned()));
        }
        assert_eq!(format!("{:?}", Text::from("a\"\\\n")), r#""a\"\\\n""#);
    }

    #[test]
    fn long_text_is_cut_between_characters_and_only_once() {
        let long = "☃".repeat(1_000);
        let expected = format!("{}… (3000 bytes)", "☃".repeat(170));
        assert_eq!(Shown::new(&long).to_string(), expected);
        assert_eq!(Text::from(long.as_str()).as_str(), expected);
        assert_eq!(Text::from(&Arc::from(long)).to_string(), expected);
        let fits = "x".repeat(MOST);
        assert_eq!(Text::from(fits.as_str()).as_str(), fits);
    }
}
