//! Proofs that nothing hides beyond the areas of an integral, or between their nodes.
//!
//! # The theorem
//!
//! Let X be a zero of the oscillator, beyond the last area, and g the amplitude, m times differentiable on [X, inf). m integrations by parts give
//!
//! ```text
//! int_X^inf g(x) osc(omega x) dx = +-(g(X)/omega - g''(X)/omega^3 + ...) + R_m,       |R_m| <= omega^-m int_X^inf |g^(m)(x)| dx
//! ```
//!
//! for cosine and sine, all terms of odd derivatives being zero at a zero of the oscillator (A. Erdelyi, *Asymptotic Expansions*, 1956, section 2.8); for J_nu the same with
//! Bessel functions of orders nu + 1, nu + 2, ... in [`tail`]. Where g^(m) has one sign the bound is that of an alternating series, |g^(m-1)(X)|/omega^m: g^(m-1) is
//! monotone. So the name of the proof, though a sum of the magnitudes of g^(m) over ranges serves as well.
//!
//! Monotone g alone, m = 1, bounds the tail by an area, but does not confirm 13 digits of an accelerated sum: 1/(1+x) with a bump of height 1e-7 far out falls everywhere.
//! With m to 12 the remainder of x^-1 after 32 areas is 1e-15.
//!
//! # The proof
//!
//! An amplitude that is an expression is evaluated with its Taylor coefficients over ranges, in intervals ([`jet`]): |g^(m)| is bounded for all x of a range at
//! once, of an unbounded range too. A bump, a pole, a step or a kink cannot hide from that, however narrow: ranges that hold it have no finite or no small bound.
//! [`tail`] searches from infinity inwards for the place from which on the remainder is below the tolerance.
//!
//! | that place | then |
//! |---|---|
//! | X | the tail by its derivatives is compared with the accelerated value; they agree within their errors, or the estimate is enlarged, or the areas are summed directly and the tail added |
//! | further out, at most [`MOST_AREAS`] areas | areas up to there are computed, and summed with the tail beyond it |
//! | there is none | the status is NOT_CONVERGED |
//!
//! The tail is proven. Head and areas are quadratures with estimates; [`within`] finds peaks that their nodes miss. That g goes to zero is proven where its bound is a power below zero,
//! or by its leading terms at infinity ([`limit`]), and sampled at ten places up to 96 decades out where those cancel.
//!
//! Expressions with Bessel, Airy or gamma functions, whole integrands, closures and samples have no enclosures: [`sampled`] samples them densely further out.

pub(super) mod beyond;
pub(crate) mod function;
pub(crate) mod interval;
pub(crate) mod jet;
pub(crate) mod limit;
pub(super) mod sampled;
mod series;
pub(super) mod shared;
pub(crate) mod tail;
pub(super) mod within;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most areas that are put over a feature of the amplitude.
pub(super) const MOST_AREAS: usize = 2048;

/// Why an OK is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Proof {
    /// Derivatives of the amplitude bound what lies beyond the areas and between their nodes.
    Monotone,
    /// The integrand was sampled beyond the areas.
    Sampled,
    /// Nothing was looked at, as the status is not OK.
    #[default]
    None,
}

impl Proof {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monotone => "monotone",
            Self::Sampled => "sampled",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
