//! Amounts as people write them: marks of decimals and thousands, currencies, parentheses and trailing signs.

use super::Decimal;
use super::text::{Fault, parse, shown};
use crate::error::{Error, Result};

/// A mark inside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// `,`
    Comma,
    /// `.`
    Point,
    /// A blank of any width, broken or not.
    Space,
    /// `'`, straight or curved.
    Apostrophe,
}

impl Mark {
    fn of(c: char) -> Option<Self> {
        match c {
            ',' => Some(Self::Comma),
            '.' => Some(Self::Point),
            '\'' | '\u{2019}' => Some(Self::Apostrophe),
            c if c.is_whitespace() && !c.is_control() => Some(Self::Space),
            _ => None,
        }
    }

    /// Its character; of spaces the common one.
    pub fn character(self) -> char {
        match self {
            Self::Comma => ',',
            Self::Point => '.',
            Self::Space => ' ',
            Self::Apostrophe => '\'',
        }
    }

    /// Its name, as in `comma`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Point => "point",
            Self::Space => "space",
            Self::Apostrophe => "apostrophe",
        }
    }
}

/// The marks of the numbers of a text. A mark that is `None` follows from the numbers of a column together; a column whose numbers leave a comma open
/// is refused with both readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notation {
    /// The mark before the fraction: a comma or a point.
    pub decimal: Option<Mark>,
    /// The mark between groups of three digits.
    pub thousands: Option<Mark>,
}

/// A number of a text: its place and its characters.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) line: u64,
    pub(super) text: &'a [u8],
}

/// A number without its sign and currency.
struct Amount<'a> {
    negative: bool,
    currency: Option<&'a str>,
    digits: &'a str,
}

/// Evidence of a number on the decimal mark of its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    None,
    /// The number has one reading only.
    Only(Mark),
    /// One comma and no other mark: a number of a line of its own may as well be two columns.
    LoneComma,
}

impl Notation {
    /// Refuses marks that exclude each other.
    ///
    /// # Errors
    /// A decimal mark other than comma and point; one mark for both.
    pub fn check(&self) -> Result<()> {
        let valid = [None, Some(Mark::Comma), Some(Mark::Point)];
        if !valid.contains(&self.decimal) {
            let given = self.decimal.map_or("", Mark::name);
            return Err(Error::invalid("decimal", given, "comma or point"));
        }
        match self.thousands.filter(|_| self.thousands == self.decimal) {
            Some(mark) => Err(Error::invalid(
                "thousands",
                format!("{}, which is the decimal mark too", mark.name()),
                "another mark",
            )),
            None => Ok(()),
        }
    }

    /// The decimal mark, if it is given or the other one groups thousands.
    fn known(&self) -> Option<Mark> {
        self.decimal.or(match self.thousands {
            Some(Mark::Comma) => Some(Mark::Point),
            Some(Mark::Point) => Some(Mark::Comma),
            _ => None,
        })
    }

    /// The numbers of a column, and the currency of each. Where `alone`, fields are lines, in which a comma may also separate columns.
    pub(super) fn read(&self, fields: &[Field<'_>], alone: bool) -> Result<Vec<Amounts>> {
        let decimal = match self.known() {
            Some(mark) => mark,
            None => self.inferred(fields, alone)?,
        };
        let read = |field: &Field<'_>| {
            let failed = |fault: Fault| fault.error(field.text, Some(field.line as usize));
            let amount = amount(field.text).ok_or_else(|| failed(Fault::NoNumber))?;
            let plain = reading(amount.digits, decimal, self.thousands);
            let plain = plain.ok_or_else(|| match self.known() {
                Some(mark) => self.foreign(field, mark),
                None => failed(Fault::NoNumber),
            })?;
            let number = parse(plain.as_bytes()).map_err(failed)?;
            let currency = amount.currency.map(str::to_owned);
            Ok((if amount.negative { -number } else { number }, currency))
        };
        fields.iter().map(read).collect()
    }

    fn foreign(&self, field: &Field<'_>, decimal: Mark) -> Error {
        let thousands = self.thousands.map(Mark::name);
        let groups = thousands.map_or("or none".to_owned(), |name| format!("by a {name}"));
        Error::invalid(
            format!("line {}", field.line),
            format!("`{}`", shown(field.text)),
            format!(
                "digits with a decimal {}, and thousands {groups} in groups of three",
                decimal.name()
            ),
        )
    }

    /// The decimal mark that all numbers of a column allow.
    fn inferred(&self, fields: &[Field<'_>], alone: bool) -> Result<Mark> {
        let mut seen: [Option<&Field<'_>>; 2] = [None; 2];
        let (mut open, mut commas) = (None, !alone);
        for field in fields {
            match self.evidence(field.text, alone) {
                Evidence::Only(mark) => {
                    commas |= has_comma(field.text);
                    seen[usize::from(mark == Mark::Comma)].get_or_insert(field);
                }
                Evidence::LoneComma => {
                    open.get_or_insert(field);
                }
                Evidence::None => {}
            }
        }
        match (seen, open) {
            ([Some(point), Some(comma)], _) => Err(Error::invalid(
                format!("line {}", point.line.max(comma.line)),
                format!(
                    "`{}` on line {} and `{}` on line {}",
                    shown(point.text),
                    point.line,
                    shown(comma.text),
                    comma.line
                ),
                "one decimal mark, by the setting `decimal`",
            )),
            ([None, Some(_)], _) => Ok(Mark::Comma),
            ([None, None], Some(field)) => Err(self.ambiguous(field)),
            ([Some(_), None], Some(field)) if !commas => Err(self.ambiguous(field)),
            _ => Ok(Mark::Point),
        }
    }

    fn evidence(&self, text: &[u8], alone: bool) -> Evidence {
        let Some(amount) = amount(text) else {
            return Evidence::None;
        };
        let [comma, point] =
            [Mark::Comma, Mark::Point].map(|mark| reading(amount.digits, mark, self.thousands));
        let marks = amount.digits.chars().filter_map(Mark::of).count();
        let lone = has_comma(text) && marks == 1;
        match (comma, point) {
            // In a table a comma inside a field separates no columns.
            (Some(_), point) if lone && (alone || point.is_some()) => Evidence::LoneComma,
            (Some(_), None) => Evidence::Only(Mark::Comma),
            (None, Some(_)) => Evidence::Only(Mark::Point),
            _ => Evidence::None,
        }
    }

    /// The refusal of a number with one comma, with both of its readings.
    fn ambiguous(&self, field: &Field<'_>) -> Error {
        let amount = amount(field.text);
        let [comma, point] = [Mark::Comma, Mark::Point].map(|mark| {
            let amount = amount.as_ref()?;
            let sign = if amount.negative { "-" } else { "" };
            reading(amount.digits, mark, self.thousands).map(|plain| format!("{sign}{plain}"))
        });
        let comma = comma.unwrap_or_default();
        let expected = match point {
            Some(whole) => format!("a thousands comma for {whole}, or a decimal comma for {comma}"),
            None => {
                format!("a decimal comma for {comma}, or column 1 for the first of two columns")
            }
        };
        Error::invalid(
            format!("line {}", field.line),
            format!("`{}`", shown(field.text)),
            expected,
        )
    }
}

/// A number, and the sign or code of its currency.
pub(super) type Amounts = (Decimal, Option<String>);

fn has_comma(text: &[u8]) -> bool {
    text.contains(&b',')
}

/// Takes sign and currency off, on either side of the digits.
fn amount(text: &[u8]) -> Option<Amount<'_>> {
    let mut rest = std::str::from_utf8(text).ok()?.trim();
    let (mut signs, mut negative, mut currency) = (0, false, None);
    let mut open = 0;
    loop {
        if let Some(after) = rest.strip_prefix(['-', '\u{2212}', '(']) {
            open += i32::from(rest.starts_with('('));
            (signs, negative, rest) = (signs + 1, true, after);
        } else if let Some(after) = rest.strip_prefix('+') {
            (signs, rest) = (signs + 1, after);
        } else if let Some(after) = after_currency(rest).filter(|_| currency.is_none()) {
            currency = Some(&rest[..rest.len() - after.len()]);
            rest = after;
        } else {
            break;
        }
        rest = rest.trim_start();
    }
    loop {
        if let Some(before) = rest.strip_suffix(['-', '\u{2212}']) {
            (signs, negative, rest) = (signs + 1, true, before);
        } else if let Some(before) = rest.strip_suffix(')') {
            (open, rest) = (open - 1, before);
        } else if let Some(before) = before_currency(rest).filter(|_| currency.is_none()) {
            currency = Some(&rest[before.len()..]);
            rest = before;
        } else {
            break;
        }
        rest = rest.trim_end();
    }
    (signs <= 1 && open == 0).then_some(Amount {
        negative,
        currency,
        digits: rest,
    })
}

/// Whether a character is the sign of a currency.
fn is_currency(c: char) -> bool {
    matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{e3f}' | '\u{20a0}'..='\u{20cf}')
}

/// The rest of a text that begins with a sign, a code of three capitals, or capitals before a sign as in `US$`.
fn after_currency(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let capitals = text.len() - rest.len();
    match rest.strip_prefix(is_currency) {
        Some(after) if capitals <= 3 => Some(after),
        None if capitals == 3 => Some(rest),
        _ => None,
    }
}

/// The part of a text before such a sign or code at its end.
fn before_currency(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_suffix(is_currency) {
        return Some(rest);
    }
    let rest = text.trim_end_matches(|c: char| c.is_ascii_uppercase());
    (text.len() - rest.len() == 3).then_some(rest)
}

/// A number in plain digits, read with this decimal mark; `None` if it cannot be. Thousands are in groups of three by one mark.
fn reading(digits: &str, decimal: Mark, thousands: Option<Mark>) -> Option<String> {
    let end = digits.find(['e', 'E']).unwrap_or(digits.len());
    let (mantissa, exponent) = digits.split_at(end);
    let mut plain = String::with_capacity(digits.len());
    // Digits of the group that is read, the mark of groups, whether the fraction has begun.
    let (mut group, mut by, mut fraction) = (0, None, false);
    for c in mantissa.chars() {
        if c.is_ascii_digit() {
            group += 1;
            plain.push(c);
            continue;
        }
        let mark = Mark::of(c)?;
        let first = by.is_none();
        let full = match (first, mark == decimal) {
            (true, true) => true,
            (true, false) => (1..=3).contains(&group) && !plain.starts_with('0'),
            (false, _) => group == 3,
        };
        if fraction || !full {
            return None;
        }
        if mark == decimal {
            fraction = true;
            plain.push('.');
        } else {
            let other = by.or(thousands).is_some_and(|other| other != mark);
            if other {
                return None;
            }
            by = Some(mark);
        }
        group = 0;
    }
    let whole = fraction || by.is_none() || group == 3;
    let any = plain.bytes().any(|c| c.is_ascii_digit());
    plain.push_str(exponent);
    (whole && any).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(notation: Notation, texts: &[&str], alone: bool) -> Result<Vec<String>> {
        let fields: Vec<Field<'_>> = texts
            .iter()
            .zip(1..)
            .map(|(text, line)| Field {
                line,
                text: text.as_bytes(),
            })
            .collect();
        let numbers = notation.read(&fields, alone)?;
        Ok(numbers.iter().map(|(x, _)| x.to_string()).collect())
    }

    #[test]
    fn amounts_of_one_reading_are_read() {
        for (text, number) in [
            ("1,234.50", "1234.5"),
            ("1.234,50", "1234.5"),
            ("1,234,567", "1234567"),
            ("1.234.567", "1234567"),
            ("1 234 567", "1234567"),
            ("1\u{a0}234,5", "1234.5"),
            ("1\u{202f}234.5", "1234.5"),
            ("12'345.60", "12345.6"),
            ("12\u{2019}345", "12345"),
            ("(12.50)", "-12.5"),
            ("12.50-", "-12.5"),
            ("\u{2212}3", "-3"),
            ("+3.", "3"),
            ("$5", "5"),
            ("-$5", "-5"),
            ("$-5", "-5"),
            ("($1,234.50)", "-1234.5"),
            ("US$ 12", "12"),
            ("12.50 \u{20ac}", "12.5"),
            ("EUR 12.50-", "-12.5"),
            ("12.50- EUR", "-12.5"),
            ("CHF 1'000.05", "1000.05"),
            ("1.234", "1.234"),
            ("-12.5e-3", "-0.0125"),
            (".5", "0.5"),
        ] {
            let found = read(Notation::default(), &[text], true);
            assert_eq!(found.unwrap(), [number], "{text}");
        }
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "",
            "-",
            "()",
            "(1",
            "1)",
            "(-1)",
            "--1",
            "-1-",
            "1,23,456",
            "1,2345.6",
            "12 34",
            "1,234.5,6",
            "1 234'567",
            "$",
            "EUR",
            "EUR USD 1",
            "ab 1",
            "1e",
            "nan",
            "0x10",
            "1..2",
        ] {
            let error = read(Notation::default(), &[text], true).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("; expected a decimal number"), "{error}");
        }
    }

    #[test]
    fn a_comma_that_may_be_either_is_refused_with_both_readings() {
        for (texts, why) in [
            (
                &["1,234"][..],
                "line 1: `1,234`; expected a thousands comma for 1234, or a decimal comma for 1.234",
            ),
            (
                &["7", "($1,234)"],
                "line 2: `($1,234)`; expected a thousands comma for -1234, or a decimal comma for -1.234",
            ),
            (
                &["1,5"],
                "line 1: `1,5`; expected a decimal comma for 1.5, or column 1 for the first of two columns",
            ),
            (
                &["0.5", "1,234"],
                "line 2: `1,234`; expected a thousands comma for 1234, or a decimal comma for 1.234",
            ),
            (
                &["1,234.5", "1.234,5"],
                "line 2: `1,234.5` on line 1 and `1.234,5` on line 2; expected one decimal mark",
            ),
        ] {
            let error = read(Notation::default(), texts, true).unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
        let error = read(Notation::default(), &["1,234", "5"], false).unwrap_err();
        assert!(error.to_string().contains("for 1234, or"), "{error}");
    }

    #[test]
    fn numbers_of_a_column_explain_each_other() {
        let plain = Notation::default();
        for (texts, alone, numbers) in [
            (&["1,234", "1,234.50"][..], true, &["1234", "1234.5"][..]),
            (&["1.234", "1.234,50"], true, &["1234", "1234.5"]),
            (&["1,234", "12,5"], false, &["1.234", "12.5"]),
            (&["1.234", "12,5"], false, &["1234", "12.5"]),
            (&["1,234", "12.5"], false, &["1234", "12.5"]),
        ] {
            assert_eq!(read(plain, texts, alone).unwrap(), numbers);
        }
    }

    #[test]
    fn given_marks_decide() {
        let decimal = |mark| Notation {
            decimal: Some(mark),
            ..Notation::default()
        };
        let thousands = |mark| Notation {
            thousands: Some(mark),
            ..Notation::default()
        };
        for (notation, text, number) in [
            (decimal(Mark::Comma), "1,234", "1.234"),
            (decimal(Mark::Comma), "1.234", "1234"),
            (decimal(Mark::Point), "1,234", "1234"),
            (thousands(Mark::Comma), "1,234", "1234"),
            (thousands(Mark::Point), "1.234", "1234"),
            (thousands(Mark::Space), "1 234", "1234"),
        ] {
            assert_eq!(read(notation, &[text], true).unwrap(), [number], "{text}");
        }
        let error = read(decimal(Mark::Comma), &["1.5"], true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1: `1.5`; expected digits with a decimal comma, and thousands or none in groups of three"
        );
        let both = Notation {
            decimal: Some(Mark::Comma),
            thousands: Some(Mark::Comma),
        };
        assert!(both.check().is_err());
        assert!(decimal(Mark::Space).check().is_err());
    }
}
