//! The name of one run of a server process. Pure.

use std::fmt;

/// Names one run of a server process: it changes with every restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunId([u8; Self::LEN]);

impl RunId {
    const LEN: usize = 40;

    pub(crate) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes().try_into().ok()?;
        Some(Self(bytes)).filter(|_| text.is_ascii())
    }

    /// 40 hexadecimal digits.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_40_digits() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        let run_id = RunId::new(digits).unwrap();
        assert_eq!(run_id.as_str(), digits);
        assert_eq!(format!("{run_id} {run_id:?}"), format!("{digits} {digits}"));
        assert_eq!(RunId::new("short"), None);
        assert_eq!(RunId::new(&"é".repeat(20)), None, "40 bytes");
    }
}
