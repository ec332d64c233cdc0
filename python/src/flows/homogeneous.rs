//! Homogeneous relaxation by a model, beside its exact moments.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::Error;
use rarefy::accuracy::Watch as _;
use rarefy::bgk::{Axis, Gas, Homogeneous, HomogeneousMoments, HomogeneousStart};
use rarefy::compute::Compute;

use crate::accuracy::Signals;
use crate::arrays::columns;
use crate::config::with_given;
use crate::errors::raise;
use crate::work::compute;

/// Most steps of a relaxation, each of which has its record.
const MOST_STEPS: u64 = 1_000_000;

/// Columns of a history: those of any gas, and those of molecules that rotate.
const COLUMNS: [&str; 10] = [
    "time",
    "density",
    "ux",
    "temperature",
    "pxx",
    "pyy",
    "qx",
    "temperature_translational",
    "temperature_rotational",
    "heat_flux_rotational",
];

/// A time, and the moments then in units of sqrt(k T0/m) and n0 k T0.
fn row(time: f64, moments: &HomogeneousMoments) -> [f64; COLUMNS.len()] {
    let found = moments.in_thermal_units();
    let all = found.moments;
    let rotation = found.rotation.map_or([f64::NAN; 3], |of| {
        [
            of.temperature_translational,
            of.temperature_rotational,
            of.heat_flux_rotational[0],
        ]
    });
    let [xx, yy, _] = all.pressure;
    let ([ux, _], [qx, _], [own, other, q]) = (all.velocity, all.heat_flux, rotation);
    [
        time,
        all.density,
        ux,
        all.temperature,
        xx,
        yy,
        qx,
        own,
        other,
        q,
    ]
}

/// Relaxes a gas from two temperatures or two beams, of which the latter has the speed and the share of the first. The end is a number of steps, a time, or
/// the share of its departure that is left. Returns the history, the exact one, and the device.
#[pyfunction]
pub(super) fn relax_model<'py>(
    py: Python<'py>,
    gas: &Bound<'py, PyDict>,
    start: (Option<[f64; 2]>, Option<[f64; 2]>),
    velocities: Option<(usize, f64, f64)>,
    dt: Option<f64>,
    end: (Option<u64>, Option<f64>, f64),
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>, String)> {
    let ((temperatures, beams), (steps, time, share)) = (start, end);
    let gas: Gas = with_given(&Gas::default(), gas)?;
    let machine: Compute = with_given(&Compute::default(), given)?;
    let start = match (temperatures, beams) {
        (_, Some([speed, share])) => HomogeneousStart::Beams {
            speed: speed / std::f64::consts::SQRT_2,
            share,
        },
        (temperatures, None) => {
            let [translational, rotational] = temperatures.unwrap_or([1.0; 2]);
            HomogeneousStart::Temperatures {
                translational,
                rotational,
            }
        }
    };
    let case = match velocities {
        None => Homogeneous::new(gas, start),
        Some((count, low, high)) => {
            let ends = [low, high].map(|end| end / std::f64::consts::SQRT_2);
            let axis = Axis::uniform(count, ends[0], ends[1]);
            axis.and_then(|axis| Homogeneous::with_axis(gas, start, axis))
        }
    };
    let case = case.map_err(raise)?;
    for (name, value) in [("dt", dt), ("time", time), ("equilibrium", Some(share))] {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(raise(Error::invalid(name, value, "a positive number")));
        }
    }
    let usual = dt.unwrap_or_else(|| case.time_step());
    let (dt, steps) = match (steps, time) {
        (Some(steps), _) => (usual, steps),
        (None, Some(time)) => {
            // A given step ends as near to the time as it can.
            let steps = match dt {
                Some(_) => (time / usual).round().max(1.0),
                None => (time / usual).ceil(),
            };
            (dt.unwrap_or(time / steps), steps as u64)
        }
        (None, None) => {
            let steps = case.steps_to_equilibrium(usual, share, MOST_STEPS);
            (usual, steps.unwrap_or(u64::MAX))
        }
    };
    if steps > MOST_STEPS {
        let expected = format!("an end at most {MOST_STEPS} steps of dt = {dt} away");
        return Err(raise(Error::invalid("the end", "farther", expected)));
    }
    let signals = Signals::default();
    let (rows, exact, device) = compute(py, || {
        let mut run = case.begin(dt, machine)?;
        let mut exact = case.exact();
        let mut rows = vec![row(0.0, &Homogeneous::moments(&mut run)?)];
        let mut truth = vec![row(0.0, &exact.at(0.0))];
        while run.steps_taken() < steps && !signals.is_stopped() {
            run.advance(1)?;
            let time = run.time();
            rows.push(row(time, &Homogeneous::moments(&mut run)?));
            truth.push(row(time, &exact.at(time)));
        }
        Ok((rows, truth, run.device()))
    })?;
    signals.check()?;
    let rows = columns(py, COLUMNS, rows.into_iter())?;
    Ok((rows, columns(py, COLUMNS, exact.into_iter())?, device))
}
