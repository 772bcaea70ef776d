//! Numbers as Redis reads and writes them.

/// Reads an integer strictly: no blanks, no plus sign, no leading zeros, within `i64`.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits.first()? {
        b'0' if text.len() == 1 => return Some(0),
        b'1'..=b'9' if digits.len() <= 19 && digits.iter().all(u8::is_ascii_digit) => {}
        _ => return None,
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads a float as C's `strtod` does, all of the text or nothing. Not a number is refused.
pub(crate) fn float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = match text.parse() {
        Ok(value) => value,
        Err(_) => hexadecimal(text)?,
    };
    let overflowed = value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit());
    (!value.is_nan() && !overflowed).then_some(value)
}

/// `0x` and hexadecimal digits, which `strtod` accepts. Fractions and exponents are left out.
fn hexadecimal(text: &str) -> Option<f64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    let value = digits
        .chars()
        .try_fold(0.0, |sum, digit| Some(sum * 16.0 + f64::from(digit.to_digit(16)?)))?;
    (!digits.is_empty()).then_some(if negative { -value } else { value })
}

/// Writes a double with 17 significant digits, as C's `%.17g` does.
pub(crate) fn show(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e17 {
        return format!("{value}");
    }
    // One digit before the point and 16 after it, with the exponent C would choose by.
    let scientific = format!("{value:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or(0);
        return trim_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_strict() {
        let table: [(&str, Option<i64>); 12] = [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-0", None),
            ("01", None),
            ("+1", None),
            (" 1", None),
            ("1.0", None),
            ("", None),
            ("-", None),
        ];
        for (text, expected) in table {
            assert_eq!(integer(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn doubles_are_written_as_printf_does() {
        let table = [
            (3.0, "3"),
            (-0.0, "-0"),
            (0.1, "0.10000000000000001"),
            (3.1, "3.1000000000000001"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1e20, "1e+20"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e-300, "1e-300"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, expected) in table {
            assert_eq!(show(value), expected);
        }
    }

    #[test]
    fn floats_are_read_whole_or_not_at_all() {
        let table = [
            ("1.5", Some(1.5)),
            ("+inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("0x10", Some(16.0)),
            ("nan", None),
            ("1e999", None),
            ("1 ", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(float(text.as_bytes()), expected, "{text}");
        }
    }
}
