//! Many integrals of an expression on a machine: the verdicts as the driver of the CPU gives them, `None` where the CPU must answer.

use super::batch::{Amplitude, Batch, BatchConfig, Interpret, Oscillation, Verdict};
use crate::error::Result;
use crate::longman::expression::Program;
use crate::longman::{Boundaries, Integral, Oscillator, Settings};
use crate::machine::Machine;

/// Areas on the machine where the settings leave the number open; what these do not settle goes to the CPU, which takes more.
const AREAS: usize = 24;

/// Integrals of g(x) osc(omega x) from 0 on, with columns of parameters in the order of [`Program::parameters`].
///
/// The number of Gauss points is the machine's own, 7 extended to 15; the exponent of a head and the nonlinear accelerators are the CPU's.
pub fn judge_oscillating<M: Machine, T: Interpret>(
    machine: &M,
    amplitude: &Program,
    oscillator: Oscillator,
    (frequencies, parameters): (&[f64], &[Vec<f64>]),
    settings: &Settings,
) -> Result<Vec<Option<Integral>>> {
    let epsilons = oscillator.epsilons().max(amplitude.epsilons());
    let config = config::<T>(oscillator.into(), settings, epsilons);
    judge::<M, T>(
        machine,
        amplitude,
        &config,
        (frequencies, parameters),
        settings,
    )
}

/// The same of `len` whole integrands, all from `start` on and with the same boundaries.
pub fn judge_between<M: Machine, T: Interpret>(
    machine: &M,
    integrand: &Program,
    (boundaries, start): (&Boundaries, f64),
    (len, parameters): (usize, &[Vec<f64>]),
    settings: &Settings,
) -> Result<Vec<Option<Integral>>> {
    let areas = settings.areas.unwrap_or(AREAS);
    let at = boundaries.from(start, areas + 1).unwrap_or_default();
    let oscillation = Oscillation::Boundaries { start, at };
    // Boundaries that are none are a status of each row, which the CPU gives.
    if oscillation.check(areas).is_err() {
        return Ok(vec![None; len]);
    }
    let config = config::<T>(oscillation, settings, integrand.epsilons());
    judge::<M, T>(
        machine,
        integrand,
        &config,
        (&vec![1.0; len], parameters),
        settings,
    )
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

fn judge<M: Machine, T: Interpret>(
    machine: &M,
    program: &Program,
    config: &BatchConfig,
    (frequencies, parameters): (&[f64], &[Vec<f64>]),
    settings: &Settings,
) -> Result<Vec<Option<Integral>>> {
    // An absolute accuracy of the integrand is of integrals of integrals, which machines do not compute.
    if !program.runs_on_a_device() || settings.absolute_accuracy > 0.0 || frequencies.is_empty() {
        return Ok(vec![None; frequencies.len()]);
    }
    let batch = Batch::<M, T>::new(machine, config)?;
    let verdicts = batch.integrate(Amplitude::Program(program), frequencies, parameters)?;
    let integral = |verdict: Verdict| Integral {
        value: verdict.value,
        error: verdict.error,
        condition: verdict.condition,
        accelerator: verdict.accelerator,
        ..Integral::without_value(verdict.status)
    };
    Ok(verdicts.into_iter().map(|v| v.map(integral)).collect())
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
