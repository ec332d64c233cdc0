//! An exact result and its texts.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value, json};

use super::axis::Sums;
use super::quantity::Quantity;
use crate::cli::output;
use crate::cli::text::kept_as_text;
use crate::compute::{Precision, Resolved};
use crate::error::Result;
use crate::memory_plan::check_host;
use crate::signed_digit::decimal::{Decimal, Entry, Half};
use crate::signed_digit::float::{ExactAccumulator, ExactEngine, Float};
use crate::signed_digit::statistics::Ratio;

/// Most decimals of a rounded result.
const MOST_PLACES: usize = 1000;

/// The form that a result is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Binary(Precision),
    /// So many decimals.
    Places(usize),
}

impl FromStr for Rounding {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match (text, text.parse()) {
            ("f32", _) => Ok(Self::Binary(Precision::F32)),
            ("f64", _) => Ok(Self::Binary(Precision::F64)),
            (_, Ok(places)) if places <= MOST_PLACES => Ok(Self::Places(places)),
            _ => Err(format!(
                "f32, f64 or a number of decimals from 0 to {MOST_PLACES} is needed"
            )),
        }
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary(precision) => precision.fmt(f),
            Self::Places(places) => places.fmt(f),
        }
    }
}

kept_as_text!(Rounding);

/// How a result is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// An exact result with all digits instead of a rounded one.
    pub(super) in_full: bool,
    /// Decimals that it is rounded to.
    pub(super) places: Option<(usize, Half)>,
    /// With the exact value beside it.
    pub(super) exact: bool,
}

/// A reader of rounded numbers.
type Parse = fn(&str) -> Option<f64>;

/// An exact result.
pub(super) struct Outcome {
    pub(super) value: Exact,
    pub(super) count: u64,
    pub(super) machine: String,
}

pub(super) enum Exact {
    Binary(ExactAccumulator),
    /// Real and imaginary part.
    Complex(Box<[ExactAccumulator; 2]>),
    Decimal(Decimal),
    /// A quotient, or the root of one, whose digits have no end.
    Ratio(Ratio, bool),
    /// Several sums of an array, which are rounded where they are computed.
    Rounded(Sums),
    /// Results of columns and groups of a table, and the name of the column of groups.
    Table(Option<String>, Vec<(Entry, Exact)>),
}

/// A result as it is printed.
#[derive(Default)]
pub(super) struct Answer {
    /// The printed text.
    pub(super) text: String,
    pub(super) value: Value,
    /// The rounded result; of several none.
    pub(super) number: f64,
    /// The rounded parts of a complex result.
    pub(super) parts: Option<[f64; 2]>,
    pub(super) exact: Option<Value>,
    pub(super) bits: Option<String>,
    /// Records of columns and groups.
    pub(super) sums: Option<Value>,
}

impl Outcome {
    pub(super) fn exact(value: Exact, count: u64, resolved: &Resolved) -> Self {
        Self {
            value,
            count,
            machine: resolved.describe(),
        }
    }

    pub(super) fn decimal(value: Decimal, count: u64, resolved: &Resolved) -> Self {
        Self::exact(Exact::Decimal(value), count, resolved)
    }

    pub(super) fn binary(sum: ExactAccumulator, engine: &ExactEngine) -> Self {
        Self {
            count: sum.count(),
            value: Exact::Binary(sum),
            machine: engine.device(),
        }
    }

    /// Checks that there is memory for the text of the value: it is printed, and kept twice in the report.
    pub(super) fn check_text(&self) -> Result<()> {
        const COPIES: u64 = 8;
        /// A rounded number takes up to 360 bytes in the text and in the report.
        const ROUNDED: u64 = 48;
        let (what, characters, remedy) = match &self.value {
            Exact::Binary(_) | Exact::Complex(_) | Exact::Ratio(..) => return Ok(()),
            Exact::Decimal(_) | Exact::Table(..) => {
                let digits = self.value.digits();
                let remedy = "numbers whose exponents lie closer together need less";
                (format!("a result of {digits} digits"), digits, remedy)
            }
            Exact::Rounded(sums) => {
                let count = sums.values().len() as u64;
                let remedy = "--output sums.npy without --json and --out writes no text";
                (format!("a list of {count} sums"), count * ROUNDED, remedy)
            }
        };
        let needed = characters.saturating_mul(COPIES);
        Ok(check_host(&format!("{what} as text"), needed, remedy)?)
    }
}

impl Exact {
    /// No fewer digits than exact decimal results have.
    fn digits(&self) -> u64 {
        match self {
            Self::Decimal(value) => value.room(),
            Self::Table(_, cells) => cells.iter().map(|(_, value)| value.digits()).sum(),
            _ => 0,
        }
    }

    /// Its texts, in the precision of `T` where it is not shown otherwise.
    pub(super) fn answer<T: Float + Serialize>(
        &self,
        quantity: Quantity,
        shown: Shown,
        parse: Parse,
    ) -> Result<Answer> {
        let number = |text: &str| match parse(text).filter(|value| value.is_finite()) {
            Some(number) => json!(number),
            None => json!(text),
        };
        let rounded = |rounded: T, exact: Option<String>| {
            let text = shortest(rounded);
            Answer {
                value: number(&text),
                number: rounded.to_f64(),
                exact: exact.map(Value::String),
                bits: Some(format!(
                    "{:0width$x}",
                    rounded.to_bits_u64(),
                    width = 2 * size_of::<T>()
                )),
                text,
                ..Answer::default()
            }
        };
        let mut answer = match self {
            Self::Decimal(value) => {
                // Both are rounded from the decimal number itself.
                let nearest = T::from_bits_u64(if size_of::<T>() == 4 {
                    u64::from(value.round_f32().to_bits())
                } else {
                    value.round_f64().to_bits()
                });
                let exact = value.to_string();
                let mut answer = rounded(nearest, Some(exact.clone()));
                if shown.in_full {
                    (answer.value, answer.text) = (json!(exact), exact);
                }
                answer
            }
            Self::Ratio(ratio, root) => {
                let nearest = if *root {
                    ratio.sqrt::<T>()
                } else {
                    ratio.round::<T>()
                };
                rounded(nearest, None)
            }
            Self::Binary(sum) => match quantity {
                Quantity::Norm => rounded(sum.value().sqrt::<T>(), None),
                Quantity::Mean => rounded(sum.mean::<T>(), None),
                _ => {
                    let value = sum.value();
                    let exact = value.is_finite().then(|| value.to_string());
                    rounded(value.round::<T>(), exact)
                }
            },
            Self::Complex(parts) => return complex::<T>(parts, (quantity, shown, parse)),
            Self::Rounded(sums) => {
                let sums = sums.values().iter();
                let texts: Vec<String> = sums.map(|&sum| shortest(T::from_f64(sum))).collect();
                return Ok(Answer {
                    value: texts.iter().map(|text| number(text)).collect(),
                    number: f64::NAN,
                    text: texts.join("\n"),
                    ..Answer::default()
                });
            }
            Self::Table(by, cells) => {
                return table::<T>(by.as_deref(), cells, (quantity, shown, parse));
            }
        };
        if let Some((places, half)) = shown.places
            && let Some(decimal) = self.rounded(quantity, places, half)?
        {
            answer.text = decimal.to_fixed(places);
            answer.value = json!(answer.text);
        }
        Ok(answer)
    }

    /// The result with so many decimals, if it is finite.
    fn rounded(&self, quantity: Quantity, places: usize, half: Half) -> Result<Option<Decimal>> {
        let of_sum = |sum: &ExactAccumulator, count: u64| {
            let exact = sum.value().to_decimal()?;
            Some(Ratio::new(exact, Decimal::from(count)))
        };
        match (self, quantity) {
            (Self::Decimal(value), _) => value.rounded(places, half).map(Some),
            (Self::Ratio(ratio, true), _) => ratio.sqrt_rounded(places, half),
            (Self::Ratio(ratio, false), _) => ratio.rounded(places, half),
            (Self::Binary(sum), Quantity::Norm) => match of_sum(sum, 1) {
                Some(ratio) => ratio.sqrt_rounded(places, half),
                None => Ok(None),
            },
            (Self::Binary(sum), quantity) => {
                let count = if quantity == Quantity::Mean {
                    sum.count()
                } else {
                    1
                };
                match of_sum(sum, count) {
                    Some(ratio) => ratio.rounded(places, half),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

/// The answer of a complex result: its real and its imaginary part.
fn complex<T: Float + Serialize>(
    parts: &[ExactAccumulator; 2],
    (quantity, shown, parse): (Quantity, Shown, Parse),
) -> Result<Answer> {
    let of =
        |part: &ExactAccumulator| Exact::Binary(part.clone()).answer::<T>(quantity, shown, parse);
    let [re, im] = [of(&parts[0])?, of(&parts[1])?];
    let bits = [re.bits.unwrap_or_default(), im.bits.unwrap_or_default()];
    Ok(Answer {
        text: format!("{} {}", re.text, im.text),
        value: json!([re.value, im.value]),
        number: f64::NAN,
        parts: Some([re.number, im.number]),
        exact: Some(json!([re.exact, im.exact])),
        bits: Some(bits.join(" ")),
        sums: None,
    })
}

/// The answers of a table as a table.
fn table<T: Float + Serialize>(
    by: Option<&str>,
    cells: &[(Entry, Exact)],
    (quantity, shown, parse): (Quantity, Shown, Parse),
) -> Result<Answer> {
    let mut names: Vec<String> = by.iter().map(|&by| by.to_owned()).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut values, mut exacts, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    let mut group = None;
    for (entry, value) in cells {
        let answer = value.answer::<T>(quantity, shown, parse)?;
        if rows.is_empty() || group != Some(&entry.group) {
            rows.push(entry.group.iter().cloned().collect());
            group = Some(&entry.group);
        }
        let column = entry.column.clone().unwrap_or_default();
        let exact = answer.exact.as_ref().and_then(Value::as_str);
        let beside = exact.filter(|_| shown.exact);
        if rows.len() == 1 {
            names.push(column.clone());
            names.extend(beside.map(|_| format!("{column} exact")));
        }
        if let Some(row) = rows.last_mut() {
            row.extend(beside.map(str::to_owned));
            row.insert(row.len() - usize::from(beside.is_some()), answer.text);
        }
        sums.push(json!({
            "group": entry.group, "column": entry.column, "currency": entry.currency, "count": entry.numbers.len(),
            "value": answer.value, "exact": answer.exact,
        }));
        values.push(answer.value);
        exacts.push(answer.exact.unwrap_or_default());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = String::from_utf8_lossy(&output::table(&names, rows)?)
        .trim_end()
        .to_owned();
    Ok(Answer {
        text,
        value: values.into(),
        number: f64::NAN,
        exact: Some(exacts.into()),
        sums: Some(sums.into()),
        ..Answer::default()
    })
}

/// The shortest text that reads back as the number.
fn shortest<T: Float>(number: T) -> String {
    let text = format!("{number:?}");
    if text == "NaN" { "nan".into() } else { text }
}
