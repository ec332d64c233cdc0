//! Many integrals with an amplitude, or an integrand, given as an expression: judged on a machine, and what that leaves undecided on the CPU.

use super::batch::{Amplitude, Batch, BatchConfig, Interpret, Oscillation, Verdict};
use crate::error::{Error, Result};
use crate::longman::expression::{Evaluator, Program};
use crate::longman::{
    Boundaries, Integral, Oscillator, Settings, integrate_between, integrate_oscillating,
};
use crate::machine::Machine;

/// Areas on the machine where the settings leave the number open; what these do not settle goes to the CPU, which takes more.
const AREAS: usize = 24;

/// The integrals, one a row; columns of equal lengths.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Frequencies of the oscillator; empty where the integrand is whole.
    pub frequencies: &'a [f64],
    /// Lower limits; empty where all are 0.
    pub lower: &'a [f64],
    /// Columns of the parameters, in the order of [`Program::parameters`].
    pub parameters: &'a [Vec<f64>],
    /// Rows.
    pub len: usize,
}

impl Rows<'_> {
    fn lower(&self, row: usize) -> f64 {
        self.lower.get(row).copied().unwrap_or(0.0)
    }

    fn parameters(&self, row: usize) -> Vec<f64> {
        let columns = self.parameters.iter();
        columns
            .map(|column| column.get(row).copied().unwrap_or(f64::NAN))
            .collect()
    }

    fn check(&self, program: &Program) -> Result<()> {
        let lengths = self.parameters.iter().map(Vec::len);
        let optional = [self.lower.len(), self.frequencies.len()];
        let optional = optional.into_iter().filter(|len| *len > 0);
        if let Some(len) = lengths.chain(optional).find(|len| *len != self.len) {
            return Err(Error::input(format!(
                "a column of {len} values was given for {} integrals",
                self.len
            )));
        }
        if self.parameters.len() != program.parameters().len() {
            return Err(Error::input(format!(
                "{} columns of parameters were given; the expression has {}",
                self.parameters.len(),
                program.parameters().len()
            )));
        }
        Ok(())
    }
}

/// Integrals, and how many of them the machine has decided itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// One for each row.
    pub integrals: Vec<Integral>,
    /// Rows that the CPU did not have to look at.
    pub decided: usize,
}

/// Integrals of g(x) osc(omega x) from each row's lower limit on, in precision `T` on the machine and in double precision where the CPU takes over.
///
/// The machine takes the rows whose lower limit is 0. The number of Gauss points is its own, 7 extended to 15, and the exponent of a head and the
/// nonlinear accelerators are for the CPU only.
pub fn integrate_many<M: Machine, T: Interpret>(
    machine: &M,
    amplitude: &Program,
    oscillator: Oscillator,
    rows: &Rows<'_>,
    settings: &Settings,
) -> Result<Answers> {
    rows.check(amplitude)?;
    settings.check()?;
    oscillator.check()?;
    if rows.frequencies.len() != rows.len {
        return Err(Error::input(
            "an oscillator needs a frequency for every integral",
        ));
    }
    let config = config::<T>(
        oscillator.into(),
        settings,
        oscillator.epsilons().max(amplitude.epsilons()),
    );
    let on_machine: Vec<usize> = (0..rows.len)
        .filter(|row| rows.lower(*row) == 0.0)
        .collect();
    let verdicts = judge::<M, T>(machine, amplitude, &config, rows, &on_machine)?;
    finish(rows, &on_machine, &verdicts, |row| {
        let mut g = Evaluator::<f64>::new(amplitude, &rows.parameters(row))?;
        let omega = rows.frequencies[row];
        integrate_oscillating(|x| g.at(x), oscillator, omega, rows.lower(row), settings)
    })
}

/// The same for whole integrands with boundaries that all rows share. The machine takes the rows that share the first row's lower limit.
pub fn integrate_many_between<M: Machine, T: Interpret>(
    machine: &M,
    integrand: &Program,
    boundaries: &Boundaries,
    rows: &Rows<'_>,
    settings: &Settings,
) -> Result<Answers> {
    rows.check(integrand)?;
    settings.check()?;
    let start = if rows.len > 0 { rows.lower(0) } else { 0.0 };
    let areas = settings.areas.unwrap_or(AREAS);
    let at = boundaries.from(start, areas + 1).unwrap_or_default();
    let oscillation = Oscillation::Boundaries { start, at };
    // Boundaries that are none are a verdict of the CPU on each row, not an error here.
    let (on_machine, verdicts) = if oscillation.check(areas).is_ok() {
        let on_machine: Vec<usize> = (0..rows.len)
            .filter(|row| rows.lower(*row) == start)
            .collect();
        let config = config::<T>(oscillation, settings, integrand.epsilons());
        let ones = vec![1.0; rows.len];
        let rows = Rows {
            frequencies: &ones,
            ..*rows
        };
        let verdicts = judge::<M, T>(machine, integrand, &config, &rows, &on_machine)?;
        (on_machine, verdicts)
    } else {
        (Vec::new(), Vec::new())
    };
    finish(rows, &on_machine, &verdicts, |row| {
        let mut f = Evaluator::<f64>::new(integrand, &rows.parameters(row))?;
        integrate_between(|x| f.at(x), rows.lower(row), boundaries, settings)
    })
}

/// What the machine is asked; an integrand is never taken to be more accurate than the machine's arithmetic.
fn config<T: Interpret>(
    oscillation: Oscillation,
    settings: &Settings,
    epsilons: f64,
) -> BatchConfig {
    let given = settings.accuracy.map_or(0.0, |a| a / T::EPSILON.to_f64());
    BatchConfig {
        areas: settings.areas.unwrap_or(AREAS),
        relative: settings.rtol,
        absolute: settings.atol,
        accuracy: epsilons.max(given).max(4.0),
        oscillation,
    }
}

/// The machine's verdicts on some of the rows.
fn judge<M: Machine, T: Interpret>(
    machine: &M,
    program: &Program,
    config: &BatchConfig,
    rows: &Rows<'_>,
    chosen: &[usize],
) -> Result<Vec<Option<Verdict>>> {
    if !program.runs_on_a_device() || chosen.is_empty() {
        return Ok(vec![None; chosen.len()]);
    }
    let pick = |column: &[f64]| chosen.iter().map(|row| column[*row]).collect::<Vec<f64>>();
    let parameters: Vec<Vec<f64>> = rows.parameters.iter().map(|c| pick(c)).collect();
    Batch::<M, T>::new(machine, config)?.integrate(
        Amplitude::Program(program),
        &pick(rows.frequencies),
        &parameters,
    )
}

/// Puts the verdicts in their places and has the CPU do the rest.
fn finish(
    rows: &Rows<'_>,
    chosen: &[usize],
    verdicts: &[Option<Verdict>],
    on_cpu: impl Fn(usize) -> Result<Integral> + Sync,
) -> Result<Answers> {
    use rayon::prelude::*;
    let mut known: Vec<Option<Integral>> = vec![None; rows.len];
    for (row, verdict) in chosen.iter().zip(verdicts) {
        known[*row] = verdict.map(|verdict| Integral {
            value: verdict.value,
            error: verdict.error,
            condition: verdict.condition,
            accelerator: verdict.accelerator,
            ..Integral::without_value(verdict.status)
        });
    }
    let decided = known.iter().flatten().count();
    let integrals: Result<Vec<Integral>> = known
        .into_par_iter()
        .enumerate()
        .map(|(row, known)| match known {
            Some(integral) => Ok(integral),
            None => on_cpu(row),
        })
        .collect();
    Ok(Answers {
        integrals: integrals?,
        decided,
    })
}

impl From<Oscillator> for Oscillation {
    fn from(oscillator: Oscillator) -> Self {
        match oscillator {
            Oscillator::Cos => Self::Cos,
            Oscillator::Sin => Self::Sin,
            Oscillator::BesselJ(nu) => Self::Bessel(nu),
        }
    }
}
