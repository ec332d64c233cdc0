//! The limiter: takes away what is below zero of a distribution, and keeps its mass, momentum and energy.

use super::GridShape;
use super::correction::{
    Basis, MOMENT_WORDS, SYSTEM_WORDS, Share, System, centre, dot, first_moments, spreads, theta,
    weighted_moments,
};
use super::reduce::{block_combine, block_sum, scratch_words};
use crate::kernel;
use crate::math::Real;

/// Most rounds of the limiter; one does unless most of f is below zero somewhere.
pub const LIMIT_ROUNDS: u32 = 8;

kernel! {
    /// Replaces f by `f+ (1 + d . phi)`, f+ = max(f, 0), with the five coefficients d for which the sums of the invariants stay. Where that is negative
    /// again, so where d . phi < -1, another round follows. A distribution without negative values is left as it is.
    ///
    /// One block of [`REDUCE_THREADS`](super::REDUCE_THREADS) a distribution; thread k owns the cells k, k + block_dim, .... `work` receives f times its scale.
    pub fn limit_negative<T: Real>(t, scales: In<f64>, f: InOut<f64>, work: Out<T>; shape: GridShape) for f32, f64
    shared { scratch: [f64; scratch_words(MOMENT_WORDS)], words: [f64; SYSTEM_WORDS] } {
        let share = Share::of_block(t);
        let first = t.block_idx() as usize * shape.cells as usize;
        let scale = scales.get(t, t.block_idx() as usize);
        let system = System(words);
        let mut round = 0;
        while round < LIMIT_ROUNDS {
            let mut least = 0.0_f64;
            let mut cell = share.from;
            while cell < shape.cells {
                least = least.min(f.get(t, first + cell as usize));
                cell += share.step;
            }
            let [least] = block_combine(t, [least], scratch, |a, b| a.min(b));
            let above = |cell: u32| f.get(t, first + cell as usize).max(0.0);
            let mut regular = false;
            if least < 0.0 {
                let mass = block_sum(t, first_moments(&shape, above, share), scratch);
                let u = centre(mass);
                let pair = |cell: u32| {
                    let value = f.get(t, first + cell as usize);
                    (value.max(0.0), value.min(0.0))
                };
                let moments = block_sum(t, weighted_moments(&shape, pair, u, share).1, scratch);
                let theta = theta(mass[0], &moments);
                if t.thread_idx() == 0 {
                    system.set_up(t, mass[0], &moments);
                }
                t.sync_threads();
                regular = spreads(mass[0], theta, &shape) && system.is_regular(t);
                if regular {
                    let basis = Basis { u, inverse_root_theta: 1.0 / Real::sqrt(theta) };
                    let delta = system.solution(t);
                    let mut cell = share.from;
                    while cell < shape.cells {
                        let value = above(cell);
                        let phi = basis.phi(shape.velocity(cell));
                        f.set(t, first + cell as usize, value + value * dot(&delta, &phi));
                        cell += share.step;
                    }
                }
                // The system is set up anew in the next round.
                t.sync_threads();
            }
            round = if regular { round + 1 } else { LIMIT_ROUNDS };
        }
        let mut cell = share.from;
        while cell < shape.cells {
            let at = first + cell as usize;
            work.set(t, at, T::from_f64(scale * f.get(t, at)));
            cell += share.step;
        }
    }
}
