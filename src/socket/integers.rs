//! What most answers are, an integer or an array of integers, read without a parser.

use redis::Value;
use tokio_util::bytes::{Buf, BytesMut};

/// Takes such an answer from the front, if one is there as a whole.
pub(super) fn take_integers(input: &mut BytesMut) -> Option<Value> {
    let (value, length) = match *input.first()? {
        b':' => number(input).map(|(number, length)| (Value::Int(number), length))?,
        b'*' => array(input)?,
        _ => return None,
    };
    input.advance(length);
    Some(value)
}

/// The array at the beginning, and how many bytes it takes.
fn array(input: &[u8]) -> Option<(Value, usize)> {
    let (count, mut length) = number(input)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= LONGEST_ARRAY)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        let item = input.get(length..).filter(|item| item.first() == Some(&b':'))?;
        let (item, taken) = number(item)?;
        items.push(Value::Int(item));
        length += taken;
    }
    Some((Value::Array(items), length))
}

/// The number behind the first byte, and how many bytes its line takes.
fn number(line: &[u8]) -> Option<(i64, usize)> {
    let behind = line.get(1..)?;
    let sign = usize::from(*behind.first()? == b'-');
    let values = behind.iter().skip(sign).map(|digit| digit.wrapping_sub(b'0'));
    // Below zero there is room for one more.
    let (mut below_zero, mut end) = (0_i64, sign);
    for digit in values.take_while(|value| *value < 10) {
        below_zero = below_zero.checked_mul(10)?.checked_sub(digit.into())?;
        end += 1;
    }
    let number = if sign == 1 { below_zero } else { below_zero.checked_neg()? };
    (end > sign && behind.get(end..end + 2)? == b"\r\n").then_some((number, end + 3))
}

/// In elements: what comes in many pieces is not begun anew with each.
const LONGEST_ARRAY: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &str) -> (Option<Value>, usize) {
        let mut input = BytesMut::from(bytes);
        (take_integers(&mut input), input.len())
    }

    #[test]
    fn integers_are_taken_as_wholes() {
        assert_eq!(taken(":7\r\n:8\r\n"), (Some(Value::Int(7)), 4));
        assert_eq!(taken(":-9223372036854775808\r\n"), (Some(Value::Int(i64::MIN)), 0));
        assert_eq!(taken(":9223372036854775807\r\n"), (Some(Value::Int(i64::MAX)), 0));
    }

    #[test]
    fn arrays_of_integers_are_taken_as_wholes() {
        let of =
            |items: &[i64]| Some(Value::Array(items.iter().copied().map(Value::Int).collect()));
        assert_eq!(taken("*3\r\n:7\r\n:-1\r\n:0\r\n:8\r\n"), (of(&[7, -1, 0]), 4));
        assert_eq!(taken("*0\r\n"), (of(&[]), 0));
    }

    #[test]
    fn all_else_is_left() {
        for other in [
            "",
            ":",
            ":7",
            ":7\r",
            ":\r\n",
            ":-\r\n",
            ":x\r\n",
            ":7\rx",
            "+OK\r\n",
            ":99999999999999999999\r\n",
            ":9223372036854775808\r\n",
            ":-9223372036854775809\r\n",
            "*-1\r\n",
            "*2\r\n",
            "*2\r\n:7\r\n",
            "*2\r\n:7\r\n:8\r",
            "*2\r\n:7\r\n+8\r\n",
            "*2\r\n:7\r\n*1\r\n:8\r\n",
            "*9223372036854775807\r\n:7\r\n",
        ] {
            assert_eq!(taken(other), (None, other.len()), "{other:?}");
        }
    }
}
