//! The name of one run of a server process. Pure.

use std::fmt;

/// Names one run of a server process: it changes with every restart. Each hold keeps that of each
/// member, so it takes half the room of its digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunId([u8; Self::LEN]);

impl RunId {
    const LEN: usize = 20;

    /// Of 40 hexadecimal digits.
    pub(crate) fn new(digits: &str) -> Option<Self> {
        let mut bytes = [0; Self::LEN];
        hex::decode_to_slice(digits, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_40_digits() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        let run_id = RunId::new(digits).unwrap();
        assert_eq!(format!("{run_id} {run_id:?}"), format!("{digits} {digits}"));
        assert_eq!(RunId::new("short"), None);
        assert_eq!(RunId::new(&"é".repeat(20)), None, "40 bytes");
        assert_eq!(RunId::new(&"g".repeat(40)), None);
    }
}
