//! Kernels of the isotropic Boltzmann equation in energy space, and of economies that trade like it.
//!
//! The equation is that of V. V. Aristov, A. D. Yastrebov and A. V. Stroganov (2020); that its sum over O(M^3) coefficients can be taken
//! in O(M^2) operations is derived at [`mod@pairs`]. All kernels work on several states at once; state k of an array begins at `k * pitch`.
//!
//! | file | kernels |
//! |---|---|
//! | `pairs` | the operator by jump pairs |
//! | `batch` | the same of many states, which lie along the lanes |
//! | `shells` | isotropic scattering, and economies in which all is shared |
//! | `saving` | economies in which a share is saved |
//! | `economies` | states of many economies along the lanes; those in which all is shared |
//! | `saving_lanes` | the same, those in which a share is saved |
//! | `paper` | the operator from stored coefficients, as in the paper: every one, and one of each set of equal ones |
//! | `advance` | stages of a time step, moments |

pub mod advance;
pub mod batch;
pub mod economies;
pub mod pairs;
pub mod paper;
pub mod saving;
pub mod saving_lanes;
pub mod shells;

pub use advance::*;
pub use batch::*;
pub use economies::*;
pub use pairs::*;
pub use paper::*;
pub use saving::*;
pub use saving_lanes::*;
pub use shells::*;

use crate::math::Real;
use crate::memory::Shared;
use crate::simt::{Simt, WARP};

/// One stage of an explicit Runge-Kutta method: the state moves to
/// `start + state (f - start) + sum (s - start) + rate h`, where h is the time step times df/dt, and the sum s to `s + sum_rate h`.
///
/// Written with differences, so that the coefficients of the three states add up to 1 without error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Stage {
    /// Coefficient of the state.
    pub state: f64,
    /// Coefficient of the sum.
    pub sum: f64,
    /// Coefficient of the rate.
    pub rate: f64,
    /// Coefficient of the rate in the sum.
    pub sum_rate: f64,
}

impl Stage {
    /// The next state and the next sum.
    #[inline(always)]
    pub fn next(&self, start: f64, f: f64, sum: f64, h: f64) -> (f64, f64) {
        let mixed = self.state * (f - start) + self.sum * (sum - start) + self.rate * h;
        (start + mixed, sum + self.sum_rate * h)
    }
}

/// Sums over the lanes of a warp, the same in all of them.
#[inline(always)]
#[track_caller]
pub(crate) fn warp_sum<S: Simt>(t: &S, value: f64) -> f64 {
    let mut value = value;
    value += t.shuffle_xor(value, 16);
    value += t.shuffle_xor(value, 8);
    value += t.shuffle_xor(value, 4);
    value += t.shuffle_xor(value, 2);
    value += t.shuffle_xor(value, 1);
    value
}

/// Sum over this lane and those above it.
#[inline(always)]
#[track_caller]
pub(crate) fn warp_sum_above<S: Simt>(t: &S, value: f64) -> f64 {
    let mut value = value;
    let mut delta = 1;
    while delta < WARP {
        let other = t.shuffle_down(value, delta);
        value += if t.lane() + delta < WARP { other } else { 0.0 };
        delta *= 2;
    }
    value
}

/// Sum over this lane and those below it.
#[inline(always)]
#[track_caller]
pub(crate) fn warp_sum_below<S: Simt>(t: &S, value: f64) -> f64 {
    let mut value = value;
    let mut delta = 1;
    while delta < WARP {
        let source = t.lane().wrapping_sub(delta) % WARP;
        let other = t.shuffle(value, source);
        value += if t.lane() >= delta { other } else { 0.0 };
        delta *= 2;
    }
    value
}

/// Distance of two rows of a 32 x 32 tile in shared memory: neighbouring lanes reach different banks along rows and along columns.
pub(crate) const TILE_PITCH: u32 = WARP + 1;

/// Sum of row `lane` of a tile, in f64 and in a fixed order.
#[inline(always)]
#[track_caller]
pub(crate) fn row_sum<S: Simt, T: Real>(t: &S, tile: Shared<'_, T>, at: u32) -> f64 {
    let row = at + t.lane() * TILE_PITCH;
    let mut sums = [0.0; 4];
    let mut c = 0;
    while c < WARP {
        for k in 0..4 {
            sums[k] += tile.get(t, row + c + k as u32).to_f64();
        }
        c += 4;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
