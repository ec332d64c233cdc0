//! Decimal numbers and big integers against the public cases, on every backend.

use rarefy::Backend;
use rarefy::compute::Resolved;
use rarefy::signed_digit::decimal::{self, Decimal};
use serde_json::Value;

use crate::support;

/// The cases of a file.
fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list of cases")
}

/// Every backend that can be had here.
fn backends() -> Vec<Resolved> {
    let mut backends: Vec<_> = [Backend::Reference, Backend::Cpu, Backend::Emulator]
        .map(|backend| backend.resolve().expect("no device is needed"))
        .into();
    backends.extend(support::device().map(Resolved::Cuda));
    backends
}

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal number")
}

fn integers(case: &Value, key: &str) -> Vec<Decimal> {
    let list = case[key].as_array().expect("a list");
    list.iter()
        .map(|text| decimal(text.as_str().expect("a text")))
        .collect()
}

/// Pairs of mantissa and exponent.
fn floats(case: &Value, key: &str) -> Vec<Decimal> {
    let list = case[key].as_array().expect("a list");
    list.iter()
        .map(|pair| {
            decimal(&format!(
                "{}e{}",
                pair[0].as_str().expect("a text"),
                pair[1]
            ))
        })
        .collect()
}

#[test]
fn public_integers_are_summed_exactly() {
    for backend in backends() {
        for case in cases(include_str!(
            "../data/signed_digit/sd_public_int_decimal.json"
        )) {
            let (what, x) = (&case["id"], integers(&case, "x"));
            let (found, expected) = match case["kind"].as_str() {
                Some("isum") => (decimal::sum(&x, &backend), &case["sum"]),
                _ => (
                    decimal::dot(&x, &integers(&case, "y"), &backend),
                    &case["dot"],
                ),
            };
            let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(
                found.to_string(),
                expected.as_str().unwrap_or_default(),
                "{what} on {}",
                backend.describe()
            );
        }
    }
}

#[test]
fn public_decimal_floats_are_summed_exactly() {
    for backend in backends() {
        for case in cases(include_str!(
            "../data/signed_digit/sd_public_dec_float.json"
        )) {
            let what = &case["id"];
            let (found, expected) = match case["kind"].as_str() {
                Some("decsum") => (
                    decimal::sum(&floats(&case, "terms"), &backend),
                    format!(
                        "{}e{}",
                        case["sum_mantissa"].as_str().unwrap_or_default(),
                        case["sum_exponent"]
                    ),
                ),
                _ => (
                    decimal::dot(&floats(&case, "x"), &floats(&case, "y"), &backend),
                    case["dot"].as_str().unwrap_or_default().to_owned(),
                ),
            };
            let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(
                found,
                decimal(&expected),
                "{what} on {}",
                backend.describe()
            );
        }
    }
}
