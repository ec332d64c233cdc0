//! The stages of a step in which relaxation to the Maxwellian M of f is implicit: `df/dt = T(f) + [Q(f) - beta (M - f)] + beta (M - f)`.
//!
//! The bracket is small near equilibrium however large the rate beta is, so that it may be explicit. The implicit part keeps mass, momentum and energy, so the explicit part determines M,
//! and a stage is solved in closed form. F. Filbet and S. Jin, J. Comput. Phys. 229 (2010) 7625; G. Dimarco and L. Pareschi, SIAM J. Numer. Anal. 51 (2013) 1064.

use super::balanced::{AXES_WORDS, BALANCE_WORDS, solve};
use super::correction::{Share, sum_parts};
use super::{GridShape, summary};
use crate::kernel;
use crate::math::quotient;

/// The rate beta over the largest frequency of the loss. In stiff steps a mode of rate `nu = (1 - r) beta` is multiplied by `r (5.83 r - 4.83)`, which is -1 at `r = 0.41`: with 2 all
/// modes have `r >= 1/2` and are damped.
pub const PENALTY: f64 = 2.0;

/// Weights of a stage, and the place of its distributions among those of all cells of space.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct StageWeights {
    /// Time step times the weight of the explicit part of the stage before; 0 in the first stage of a step, which finds beta.
    pub before: f64,
    /// Time step times the weight of the explicit part of this stage.
    pub now: f64,
    /// Time step times the weight of its implicit part.
    pub relaxing: f64,
    /// Time step times the weight with which the stage is implicit itself.
    pub implicit: f64,
    /// Blocks that have left the sums of a distribution.
    pub blocks: u32,
    /// Blocks that share a distribution in the stage.
    pub sharing: u32,
    /// The cell of space of the first distribution.
    pub first: u32,
}

kernel! {
    /// The explicit sum of a stage: with `r = beta (M - f)` and `e = T + Q - r`, `out` = start + before e' + now e + relaxing r, e' being that of the stage before.
    ///
    /// `f`, `rate` and `out` have the distributions of one group of cells, `summary` and `parts` what [`sum_state()`](super::sum_state()) and the correction left of them; `start`, `transport`, `explicit` and `penalties` those of all cells.
    /// The first stage finds beta, [`PENALTY`] times the largest frequency of the loss, and leaves beta and e. Block `item sharing + b`; each finds M for itself. 40 or 32 bytes read and 8 or 16 written a node, and an exponential.
    pub fn explicit_stage(
        t, f: In<f64>, start: In<f64>, transport: In<f64>, rate: In<f64>, summaries: In<f64>, parts: In<f64>,
        penalties: InOut<f64>, explicit: InOut<f64>, out: Out<f64>; shape: GridShape, weights: StageWeights,
    )
    shared { scratch: [f64; BALANCE_WORDS], axes: [f64; AXES_WORDS] } {
        let item = quotient(t.block_idx(), weights.sharing);
        let block = t.block_idx() - item * weights.sharing;
        let sums: [f64; BALANCE_WORDS as usize] = sum_parts(t, parts, (item, weights.blocks, BALANCE_WORDS), scratch);
        let (found, maxwellian, _) = solve(t, &shape, sums, axes);
        let first_stage = weights.before == 0.0;
        let own = (weights.first + item) as usize;
        let mut beta = if first_stage {
            PENALTY * summaries.get(t, item as usize * summary::LEN + summary::OUTFLOW)
        } else {
            penalties.get(t, own)
        };
        // Without a Maxwellian all is explicit.
        if !(found && beta > 0.0 && beta < f64::INFINITY) {
            beta = 0.0;
        }
        if first_stage && block == 0 && t.thread_idx() == 0 {
            penalties.set(t, own, beta);
        }
        let share = Share::of_blocks(t, block, weights.sharing);
        let cells = shape.cells as usize;
        let mut cell = share.from;
        while cell < shape.cells {
            let here = item as usize * cells + cell as usize;
            let there = own * cells + cell as usize;
            let value = f.get(t, here);
            let relaxing = beta * (maxwellian.at(shape.velocity(cell)) - value);
            let e = transport.get(t, there) + rate.get(t, here) - relaxing;
            let mut sum = start.get(t, there) + (weights.now * e + weights.relaxing * relaxing);
            if first_stage {
                explicit.set(t, there, e);
            } else {
                sum += weights.before * explicit.get(t, there);
            }
            out.set(t, here, sum);
            cell += share.step;
        }
    }
}

kernel! {
    /// Solves a stage: `out = (sum + z M) / (1 + z)` with `z = implicit beta`, M being the Maxwellian of the explicit sum, whose moments stay.
    ///
    /// `sums` has the distributions of one group of cells, `out` and `penalties` those of all. Blocks as in [`explicit_stage()`]. 8 bytes read and 8 written a node, and an exponential.
    pub fn implicit_stage(t, sums: In<f64>, parts: In<f64>, penalties: In<f64>, out: Out<f64>; shape: GridShape, weights: StageWeights)
    shared { scratch: [f64; BALANCE_WORDS], axes: [f64; AXES_WORDS] } {
        let item = quotient(t.block_idx(), weights.sharing);
        let block = t.block_idx() - item * weights.sharing;
        let total: [f64; BALANCE_WORDS as usize] = sum_parts(t, parts, (item, weights.blocks, BALANCE_WORDS), scratch);
        let (found, maxwellian, _) = solve(t, &shape, total, axes);
        let own = (weights.first + item) as usize;
        let z = if found { weights.implicit * penalties.get(t, own) } else { 0.0 };
        let inverse = 1.0 / (1.0 + z);
        let share = Share::of_blocks(t, block, weights.sharing);
        let cells = shape.cells as usize;
        let mut cell = share.from;
        while cell < shape.cells {
            let sum = sums.get(t, item as usize * cells + cell as usize);
            let value = (sum + z * maxwellian.at(shape.velocity(cell))) * inverse;
            out.set(t, own * cells + cell as usize, value);
            cell += share.step;
        }
    }
}
