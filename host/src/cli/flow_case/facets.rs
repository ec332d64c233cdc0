//! Values on walls in space as files: a table, and polygons for VTK.

use crate::cli::appended::Polygons;
use crate::cli::output;
use crate::error::Result;
use crate::flow::{Case, FacetPoint};

/// The table of the facets: means over neighbours and each one's own values, with SI units in further columns where the case is in these.
pub(super) fn table(case: &Case, raw: &[FacetPoint], means: &[FacetPoint]) -> Result<Vec<u8>> {
    let mut columns = vec![
        "body",
        "x",
        "y",
        "z",
        "normal_x",
        "normal_y",
        "normal_z",
        "area",
        "pressure",
        "shear_x",
        "shear_y",
        "shear_z",
        "heat",
        "pressure_raw",
        "shear_x_raw",
        "shear_y_raw",
        "shear_z_raw",
        "heat_raw",
    ];
    let si = match &case.gas.si {
        Some(si) => {
            let units = si.units()?;
            Some([si.length, units.pressure_pa, units.heat_flux_w_m2])
        }
        None => None,
    };
    if si.is_some() {
        columns.extend([
            "x_m",
            "y_m",
            "z_m",
            "area_m2",
            "pressure_pa",
            "shear_x_pa",
            "shear_y_pa",
            "shear_z_pa",
            "heat_w_m2",
        ]);
    }
    let rows = raw.iter().zip(means).map(|(raw, mean)| {
        let values = |facet: &FacetPoint| {
            let mut values = vec![facet.pressure];
            values.extend(facet.shear);
            values.push(facet.heat);
            values
        };
        let mut numbers: Vec<f64> = raw.point.into_iter().chain(raw.normal).collect();
        numbers.push(raw.area);
        numbers.extend(values(mean));
        numbers.extend(values(raw));
        if let Some([long, force, power]) = si {
            numbers.extend(raw.point.map(|x| long * x));
            numbers.push(long * long * raw.area);
            numbers.push(force * mean.pressure);
            numbers.extend(mean.shear.map(|part| force * part));
            numbers.push(power * mean.heat);
        }
        let mut row = vec![case.bodies[raw.body].name.clone().unwrap_or_default()];
        row.extend(numbers.into_iter().map(|number| number.to_string()));
        row
    });
    output::table(&columns, rows)
}

/// The walls for VTK.
///
/// # Errors
/// Compression that fails.
pub(super) fn polygons(raw: &[FacetPoint], means: &[FacetPoint]) -> Result<Vec<u8>> {
    let scalar = |facets: &[FacetPoint], value: fn(&FacetPoint) -> f64| -> Vec<f64> {
        facets.iter().map(value).collect()
    };
    let vector = |facets: &[FacetPoint], value: fn(&FacetPoint) -> [f64; 3]| -> Vec<[f64; 3]> {
        facets.iter().map(value).collect()
    };
    Polygons {
        corners: raw.iter().map(|facet| facet.corners.as_slice()).collect(),
        scalars: vec![
            ("body", scalar(raw, |f| (f.body + 1) as f64)),
            ("pressure", scalar(means, |f| f.pressure)),
            ("heat", scalar(means, |f| f.heat)),
            ("pressure_raw", scalar(raw, |f| f.pressure)),
            ("heat_raw", scalar(raw, |f| f.heat)),
        ],
        vectors: vec![
            ("shear", vector(means, |f| f.shear)),
            ("shear_raw", vector(raw, |f| f.shear)),
            ("normal", vector(raw, |f| f.normal)),
        ],
    }
    .encode()
}
