//! The tail of one integral: its search, and the number of areas that it takes.

use rarefy_kernels::longman::Status;

use super::MOST_AREAS;
use super::tail::{Tail, Wave};
use crate::longman::driver::{Demand, Integral};
use crate::longman::far::amplitude_vanishes;
use crate::longman::integrand::Function;
use crate::longman::oscillator::Oscillator;

/// Part of the tolerance that the remainder may have.
const SHARE: f64 = 0.1;

/// The least remainder that is asked for, of integrals all of whose samples are zero.
const LEAST: f64 = 1e-280;

/// Knowledge of an integral after the classification of its areas.
pub(in crate::longman) struct Beyond {
    /// The first boundary and the last one, in phase.
    pub(in crate::longman) first: f64,
    pub(in crate::longman) last: f64,
    /// Areas below this are nothing.
    pub(in crate::longman) nothing: f64,
    pub(in crate::longman) found: Integral,
    /// About what the integral is, if the areas had no outcome.
    pub(in crate::longman) guess: f64,
}

impl Beyond {
    /// The number of areas that lie before a place from which on the tail is known, at least `areas`, and the tail; none if it is not known anywhere near.
    pub(in crate::longman) fn tail(
        &self,
        amplitude: &mut impl Function,
        (oscillator, omega): (Oscillator, f64),
        (phase, areas): (f64, usize),
        demand: &Demand,
    ) -> Option<(usize, Tail)> {
        let wave = Wave::new(oscillator, omega);
        let value = if self.found.value.is_finite() {
            self.found.value
        } else {
            self.guess
        };
        let target = (SHARE * demand.tolerance(value)).max(LEAST);
        let from = self.last / omega;
        let mut found = wave.reach(&mut amplitude.enclosed()?, (from, target), false);
        if found.is_none() && self.found.status != Status::PremiseViolated {
            // A power of zero and what oscillates may vanish, which shows far out.
            let vanishes =
                amplitude_vanishes(amplitude, oscillator, from, self.nothing * omega) == Some(true);
            if vanishes {
                found = wave.reach(&mut amplitude.enclosed()?, (from, target), true);
            }
        }
        let found = found?;
        let mut enclosed = amplitude.enclosed()?;
        // Areas across a pole need not alternate; where they do not, there must be none.
        if self.found.status == Status::PremiseViolated
            && !wave.bounded(&mut enclosed, (self.first / omega, from))
        {
            return None;
        }
        if found.from <= from {
            let zero = (self.last, oscillator.sign_after(self.last));
            return Some((areas, wave.tail(&mut enclosed, zero, &found)));
        }
        // Zeros of Bessel functions are more than 2.4 apart, the others pi.
        let more = (omega * (found.from - from) / 2.4).ceil();
        if more > (2 * MOST_AREAS) as f64 {
            return None;
        }
        let zeros = oscillator.zeros_beyond(phase, areas + more as usize + 2);
        let count = zeros.partition_point(|zero| zero / omega < found.from);
        let zero = *zeros.get(count)?;
        if count > areas + MOST_AREAS {
            return None;
        }
        let zero = (zero, oscillator.sign_after(zero));
        Some((count, wave.tail(&mut enclosed, zero, &found)))
    }
}
