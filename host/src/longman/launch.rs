//! Tasks on a machine: which integrals kernels classify, and which the CPU computes.

use rarefy_kernels::longman::Status;
use rayon::prelude::*;

use super::driver::Integral;
use super::gpu::batch::{Amplitude, Batch, BatchConfig, Interpret, Oscillation, Outcome};
use super::gpu::{head_steps, panels};
use super::integrals::Rows;
use super::integrate::Settings;
use super::oscillator::Oscillator;
use super::proof::Proof;
use super::proof::shared::{self, Item};
use super::quadrature::Kronrod;
use super::task::{Form, Kind, LEAST_SINGLE, Quantity, Task};
use crate::compute::Precision;
use crate::error::Result;
use crate::machine::Machine;

/// Where there are more groups than this, those with fewer integrals than [`FEW`] are left to the CPU: each group has a table of its own.
const MANY_GROUPS: usize = 8;
const FEW: usize = 64;

/// Rows that are worth a task of their own.
const PARALLEL: usize = 1024;

/// Integrals that share a table.
struct Group {
    oscillation: Oscillation,
    /// Rows, and the frequency of each.
    rows: Vec<usize>,
    frequencies: Vec<f64>,
}

impl Task {
    /// The integrals of rows, by the kernels of a machine; the CPU computes those that they leave undecided or do not cover.
    pub(super) fn integrate_with<M: Machine>(
        &self,
        machine: &M,
        rows: &Rows<'_>,
        settings: &Settings,
        precision: Precision,
    ) -> Result<Vec<Integral>> {
        let mut results: Vec<Option<Integral>> = Vec::new();
        results.par_extend(rayon::iter::repeat_n(None, rows.count));
        for group in groups(self, rows, settings)? {
            let outcomes = match precision {
                Precision::F64 => classify::<M, f64>(self, machine, &group, rows, settings)?,
                Precision::F32 => classify::<M, f32>(self, machine, &group, rows, settings)?,
            };
            let epsilon = match precision {
                Precision::F64 => f64::EPSILON,
                Precision::F32 => f64::from(f32::EPSILON),
            };
            let unseen = prove(self, &group, rows, (&outcomes, epsilon), settings);
            // More areas may still lead to a value, or f64.
            let more = settings.areas.is_none();
            let known = |i: usize, outcome: &Option<Outcome>| {
                outcome
                    .filter(|v| v.status == Status::Ok || !(more || precision == Precision::F32))
                    .filter(|v| precision == Precision::F64 || v.value.abs() >= LEAST_SINGLE)
                    .map(|outcome| Integral {
                        value: outcome.value,
                        error: outcome.error,
                        status: outcome.status,
                        accelerator: outcome.accelerator,
                        condition: outcome.condition,
                        proof: Proof::None,
                        examined: 0.0,
                        unproven: None,
                        imaginary: None,
                    })
                    // Nothing but zeros takes a proof of the head too.
                    .filter(|found| found.status != Status::Ok || found.value != 0.0)
                    .map(|found| match found.status {
                        Status::Ok => Integral {
                            error: found.error + unseen[i],
                            ..found
                        },
                        _ => found,
                    })
                    .filter(|found| {
                        let most = settings.atol.max(settings.rtol * found.value.abs());
                        found.status != Status::Ok || found.error <= most
                    })
                    .map(|found| found.proven())
            };
            if group.rows.len() == results.len() {
                let pairs = results.par_iter_mut().zip(&outcomes).enumerate();
                pairs
                    .with_min_len(PARALLEL)
                    .for_each(|(i, (result, outcome))| *result = known(i, outcome));
            } else {
                for (i, (row, outcome)) in group.rows.iter().zip(&outcomes).enumerate() {
                    results[*row] = known(i, outcome);
                }
            }
        }
        results
            .into_par_iter()
            .enumerate()
            .map(|(i, known)| match known {
                Some(integral) => Ok(integral),
                None => self.integral(rows.limits(i), &rows.row(i), settings, precision),
            })
            .collect()
    }
}

/// The rows that kernels take, by their tables.
fn groups(task: &Task, rows: &Rows<'_>, settings: &Settings) -> Result<Vec<Group>> {
    let others = settings.head_exponent.is_some()
        || settings.absolute_accuracy > 0.0
        || settings.nonlinear
        || settings.gauss != Settings::default().gauss;
    if others {
        return Ok(Vec::new());
    }
    // Whether the areas of a whole integrand fall to zero takes all of them at once: the CPU sees that.
    let Form::Oscillating {
        amplitude,
        kind,
        frequency,
        ..
    } = &task.form
    else {
        return Ok(Vec::new());
    };
    if kernel_of(task, amplitude).is_none() {
        return Ok(Vec::new());
    }
    let (areas, _) = settings.counts();
    // Frequency and order of the rows that kernels can take.
    let wanted = |row: &mut Vec<f64>, i: usize| -> Result<Option<(Oscillation, f64)>> {
        rows.load(i, row);
        if rows.lower(i) != 0.0
            || rows.upper(i) != f64::INFINITY
            || row.iter().any(|value| !value.is_finite())
        {
            return Ok(None);
        }
        let omega = frequency.value(row)?;
        if !(omega > 0.0 && omega.is_finite()) {
            return Ok(None);
        }
        let oscillation = match kind {
            Kind::Cos => Oscillation::Cos,
            Kind::Sin => Oscillation::Sin,
            Kind::Bessel(order) => Oscillation::Bessel(order.value(row)?),
        };
        let possible = oscillation.check(areas).is_ok();
        Ok(possible.then_some((oscillation, omega)))
    };
    let wanted: Vec<Option<(Oscillation, f64)>> = (0..rows.count)
        .into_par_iter()
        .with_min_len(PARALLEL)
        .map_init(Vec::new, wanted)
        .collect::<Result<_>>()?;
    let mut groups: Vec<Group> = Vec::new();
    for (i, (oscillation, frequency)) in wanted
        .into_iter()
        .enumerate()
        .filter_map(|(i, w)| Some((i, w?)))
    {
        // Few orders come in long runs: the last group is looked at first.
        match groups
            .iter_mut()
            .rev()
            .find(|group| group.oscillation == oscillation)
        {
            Some(group) => {
                group.rows.push(i);
                group.frequencies.push(frequency);
            }
            None => groups.push(Group {
                oscillation,
                rows: vec![i],
                frequencies: vec![frequency],
            }),
        }
    }
    if groups.len() > MANY_GROUPS {
        groups.retain(|group| group.rows.len() >= FEW);
    }
    Ok(groups)
}

/// Bounds on what may hide in the outcomes that are OK, infinite where that may be a feature. Those the CPU computes, with areas over what is there.
///
/// Rows are split by their parameters until one proof with intervals for parameters serves all rows of a part: of a million rows a part has hundreds.
fn prove(
    task: &Task,
    group: &Group,
    rows: &Rows<'_>,
    (outcomes, epsilon): (&[Option<Outcome>], f64),
    settings: &Settings,
) -> Vec<f64> {
    let mut proven = vec![f64::INFINITY; group.rows.len()];
    let Form::Oscillating { amplitude, .. } = &task.form else {
        return proven;
    };
    let oscillator = match group.oscillation {
        Oscillation::Bessel(nu) => Oscillator::BesselJ(nu),
        Oscillation::Sin => Oscillator::Sin,
        _ => Oscillator::Cos,
    };
    let (areas, _) = settings.counts();
    let zeros = oscillator.zeros_beyond(0.0, areas + 1);
    let rule = shared::Rule {
        oscillator,
        zeros: &zeros,
        gap: Kronrod::new(settings.gauss).gap(),
        step: head_steps(epsilon).0,
        panels,
    };
    let row = |i: usize| -> Vec<f64> {
        let places = amplitude.places.iter();
        let of = |place: &usize| rows.value(*place, group.rows[i]);
        places.map(of).collect()
    };
    let candidates: Vec<usize> = (0..group.rows.len())
        .filter(|i| outcomes[*i].is_some_and(|v| v.status == Status::Ok))
        .collect();
    let items: Vec<Item> = candidates
        .par_iter()
        .with_min_len(PARALLEL)
        .filter_map(|&i| {
            let outcome = outcomes[i]?;
            let tolerance = settings.atol.max(settings.rtol * outcome.value.abs());
            Some(Item {
                index: i,
                omega: group.frequencies[i],
                tolerance,
                parameters: row(i),
            })
        })
        .collect();
    for (index, unseen) in shared::prove(&amplitude.program, rule, items) {
        proven[index] = unseen;
    }
    proven
}

/// The kernel of an amplitude, and where its parameters come from.
fn kernel_of<'a>(
    task: &Task,
    amplitude: &'a Quantity,
) -> Option<(Amplitude<'a>, Vec<Source<'static>>)> {
    use Source::{Fixed, Named};
    Some(match task.family {
        Some("damped-cos" | "damped-sin") => (Amplitude::Damped, vec![Named("lambda")]),
        Some("bessel") => (Amplitude::PowerDamped, vec![Named("mu"), Named("lambda")]),
        Some("sommerfeld") => (Amplitude::Sommerfeld, vec![Named("k"), Named("z")]),
        Some("rational-cos") => (Amplitude::Rational, vec![Named("p"), Fixed(0.0)]),
        Some("rational-sin") => (Amplitude::Rational, vec![Named("p"), Fixed(1.0)]),
        _ if amplitude.program.runs_on_a_device() && !amplitude.program.may_have_steps() => {
            (Amplitude::Program(&amplitude.program), Vec::new())
        }
        _ => return None,
    })
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Source<'a> {
    Named(&'a str),
    Fixed(f64),
}

fn classify<M: Machine, T: Interpret>(
    task: &Task,
    machine: &M,
    group: &Group,
    rows: &Rows<'_>,
    settings: &Settings,
) -> Result<Vec<Option<Outcome>>> {
    let (areas, _) = settings.counts();
    let Form::Oscillating { amplitude, .. } = &task.form else {
        return Ok(vec![None; group.rows.len()]);
    };
    let Some((kernel, sources)) = kernel_of(task, amplitude) else {
        return Ok(vec![None; group.rows.len()]);
    };
    let place = |name: &str| task.parameters().iter().position(|known| known == name);
    let column = |place: usize| -> Vec<f64> {
        let places = group.rows.par_iter().with_min_len(PARALLEL);
        places.map(|row| rows.value(place, *row)).collect()
    };
    let columns: Vec<Vec<f64>> = match kernel {
        Amplitude::Program(_) => amplitude
            .places
            .iter()
            .map(|place| column(*place))
            .collect(),
        _ => sources
            .iter()
            .map(|source| match source {
                Source::Fixed(value) => vec![*value; group.rows.len()],
                Source::Named(name) => place(name).map_or_else(Vec::new, column),
            })
            .collect(),
    };
    let oscillator = match group.oscillation {
        Oscillation::Bessel(nu) => Oscillator::BesselJ(nu).epsilons(),
        _ => 4.0,
    };
    let accuracy = match settings.accuracy {
        Some(accuracy) => accuracy / T::EPSILON.to_f64(),
        None => amplitude.program.epsilons().max(oscillator),
    };
    let config = BatchConfig {
        oscillation: group.oscillation.clone(),
        areas,
        relative: settings.rtol,
        absolute: settings.atol,
        accuracy,
    };
    let batch = Batch::<M, T>::new(machine, &config)?;
    batch.integrate(kernel, &group.frequencies, &columns)
}
