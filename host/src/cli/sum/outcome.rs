//! An exact result and its texts.

use serde::Serialize;
use serde_json::{Value, json};

use super::axis::Sums;
use crate::compute::Resolved;
use crate::error::Result;
use crate::memory_plan::check_host;
use crate::signed_digit::decimal::Decimal;
use crate::signed_digit::float::{ExactAccumulator, ExactEngine, Float};

/// The quantity computed from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quantity {
    Sum,
    Abs,
    Squares,
    Norm,
    Mean,
    /// The sums along an axis.
    Axis(i64),
    Dot,
}

/// An exact result.
pub(super) struct Outcome {
    pub(super) value: Exact,
    pub(super) count: u64,
    pub(super) machine: String,
}

pub(super) enum Exact {
    Binary(ExactAccumulator),
    Decimal(Decimal),
    /// Sums along an axis, which are rounded where they are computed.
    Rounded(Sums),
}

/// A result as it is printed.
#[derive(Default)]
pub(super) struct Answer {
    /// The printed text.
    pub(super) text: String,
    pub(super) value: Value,
    /// The rounded result; of sums along an axis none.
    pub(super) number: f64,
    pub(super) exact: Option<String>,
    pub(super) bits: Option<String>,
}

impl Outcome {
    pub(super) fn decimal(value: Decimal, count: u64, resolved: &Resolved) -> Self {
        Self {
            value: Exact::Decimal(value),
            count,
            machine: resolved.describe(),
        }
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
            Exact::Binary(_) => return Ok(()),
            Exact::Decimal(value) => {
                let digits = value.room();
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

    /// Its texts; an exact one `in_full`, or rounded to `T`.
    pub(super) fn answer<T: Float + Serialize>(
        &self,
        quantity: Quantity,
        in_full: bool,
        parse: impl Fn(&str) -> Option<f64>,
    ) -> Answer {
        let bits = |rounded: T| {
            Some(format!(
                "{:0width$x}",
                rounded.to_bits_u64(),
                width = 2 * size_of::<T>()
            ))
        };
        let number = |text: &str| match parse(text).filter(|value| value.is_finite()) {
            Some(number) => json!(number),
            None => json!(text),
        };
        match &self.value {
            Exact::Decimal(value) => {
                // Both are rounded from the decimal number itself.
                let rounded = T::from_bits_u64(if size_of::<T>() == 4 {
                    u64::from(value.round_f32().to_bits())
                } else {
                    value.round_f64().to_bits()
                });
                let exact = value.to_string();
                let (shown, json) = if in_full {
                    (exact.clone(), json!(exact))
                } else {
                    let text = shortest(rounded);
                    let json = number(&text);
                    (text, json)
                };
                Answer {
                    value: json,
                    number: rounded.to_f64(),
                    exact: Some(exact),
                    bits: bits(rounded),
                    text: shown,
                }
            }
            Exact::Binary(sum) => {
                let (rounded, exact) = match quantity {
                    Quantity::Norm => (sum.value().sqrt::<T>(), None),
                    Quantity::Mean => (sum.mean::<T>(), None),
                    _ => {
                        let value = sum.value();
                        (
                            value.round::<T>(),
                            value.is_finite().then(|| value.to_string()),
                        )
                    }
                };
                let text = shortest(rounded);
                Answer {
                    value: number(&text),
                    number: rounded.to_f64(),
                    exact,
                    bits: bits(rounded),
                    text,
                }
            }
            Exact::Rounded(sums) => {
                let sums = sums.values().iter();
                let texts: Vec<String> = sums.map(|&sum| shortest(T::from_f64(sum))).collect();
                Answer {
                    value: texts.iter().map(|text| number(text)).collect(),
                    number: f64::NAN,
                    exact: None,
                    bits: None,
                    text: texts.join("\n"),
                }
            }
        }
    }
}

/// The shortest text that reads back as the number.
fn shortest<T: Float>(number: T) -> String {
    let text = format!("{number:?}");
    if text == "NaN" { "nan".into() } else { text }
}
