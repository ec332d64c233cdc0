//! Parsers of the values of options.

use std::ops::RangeInclusive;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::value::{Error as ValueError, StringDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer};

use crate::collision::{Order, Scattering, VelocityGrid};

/// Reads a number of steps of a checkpoint or a record, which is held to what [`count`] takes.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match Option::deserialize(from)? {
        Some(0) => Err(D::Error::custom(
            "a number of steps is 0; at least 1 is needed",
        )),
        steps => Ok(steps),
    }
}

/// A parser of the names under which `T` is serialised.
pub(super) fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: StringDeserializer<ValueError> = name.into_deserializer();
        T::deserialize(name)
    })
}

/// A parser of the orders of the coefficients.
pub(super) fn order() -> impl TypedValueParser<Value = Order> {
    PossibleValuesParser::new(["2", "4"]).try_map(|text| text.parse::<Order>())
}

/// Molecules that scatter isotropically: all that is asked of them is an exponent.
pub(super) fn molecules(text: &str) -> Result<Scattering, String> {
    match text.parse::<Scattering>() {
        Ok(molecules) if molecules.alpha() == 1.0 => Ok(molecules),
        _ => Err("use hard-sphere, maxwell, or vhs:OMEGA with OMEGA from 0.5 to 1".into()),
    }
}

/// The exponent of the viscosity of molecules, mu ~ T^omega.
pub(super) fn exponent(molecules: Scattering) -> f64 {
    1.0 - 0.5 * molecules.gamma()
}

/// A parser of the degrees of the rules on the sphere.
pub(super) fn degree() -> impl TypedValueParser<Value = u8> {
    PossibleValuesParser::new(["5", "7", "9", "11", "15", "17", "21"])
        .try_map(|text| text.parse::<u8>())
}

/// A parser of the number of products of the kernel.
pub(super) fn rank() -> impl TypedValueParser<Value = u8> {
    PossibleValuesParser::new(["1", "2", "3", "4", "5", "6", "7", "8"])
        .try_map(|text| text.parse::<u8>())
}

/// A parser of the periods of the spectral method.
pub(super) fn period() -> impl TypedValueParser<Value = u32> {
    const PERIODS: [&str; 18] = [
        "6", "8", "10", "12", "16", "18", "20", "24", "30", "32", "36", "40", "48", "60", "64",
        "72", "80", "96",
    ];
    PossibleValuesParser::new(PERIODS).try_map(|text| text.parse::<u32>())
}

/// A finite number.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("a finite number is needed".into()),
    }
}

/// A finite number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if number > 0.0 => Ok(number),
        _ => Err("a positive finite number is needed".into()),
    }
}

/// A whole number above zero.
pub(super) fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("a whole number above zero is needed".into()),
    }
}

/// A whole number of either sign.
pub(super) fn integer(text: &str) -> Result<i64, String> {
    let number = text.parse();
    number.map_err(|_| "a whole number is needed, such as 0 or -1".into())
}

/// A whole number in a range.
pub(super) fn whole(text: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "a whole number from {} to {} is needed",
            range.start(),
            range.end()
        )),
    }
}

/// A number of cells along an axis of a velocity grid.
pub(super) fn cells(text: &str) -> Result<usize, String> {
    whole(text, VelocityGrid::MIN_N..=VelocityGrid::MAX_N)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records keep molecules instead of their exponent, which must be exact.
    #[test]
    fn exponents_of_molecules_are_exact() {
        for k in 0..=100 {
            let omega = 0.5 + 0.005 * f64::from(k);
            assert_eq!(exponent(Scattering::Vhs { omega }), omega);
        }
        assert_eq!(exponent(Scattering::HardSphere), 0.5);
        assert_eq!(exponent(Scattering::Maxwell), 1.0);
    }
}
