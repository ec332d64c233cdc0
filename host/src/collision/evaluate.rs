//! The collision integral on the host, from the sums to the corrected rate.

use super::balanced::Balance;
use super::correction::complete;
use super::sums::Sums;
use super::{CorrectionMethod, Evaluation, OperatorConfig};

/// The collision integral of `f`, in physical units; `balance` keeps the parts of the balanced correction.
pub(super) fn evaluate(
    config: &OperatorConfig,
    sums: &dyn Sums,
    f: &[f64],
    balance: &mut Balance,
    into: &mut Evaluation,
) {
    if config.correction == CorrectionMethod::Balanced {
        balance.split(&config.grid, f);
        balance.sum(config, sums);
    } else {
        sums.gain_and_frequency(f, &mut into.gain, &mut into.frequency);
        let factor = config.lattice_factor();
        let all = into.gain.iter_mut().chain(&mut into.frequency);
        all.for_each(|value| *value *= factor);
    }
    correct(config, f, balance, into);
}

/// The last part of it: the correction, given the sums.
pub(super) fn correct(
    config: &OperatorConfig,
    f: &[f64],
    balance: &Balance,
    into: &mut Evaluation,
) {
    if config.correction == CorrectionMethod::Balanced {
        balance.complete(&config.grid, f, into);
    } else {
        let Evaluation {
            gain,
            frequency,
            rate,
            correction,
            ..
        } = into;
        *correction = complete(config, f, gain, frequency, rate);
    }
}
