//! Decimal numbers as text, in and out, exactly.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;

use super::Decimal;
use crate::error::{Error, Result};
use crate::signed_digit::limb::{DIGITS, leading_digits, limb_of};
use crate::signed_digit::lines::{all_lines, lines, tasks};

/// Largest magnitude of an exponent that is read.
pub const MAX_EXPONENT: i64 = 1_000_000_000_000_000;

/// Zeros that are written out before a number is given with an exponent instead.
const MOST_ZEROS: u64 = 4096;

/// The fault of a text, without the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NoNumber,
    Exponent,
}

impl Fault {
    /// The error for a text, or for a line of a file.
    pub(crate) fn error(self, text: &[u8], line: Option<usize>) -> Error {
        let place = line.map_or("number".to_owned(), |line| format!("line {line}"));
        let expected = match self {
            Self::NoNumber => {
                "a decimal number: digits with an optional sign, point and exponent, such as -12.5e-3"
                    .to_owned()
            }
            Self::Exponent => format!("an exponent within +-{MAX_EXPONENT}"),
        };
        Error::invalid(place, format!("`{}`", shown(text)), expected)
    }
}

/// A text as a line of an error shows it.
pub(super) fn shown(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut rest = text.trim().chars();
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = rest.by_ref().take(SHOWN).map(plain).collect();
    if rest.next().is_some() {
        shown.push_str("...");
    }
    shown
}

impl FromStr for Decimal {
    type Err = Error;

    /// Reads an optional sign, digits with an optional point, and an optional exponent; white space around it is passed over.
    fn from_str(text: &str) -> Result<Self> {
        parse(text.as_bytes()).map_err(|fault| fault.error(text.as_bytes(), None))
    }
}

/// The number on a line of a file; the error names the line.
#[cfg(feature = "cli")]
pub(crate) fn parse_line(text: &[u8], line: usize) -> Result<Decimal> {
    parse(text).map_err(|fault| fault.error(text, Some(line)))
}

/// The number that a text spells.
pub(crate) fn parse(text: &[u8]) -> std::result::Result<Decimal, Fault> {
    let text = text.trim_ascii();
    let (negative, text) = sign(text);
    let whole = leading_digits(text);
    let (digits, mut rest) = text.split_at(whole);
    let mut joined;
    let mut fraction: &[u8] = &[];
    if let [b'.', after @ ..] = rest {
        let len = leading_digits(after);
        (fraction, rest) = after.split_at(len);
    }
    let digits = match (digits, fraction) {
        ([], []) => return Err(Fault::NoNumber),
        (digits, []) => digits,
        ([], fraction) => fraction,
        _ => {
            joined = Vec::with_capacity(digits.len() + fraction.len());
            joined.extend_from_slice(digits);
            joined.extend_from_slice(fraction);
            joined.as_slice()
        }
    };
    let zeros = digits.iter().take_while(|&&c| c == b'0').count();
    let digits = &digits[zeros..];
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return Err(Fault::NoNumber),
    };
    if digits.is_empty() {
        return Ok(Decimal::ZERO);
    }
    if exponent.abs() > MAX_EXPONENT {
        return Err(Fault::Exponent);
    }
    let exponent = exponent - fraction.len() as i64;
    // The last digit has the weight 10^(9 scale) 10^shift.
    let scale = exponent.div_euclid(DIGITS as i64);
    let shift = exponent.rem_euclid(DIGITS as i64) as usize;
    let (rest, first) = digits.split_at(digits.len().saturating_sub(DIGITS - shift));
    let mut limbs = Vec::with_capacity(rest.len() / DIGITS + 2);
    limbs.push(limb_of(first) * 10u32.pow(shift as u32));
    limbs.extend(rest.rchunks(DIGITS).map(limb_of));
    Ok(Decimal::from_limbs(negative, limbs, scale))
}

/// Takes the sign off.
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// The value of an exponent, limited to 10^17.
fn exponent(text: &[u8]) -> std::result::Result<i64, Fault> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::NoNumber);
    }
    let magnitude = digits.iter().fold(0i64, |value, c| {
        (10 * value + i64::from(c - b'0')).min(100 * MAX_EXPONENT)
    });
    Ok(if negative { -magnitude } else { magnitude })
}

impl Decimal {
    /// All its digits, from the first that is not zero to the last, and the exponent of ten of the last one.
    fn digits(&self) -> (String, i64) {
        let mut digits = String::with_capacity(self.limbs().len() * DIGITS);
        for (i, limb) in self.limbs().iter().rev().enumerate() {
            use fmt::Write;
            // Writing to a string does not fail.
            let _ = match i {
                0 => write!(digits, "{limb}"),
                _ => write!(digits, "{limb:09}"),
            };
        }
        let mut exponent = self.scale() * DIGITS as i64;
        let len = digits.trim_end_matches('0').len();
        exponent += (digits.len() - len) as i64;
        digits.truncate(len);
        (digits, exponent)
    }
}

impl Decimal {
    /// The power of ten of its first digit: 2 of 345 and -3 of 0.0012. `None` for zero.
    pub fn magnitude(&self) -> Option<i64> {
        let (digits, exponent) = self.digits();
        (!self.is_zero()).then(|| exponent + digits.len() as i64 - 1)
    }
}

impl fmt::Display for Decimal {
    /// The exact value: without an exponent unless that takes more than 4096 zeros, and without needless zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad_integral(true, "", "0");
        }
        let (mut digits, exponent) = self.digits();
        let zeros = if exponent >= 0 {
            exponent as u64
        } else {
            exponent.unsigned_abs().saturating_sub(digits.len() as u64)
        };
        if zeros > MOST_ZEROS {
            digits.push_str(&format!("e{exponent}"));
        } else if exponent >= 0 {
            digits.push_str(&"0".repeat(zeros as usize));
        } else {
            let fraction = exponent.unsigned_abs() as usize;
            if fraction >= digits.len() {
                digits.insert_str(0, &"0".repeat(fraction - digits.len() + 1));
            }
            digits.insert(digits.len() - fraction, '.');
        }
        f.pad_integral(!self.is_negative(), "", &digits)
    }
}

/// The numbers of a text with one number a line.
pub(crate) fn numbers(text: &[u8]) -> Result<Vec<Decimal>> {
    numbers_from(text, 0)
}

/// Refuses two texts one of which has a blank line where the other has a number: the numbers would be paired wrongly.
pub(crate) fn same_lines(x: &[u8], y: &[u8]) -> Result<()> {
    let blanks = |text| all_lines(text).map(|line: &[u8]| line.trim_ascii().is_empty());
    // Beyond the end of one the number of numbers decides.
    let pairs = blanks(x).zip(blanks(y));
    match pairs.enumerate().find(|(_, (x, y))| x != y) {
        None => Ok(()),
        Some((line, (blank, _))) => Err(Error::invalid(
            format!("line {}", line + 1),
            format!(
                "blank in the {} text only",
                if blank { "first" } else { "second" }
            ),
            "numbers on the same lines of both",
        )),
    }
}

/// The numbers of a text that follows so many lines.
pub(super) fn numbers_from(text: &[u8], lines_before: usize) -> Result<Vec<Decimal>> {
    let parts: std::result::Result<Vec<Vec<_>>, _> = tasks(text)
        .into_par_iter()
        .map(|task| lines(task).map(parse).collect())
        .collect();
    match parts {
        Ok(parts) => Ok(parts.into_iter().flatten().collect()),
        Err(fault) => Err(Refusal::Text(fault).in_text(text, lines_before)),
    }
}

/// Why a task of many could not go on.
pub(super) enum Refusal {
    /// A line is no number; which one, the whole text tells.
    Text(Fault),
    Library(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Refusal {
    /// The error, with the first line that is no number, of a text that follows so many lines.
    pub(super) fn in_text(self, text: &[u8], lines_before: usize) -> Error {
        let fault = match self {
            Self::Library(error) => return error,
            Self::Text(fault) => fault,
        };
        for (i, line) in text.split(|&c| c == b'\n').enumerate() {
            if !line.trim_ascii().is_empty()
                && let Err(fault) = parse(line)
            {
                return fault.error(line, Some(lines_before + i + 1));
            }
        }
        fault.error(b"", None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_are_those_of_the_first_digit() {
        for (text, magnitude) in [
            ("345", Some(2)),
            ("-0.0012", Some(-3)),
            ("1e-4000", Some(-4000)),
            ("99999999999e20", Some(30)),
            ("0", None),
        ] {
            let number: Decimal = text.parse().unwrap();
            assert_eq!(number.magnitude(), magnitude, "{text}");
        }
    }

    #[test]
    fn texts_become_the_numbers_they_spell() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.000", "0"),
            ("0e999999999999999999999", "0"),
            ("+7", "7"),
            (" 007.250 \r", "7.25"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-1E3", "-1000"),
            ("1e-1", "0.1"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("1234567890.0987654321", "1234567890.0987654321"),
            ("12.5e-3", "0.0125"),
            ("999999999999999999e-27", "0.000000000999999999999999999"),
            ("-1e4097", "-1e4097"),
            ("1.5e-5000", "15e-5001"),
            ("1e+2", "100"),
        ] {
            let number: Decimal = text.parse().unwrap();
            assert_eq!(number.to_string(), shown, "{text}");
            assert_eq!(shown.parse::<Decimal>().unwrap(), number, "{text}");
        }
        for digits in 1..40 {
            for exponent in -40..40 {
                let text = format!(
                    "{}e{exponent}",
                    &"1234567891234567891234567891234567891234"[..digits]
                );
                let number: Decimal = text.parse().unwrap();
                assert_eq!(number.to_string().parse::<Decimal>().unwrap(), number);
                assert_eq!(number.round_f64(), text.parse::<f64>().unwrap(), "{text}");
            }
        }
    }

    #[test]
    fn digits_are_read_by_eights() {
        for len in 0..40 {
            let digits: Vec<u8> = (0..len).map(|i| b'0' + (7 * i % 10) as u8).collect();
            assert_eq!(leading_digits(&digits), len);
            for place in 0..len {
                for other in [b'/', b':', b'?', b'A', b' ', 0, 0xB5, 0xFF] {
                    let mut text = digits.clone();
                    text[place] = other;
                    assert_eq!(leading_digits(&text), place, "{other}");
                }
            }
            if (1..=9).contains(&len) {
                let expected: u32 = String::from_utf8(digits.clone()).unwrap().parse().unwrap();
                assert_eq!(limb_of(&digits), expected);
            }
        }
        assert_eq!(limb_of(b"999999999"), 999_999_999);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", " ", "-", ".", "e5", "1e", "1e+", "1.2.3", "1 2", "0x10", "nan", "inf", "1_000",
            "--1", "1e1.5", "\u{663}",
        ] {
            let error = text.parse::<Decimal>().unwrap_err();
            assert!(
                error.to_string().contains("; expected a decimal number"),
                "{text}: {error}"
            );
        }
        let error = "1e1000000000000001".parse::<Decimal>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "number: `1e1000000000000001`; expected an exponent within +-1000000000000000"
        );
        let long = "x".repeat(1000).parse::<Decimal>().unwrap_err().to_string();
        assert!(long.len() < 250, "{long}");
    }
}
