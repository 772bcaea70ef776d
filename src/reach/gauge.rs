//! How large an answer is, by what has come of it: known before there is room made for the rest. Pure.
//!
//! A parser waits for all that a length or a count promises, and a server that promises too much would have
//! it wait until there is no memory left.

/// How large something is, with all that it has promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    pub(super) values: u64,
}

impl Size {
    /// What is answered about a few locks, or by a server of itself: a call is about some dozens of either.
    pub(crate) const FEW: Self = Self { bytes: 256 << 10, values: 16 << 10 };
    /// What has an element for each of many: connections, holders, slots.
    pub(crate) const LIST: Self = Self { bytes: 32 << 20, values: 512 << 10 };

    pub(super) const fn fits(self, most: Self) -> bool {
        self.bytes <= most.bytes && self.values <= most.values
    }
}

/// It cannot be an answer: a sign that Redis does not know, a length that is none, or too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAnswer;

/// Measures one answer after the other, in whatever pieces they come.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    size: Size,
    /// How many values are to come of each array that has begun, the innermost last.
    open: Vec<u64>,
    at: At,
}

#[derive(Debug, Clone, Copy, Default)]
enum At {
    #[default]
    Start,
    /// In a line of text.
    Line { is_ending: bool },
    /// In a line with a number that says how much follows.
    Number { sign: u8, digits: u8, so_far: i64, is_below_zero: bool, is_ending: bool },
    /// So many bytes are to come of a text, with its end.
    Text(u64),
}

impl Gauge {
    /// Takes note of what has come. If an answer ends in it, where.
    ///
    /// # Errors
    /// It is none. Nothing that follows means anything.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Option<usize>, NoAnswer> {
        if self.is_between() {
            self.size = Size::default();
        }
        let mut fed = 0;
        while let Some(rest) = bytes.get(fed..).filter(|rest| !rest.is_empty()) {
            let (taken, is_whole) = self.step(rest)?;
            fed += taken;
            self.size.bytes = self.size.bytes.saturating_add(taken as u64);
            if is_whole && self.is_last() {
                return Ok(Some(fed));
            }
        }
        Ok(None)
    }

    /// Of the answer that has begun, or ended last.
    pub(super) fn size(&self) -> Size {
        let promised = if let At::Text(left) = self.at { left } else { 0 };
        Size { bytes: self.size.bytes.saturating_add(promised), ..self.size }
    }

    fn is_between(&self) -> bool {
        matches!(self.at, At::Start) && self.open.is_empty()
    }

    /// How many bytes were understood, and whether a value without elements ends with them.
    fn step(&mut self, bytes: &[u8]) -> Result<(usize, bool), NoAnswer> {
        match &mut self.at {
            At::Start => {
                let sign = bytes.first().copied().unwrap_or_default();
                self.at = match sign {
                    b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => At::Line { is_ending: false },
                    b'$' | b'!' | b'=' | b'*' | b'%' | b'~' | b'>' | b'|' => At::Number {
                        sign,
                        digits: 0,
                        so_far: 0,
                        is_below_zero: false,
                        is_ending: false,
                    },
                    _ => return Err(NoAnswer),
                };
                Ok((1, false))
            }
            At::Line { is_ending } => {
                let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                    *is_ending = bytes.last() == Some(&b'\r');
                    return Ok((bytes.len(), false));
                };
                let before = end.checked_sub(1).and_then(|at| bytes.get(at));
                let is_end = before.map_or(*is_ending, |byte| *byte == b'\r');
                *is_ending = false;
                if is_end {
                    self.at = At::Start;
                }
                Ok((end + 1, is_end))
            }
            At::Number { digits, so_far, is_below_zero, is_ending, .. } => {
                let byte = bytes.first().copied().unwrap_or_default();
                match byte {
                    b'\n' if *is_ending => return Ok((1, self.announced()?)),
                    _ if *is_ending => return Err(NoAnswer),
                    b'\r' if *digits > 0 => *is_ending = true,
                    b'-' if *digits == 0 && !*is_below_zero => *is_below_zero = true,
                    b'0'..=b'9' if *digits < MOST_DIGITS => {
                        *digits += 1;
                        *so_far = *so_far * 10 + i64::from(byte - b'0');
                    }
                    _ => return Err(NoAnswer),
                }
                Ok((1, false))
            }
            At::Text(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                let is_whole = *left == 0;
                if is_whole {
                    self.at = At::Start;
                }
                Ok((taken, is_whole))
            }
        }
    }

    /// Reads the number of the line that has ended. Whether nothing follows.
    fn announced(&mut self) -> Result<bool, NoAnswer> {
        let At::Number { sign, so_far, is_below_zero, .. } = self.at else { return Ok(false) };
        self.at = At::Start;
        if is_below_zero {
            // So nothing at all is told.
            let is_nothing = so_far == 1 && matches!(sign, b'$' | b'*');
            return if is_nothing { Ok(true) } else { Err(NoAnswer) };
        }
        let count = u64::try_from(so_far).unwrap_or_default();
        let values = match sign {
            b'$' | b'!' | b'=' => {
                self.at = At::Text(count + 2);
                return Ok(false);
            }
            b'%' => count * 2,
            // What it is said of comes behind it.
            b'|' => count * 2 + 1,
            _ => count,
        };
        self.size.values = self.size.values.saturating_add(values);
        if values == 0 {
            return Ok(true);
        }
        if self.open.len() >= DEEPEST {
            return Err(NoAnswer);
        }
        self.open.push(values);
        Ok(false)
    }

    /// A value has ended. Whether the whole answer has.
    fn is_last(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

/// No number of more digits is a length.
const MOST_DIGITS: u8 = 18;

/// Arrays in arrays. Those of CLUSTER SLOTS are four deep.
const DEEPEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first answer ends, fed in pieces of so many bytes.
    fn measured(text: &str, piece: usize) -> (Result<Option<usize>, NoAnswer>, Size) {
        let mut gauge = Gauge::default();
        let mut before = 0;
        for piece in text.as_bytes().chunks(piece) {
            match gauge.feed(piece) {
                Ok(None) => before += piece.len(),
                Ok(Some(end)) => return (Ok(Some(before + end)), gauge.size()),
                Err(error) => return (Err(error), gauge.size()),
            }
        }
        (Ok(None), gauge.size())
    }

    #[test]
    fn answers_end_where_they_end_in_whatever_pieces_they_come() {
        for (answer, values) in [
            ("+OK\r\n", 0),
            ("-ERR a\rb\nc\r\n", 0),
            (":-7\r\n", 0),
            ("$5\r\n\r\n+OK\r\n", 0),
            ("$0\r\n\r\n", 0),
            ("$-1\r\n", 0),
            ("*-1\r\n", 0),
            ("*0\r\n", 0),
            ("*3\r\n:1\r\n*2\r\n+a\r\n$1\r\nb\r\n*0\r\n", 5),
            ("%1\r\n+a\r\n%0\r\n", 2),
            ("|1\r\n+a\r\n+b\r\n:7\r\n", 3),
            (">2\r\n+a\r\n~1\r\n_\r\n", 3),
            ("=7\r\ntxt:abc\r\n", 0),
            ("!3\r\nERR\r\n", 0),
        ] {
            for piece in 1..=answer.len() + 2 {
                let text = format!("{answer}+next\r\n");
                let size = Size { bytes: answer.len() as u64, values };
                assert_eq!(measured(&text, piece), (Ok(Some(answer.len())), size), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_promised_counts_before_it_comes() {
        for (begun, bytes, values) in [
            ("$999999999999999999\r\nx", 1_000_000_000_000_000_022, 0),
            ("*999999999999999999\r\n:1\r\n", 25, 999_999_999_999_999_999),
            ("*2\r\n*300\r\n*400\r\n", 16, 702),
            ("%900000000000000000\r\n%900000000000000000\r\n", 42, 3_600_000_000_000_000_000),
        ] {
            let (end, size) = measured(begun, 1);
            assert_eq!((end, size), (Ok(None), Size { bytes, values }), "{begun:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_found_at_once() {
        let deep = "*1\r\n".repeat(DEEPEST + 1);
        for text in [
            "HTTP/1.1 400",
            "$9223372036854775807\r\n",
            "$-2\r\n",
            "%-1\r\n",
            "$\r\n",
            "$1x\r\n",
            "$--1\r\n",
            "$?\r\n",
            "$1\rx",
            "*1\n",
            &deep,
        ] {
            assert_eq!(measured(text, 1).0, Err(NoAnswer), "{text:?}");
        }
    }
}
