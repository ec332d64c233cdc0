//! Isotropic scattering, and economies in which agents split all they have.

use super::{warp_sum, warp_sum_above, warp_sum_below};
use crate::kernel;
use crate::math::quotient;
use crate::simt::WARP;

/// The cells of a shell that its symmetry leaves, a = min(i, j): the first, and how many.
#[inline(always)]
pub(crate) const fn reduced(s: u32, cells: u32) -> (u32, u32) {
    let first = if s < cells { 0 } else { s - (cells - 1) };
    (first, s / 2 + 1 - first)
}

/// The shell of a block: the largest first, outwards from the middle.
#[inline(always)]
pub(crate) const fn shell_of(block: u32, cells: u32) -> u32 {
    let step = block.div_ceil(2);
    if block.is_multiple_of(2) {
        cells - 1 + step
    } else {
        cells - 1 - step
    }
}

kernel! {
    /// Isotropic scattering, for one state: `flows[i][j]` is what collisions of i with j add to cell i.
    ///
    /// **Block**: one warp, one shell s = i + j, whose coefficients h_a depend on the lowest cell a only. With p_a = f_a f_(s-a) and mu = 2, or 1 for a = s/2,
    /// y_a = sum over b <= a of h_b mu_b (p_b - p_a) + h_a sum over b > a of mu_b (p_b - p_a): two running sums by warp scans, one up for those below and
    /// one down for those above, which waits in shared memory. With `frequencies` the sums of the coefficients instead. 12 bytes read and 16 written
    /// for each a; M^2/2 of them.
    pub fn shell_flows<T: Real>(
        t, table: In<T>, starts: In<u64>, f: In<T>, flows: Out<f64>; cells: u32, base: u32, frequencies: u32,
    ) for f32, f64
    shared { above: [f64; cells.div_ceil(2) + 33] } {
        let s = shell_of(t.block_idx(), cells);
        let (first, count) = reduced(s, cells);
        let start = starts.get(t, s as usize) as usize;
        let product = |a: u32| {
            let low = f.get(t, (base + first + a) as usize).to_f64();
            low * f.get(t, (base + s - first - a) as usize).to_f64()
        };
        let many = |a: u32| if 2 * (first + a) == s { 1.0 } else { 2.0 };

        let mut chunk = count.div_ceil(WARP);
        let mut beyond = 0.0;
        while chunk > 0 {
            chunk -= 1;
            let a = chunk * WARP + t.lane();
            let own = if a < count { many(a) * product(a) } else { 0.0 };
            let sum = warp_sum_above(t, own);
            // Those above a, without a itself, of this chunk and of the ones above.
            let next = t.shuffle_down(sum, 1);
            let next = if t.lane() + 1 < WARP { next } else { 0.0 };
            if a < count {
                above.set(t, a, next + beyond);
            }
            beyond += t.shuffle(sum, 0);
        }
        t.sync_warp();

        let chunks = count.div_ceil(WARP);
        let last = many(count - 1);
        let (mut p_below, mut m_below) = (0.0, 0.0);
        for chunk in 0..chunks {
            let a = chunk * WARP + t.lane();
            let inside = a < count;
            let (h, p, m) = if inside {
                (table.get(t, start + a as usize).to_f64(), product(a), many(a))
            } else {
                (0.0, 0.0, 0.0)
            };
            let p_sum = warp_sum_below(t, h * m * p);
            let m_sum = warp_sum_below(t, h * m);
            if inside {
                let m_above = if a + 1 == count { 0.0 } else { 2.0 * f64::from(count - 2 - a) + last };
                let rate = m_below + (m_sum - h * m) + h * m_above;
                let value = if frequencies == 0 {
                    p_below + (p_sum - h * m * p) + h * above.get(t, a) - rate * p
                } else {
                    rate
                };
                let (i, j) = (first + a, s - first - a);
                flows.set(t, i as usize * cells as usize + j as usize, value);
                if i != j {
                    flows.set(t, j as usize * cells as usize + i as usize, value);
                }
            }
            p_below += t.shuffle(p_sum, 31);
            m_below += t.shuffle(m_sum, 31);
        }
    }
}

kernel! {
    /// `shared[s] = sum over k of p_k p_(s-k) / norms[s]`: what agents who have s cells together bring to each of their possible shares. One warp a shell.
    pub fn split_products<T: Real>(
        t, p: In<T>, norms: In<f64>, shared_out: Out<f64>; cells: u32, base: u32,
    ) for f32, f64 {
        let s = quotient(t.global_idx() as u32, WARP);
        let shells = 2 * cells - 1;
        let inside = s < shells;
        let first = if s < cells { 0 } else { s - (cells - 1) };
        let last = if s < cells { s } else { cells - 1 };
        let mut sum = 0.0;
        let mut k = first + t.lane();
        while inside && k <= last {
            sum += p.get(t, (base + k) as usize).to_f64() * p.get(t, (base + s - k) as usize).to_f64();
            k += WARP;
        }
        let sum = warp_sum(t, sum);
        if inside && t.lane() == 0 {
            shared_out.set(t, s as usize, sum / norms.get(t, s as usize));
        }
    }
}

kernel! {
    /// `flux[i] = w_i sum over j of w_j shared[i + j] - n p_i`, n = sum of p: the change of the number of agents of cell i. One warp a cell.
    pub fn split_flows<T: Real>(
        t, p: In<T>, shared_in: In<f64>, weights: In<f64>, flux: Out<f64>; cells: u32, base: u32,
    ) for f32, f64 {
        let i = quotient(t.global_idx() as u32, WARP);
        let inside = i < cells;
        let (mut sum, mut agents) = (0.0, 0.0);
        let mut j = t.lane();
        while inside && j < cells {
            sum += weights.get(t, j as usize) * shared_in.get(t, (i + j) as usize);
            agents += p.get(t, (base + j) as usize).to_f64();
            j += WARP;
        }
        let (sum, agents) = (warp_sum(t, sum), warp_sum(t, agents));
        if inside && t.lane() == 0 {
            let own = p.get(t, (base + i) as usize).to_f64();
            flux.set(t, (base + i) as usize, weights.get(t, i as usize) * sum - agents * own);
        }
    }
}

kernel! {
    /// Adds up what the partners of each cell brought: `flux[i] = sum over j of flows[i][j]`, with `weighted` times f_j. One warp a cell; lanes read
    /// consecutive words.
    pub fn gather_partners<T: Real>(
        t, flows: In<f64>, f: In<T>, flux: Out<f64>; cells: u32, base: u32, weighted: u32,
    ) for f32, f64 {
        let i = quotient(t.global_idx() as u32, WARP);
        let mut sum = 0.0;
        let mut j = t.lane();
        while i < cells && j < cells {
            let flow = flows.get(t, i as usize * cells as usize + j as usize);
            sum += if weighted == 0 { flow } else { flow * f.get(t, (base + j) as usize).to_f64() };
            j += WARP;
        }
        let sum = warp_sum(t, sum);
        if i < cells && t.lane() == 0 {
            flux.set(t, (base + i) as usize, sum);
        }
    }
}
