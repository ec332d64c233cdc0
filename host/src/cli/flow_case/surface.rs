//! Values on the walls as files: a table, and lines for VTK.

use crate::cli::output;
use crate::cli::vti::Lines;
use crate::error::Result;
use crate::flow::{Case, GasInSi, Segment};

/// The table of the segments, with SI units in further columns where the case is in these.
pub(super) fn table(case: &Case, segments: &[Segment]) -> Result<Vec<u8>> {
    let mut columns = vec!["body", "curve"];
    columns.extend(Segment::COLUMNS);
    columns.extend(["pressure_raw", "shear_raw", "heat_raw"]);
    let si = case.gas.si.as_ref().map(scales).transpose()?;
    if si.is_some() {
        columns.extend([
            "arc_m",
            "x_m",
            "y_m",
            "pressure_pa",
            "shear_pa",
            "heat_w_m2",
        ]);
    }
    let rows = segments.iter().map(|segment| {
        let raw = &segment.raw;
        let [pressure, shear, heat, ..] = segment.mean;
        let mut row = vec![
            case.bodies[raw.body].name.clone().unwrap_or_default(),
            (segment.curve + 1).to_string(),
        ];
        let mut numbers = segment.row().to_vec();
        numbers.extend([raw.pressure, raw.shear, raw.heat]);
        if let Some([long, force, power]) = si {
            numbers.extend([
                long * segment.arc,
                long * raw.point[0],
                long * raw.point[1],
                force * pressure,
                force * shear,
                power * heat,
            ]);
        }
        row.extend(numbers.into_iter().map(|number| number.to_string()));
        row
    });
    output::table(&columns, rows)
}

/// Length 1 of a case in m, units of stresses in Pa and of heat fluxes in W/m^2.
fn scales(si: &GasInSi) -> Result<[f64; 3]> {
    let units = si.units()?;
    Ok([si.length, units.pressure_pa, units.heat_flux_w_m2])
}

/// The walls for VTK.
pub(super) fn lines(segments: &[Segment]) -> Vec<u8> {
    let scalar = |value: fn(&Segment) -> f64| segments.iter().map(value).collect::<Vec<f64>>();
    Lines {
        ends: segments.iter().map(Segment::ends).collect(),
        scalars: vec![
            ("body", scalar(|s| (s.raw.body + 1) as f64)),
            ("pressure", scalar(|s| s.mean[0])),
            ("shear", scalar(|s| s.mean[1])),
            ("heat", scalar(|s| s.mean[2])),
            ("slip", scalar(|s| s.mean[3])),
            ("jump", scalar(|s| s.mean[4])),
            ("pressure_raw", scalar(|s| s.raw.pressure)),
            ("shear_raw", scalar(|s| s.raw.shear)),
            ("heat_raw", scalar(|s| s.raw.heat)),
        ],
        vectors: vec![(
            "normal",
            segments
                .iter()
                .map(|s| [s.raw.normal[0], s.raw.normal[1], 0.0])
                .collect(),
        )],
    }
    .encode()
}

/// Ends of the segments of all walls, as lines of a plot.
pub(super) fn walls(segments: &[Segment]) -> impl Iterator<Item = Vec<(f64, f64)>> + '_ {
    segments
        .iter()
        .map(|segment| segment.ends().map(|[x, y]| (x, y)).to_vec())
}
