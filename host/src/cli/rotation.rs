//! Molecules that rotate, as flags give them and records keep them.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::output::Quantity;
use super::plot::{COLOURS, Curve, Stroke};
use super::text::kept_as_text;
use super::vti::Image;
use crate::bgk::{RotatingMoments, Rotation, RotationalCollisions, Units};
use crate::error::Error;

/// Eucken factors of translation and rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Eucken(pub(super) [f64; 2]);

kept_as_text!(Eucken);

impl FromStr for Eucken {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let factors = text.split_once(',').and_then(|(of_t, of_r)| {
            let factor = |text: &str| text.trim().parse::<f64>().ok().filter(|f| *f > 0.0);
            Some([factor(of_t)?, factor(of_r)?])
        });
        factors
            .map(Self)
            .ok_or("two positive numbers are needed, such as 2.32,1.40")
    }
}

impl fmt::Display for Eucken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([of_t, of_r]) = self;
        write!(f, "{of_t},{of_r}")
    }
}

/// Collisions in which rotation relaxes.
pub(super) fn collisions(text: &str) -> Result<RotationalCollisions, String> {
    text.parse().map_err(|error| match error {
        Error::Input { expected, .. } => format!("{expected} is needed"),
        other => other.to_string(),
    })
}

/// The entry of a record for a rotation, at the temperature 1.
pub(super) fn recorded(rotation: &Rotation) -> Value {
    let z = rotation.relaxation(1.0);
    json!({
        "collisions": rotation.collisions.at(rotation.kelvin),
        "relaxation_time": z,
        "heat_flux_rates": rotation.matrix(z),
        "eucken_factors": rotation.eucken_factors(z),
        "bulk_viscosity": rotation.bulk_viscosity(z),
    })
}

/// A row of a profile that has what a cell has of rotation.
pub(super) trait Rotates {
    fn rotating(&self) -> &RotatingMoments;
}

/// The columns of rotation in a profile.
pub(super) fn columns<R: Rotates>() -> [Quantity<R>; 3] {
    [
        (
            "temperature_translational",
            |p| p.rotating().temperature_translational,
            Some(("temperature_translational_k", |u| u.temperature_k)),
        ),
        (
            "temperature_rotational",
            |p| p.rotating().temperature_rotational,
            Some(("temperature_rotational_k", |u| u.temperature_k)),
        ),
        (
            "heat_flux_rotational",
            |p| p.rotating().heat_flux_rotational[0],
            Some(("heat_flux_rotational_w_m2", |u| u.heat_flux_w_m2)),
        ),
    ]
}

/// Adds the fields of rotation to those of the cells, in SI units if these are given; none where the molecules do not rotate.
pub(super) fn add_fields(
    fields: &mut Image<'static>,
    cells: &[RotatingMoments],
    units: Option<&Units>,
) {
    if cells.is_empty() {
        return;
    }
    let [kelvin, heat_flux] = units.map_or([1.0; 2], |u| [u.temperature_k, u.heat_flux_w_m2]);
    let named = |plain, si| if units.is_some() { si } else { plain };
    let temperature = |of: fn(&RotatingMoments) -> f64| -> Vec<f64> {
        cells.iter().map(|m| kelvin * of(m)).collect()
    };
    fields.scalars.push((
        named("temperature_translational", "temperature_translational_k"),
        temperature(|m| m.temperature_translational),
    ));
    fields.scalars.push((
        named("temperature_rotational", "temperature_rotational_k"),
        temperature(|m| m.temperature_rotational),
    ));
    let heat = cells.iter().map(|m| {
        let [x, y] = m.heat_flux_rotational;
        [heat_flux * x, heat_flux * y, 0.0]
    });
    fields.vectors.push((
        named("heat_flux_rotational", "heat_flux_rotational_w_m2"),
        heat.collect(),
    ));
}

/// Curves of both temperatures over the places `x`; none where the molecules do not rotate.
pub(super) fn curves(
    x: &[f64],
    cells: &[RotatingMoments],
    shown: impl Fn(f64) -> f64,
) -> Vec<Curve> {
    if cells.is_empty() {
        return Vec::new();
    }
    let curve = |label: &str, colour: usize, of: fn(&RotatingMoments) -> f64| {
        let points = x.iter().zip(cells).map(|(x, m)| (*x, shown(of(m))));
        Curve::new(label, points, COLOURS[colour]).stroke(Stroke::Dashed)
    };
    vec![
        curve("of translation", 3, |m| m.temperature_translational),
        curve("of rotation", 4, |m| m.temperature_rotational),
    ]
}
