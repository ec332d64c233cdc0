//! The operator from stored coefficients G = r_i r_j B_ij^kl, as the paper stores them: every one, and one of each set of equal ones.

use super::shells::{reduced, shell_of};
use super::{TILE_PITCH, row_sum, warp_sum};
use crate::kernel;
use crate::simt::WARP;

/// Threads of a block of [`full_flows()`] and [`compact_flows()`].
pub const STORED_THREADS: u32 = 256;

const STORED_WARPS: u32 = STORED_THREADS / WARP;

/// Elements of a row that a lane loads together.
const AHEAD: u32 = 4;

/// The cells that a particle of cell i can have after a collision with one of cell j: the first, and how many.
#[inline(always)]
fn reachable(i: u32, j: u32, cells: u32) -> (u32, u32) {
    let s = i + j;
    let first = if s < cells { 0 } else { s - (cells - 1) };
    let last = if s < cells { s } else { cells - 1 };
    (first, last - first + 1)
}

kernel! {
    /// Sums over every coefficient, for one state: of cell i the flow `flux[i] = sum of G (f_k f_l - f_i f_j)`, and with `detailed` the frequency of what moves, and
    /// gain and frequency with collisions that stay or exchange: `more = [moving, gain, frequency]`, each with a word a cell.
    ///
    /// **Block** i sums row i of the table: its warps take the partners j in turn, lanes are consecutive cells k, so that they read consecutive words of the table and of f.
    /// Four loads a lane are under way together. **Cost**: a word read, two words of f from shared memory, and 3 operations a coefficient; bound by global memory.
    /// Each output is one thread's, after a reduction in a fixed order.
    pub fn full_flows<T: Real>(
        t, table: In<T>, starts: In<u64>, f: In<T>, flux: Out<f64>, more: Out<f64>; cells: u32, base: u32, detailed: u32,
    ) for f32, f64
    shared { fs: [T; cells], sums: [f64; 4 * STORED_WARPS] } {
        let i = t.block_idx();
        let mut k = t.thread_idx();
        while k < cells {
            fs.set(t, k, f.get(t, (base + k) as usize));
            k += STORED_THREADS;
        }
        t.sync_threads();

        let own = fs.get(t, i);
        let (mut flow, mut moving, mut gain, mut frequency) = (0.0, 0.0, 0.0, 0.0);
        let mut j = t.warp();
        while j < cells {
            let start = starts.get(t, (i * cells + j) as usize) as usize;
            let (first, count) = reachable(i, j, cells);
            let partner = fs.get(t, j);
            let before = own * partner;
            // In the working precision within a row, f64 from row to row.
            let (mut net, mut into, mut all) = (T::ZERO, T::ZERO, T::ZERO);
            let mut at = t.lane();
            while at < count {
                let mut g = [T::ZERO; AHEAD as usize];
                for a in 0..AHEAD {
                    let e = at + a * WARP;
                    g[a as usize] = if e < count { table.get(t, start + e as usize) } else { T::ZERO };
                }
                for a in 0..AHEAD {
                    let e = at + a * WARP;
                    let k = first + if e < count { e } else { 0 };
                    let products = fs.get(t, k) * fs.get(t, i + j - k);
                    net = g[a as usize].mul_add(products - before, net);
                    if detailed != 0 {
                        into = g[a as usize].mul_add(products, into);
                        all += g[a as usize];
                    }
                }
                at += AHEAD * WARP;
            }
            flow += net.to_f64();
            if detailed != 0 {
                gain += into.to_f64();
                frequency += all.to_f64() * partner.to_f64();
                if t.lane() == 0 {
                    let own = table.get(t, start + (i - first) as usize).to_f64();
                    let other = if i == j { 0.0 } else { table.get(t, start + (j - first) as usize).to_f64() };
                    moving -= (own + other) * partner.to_f64();
                }
            }
            j += STORED_WARPS;
        }
        moving += frequency;
        let values = [flow, moving, gain, frequency];
        for which in 0..4 {
            let sum = warp_sum(t, values[which]);
            if t.lane() == 0 {
                sums.set(t, which as u32 * STORED_WARPS + t.warp(), sum);
            }
        }
        t.sync_threads();
        let which = t.thread_idx();
        if which < 4 {
            let mut sum = 0.0;
            for warp in 0..STORED_WARPS {
                sum += sums.get(t, which * STORED_WARPS + warp);
            }
            if which == 0 {
                flux.set(t, (base + i) as usize, sum);
            } else if detailed != 0 {
                more.set(t, ((which - 1) * cells + i) as usize, sum);
            }
        }
    }
}

/// Most reduced cells of a shell, in whole tiles.
const fn most_reduced(cells: u32) -> u32 {
    (cells.div_ceil(2) + 1).div_ceil(WARP) * WARP
}

kernel! {
    /// Sums over one of each set of equal coefficients, for one state: `flows[i][j]` is what collisions of i with j add to cell i, and with `frequencies` the sum
    /// of the coefficients of the collisions of i with j that move a particle.
    ///
    /// **Block**: one shell s = i + j. Its coefficients form a symmetric matrix over the reduced cells a = min(i, j), whose strict upper triangle is stored in tiles of
    /// 32 x 32; each serves twice, for a as for b: y_a = sum over b of G_ab mu_b (p_b - p_a), p_a = f_a f_(s-a), mu = 2, or 1 for a = s/2. **Warps** take tiles in turn;
    /// lanes are consecutive b and read consecutive words, eight loads under way. Column sums stay in registers; row sums go through a tile in
    /// shared memory. Each warp adds to a list y of its own, and the lists are added in the order of the warps.
    ///
    /// **Cost**: a word read and about 10 instructions for two terms; bound by global memory.
    pub fn compact_flows<T: Real>(
        t, table: In<T>, starts: In<u64>, f: In<T>, flows: Out<f64>; cells: u32, base: u32, frequencies: u32,
    ) for f32, f64
    shared {
        p: [T; most_reduced(cells)], y: [f64; STORED_WARPS * most_reduced(cells)],
        rows: [T; STORED_WARPS * WARP * TILE_PITCH],
    } {
        let s = shell_of(t.block_idx(), cells);
        let (first, count) = reduced(s, cells);
        let tiles = count.div_ceil(WARP);
        let padded = tiles * WARP;
        let most = most_reduced(cells);
        let own = t.warp() * most;
        let tile_at = t.warp() * WARP * TILE_PITCH;
        let mut a = t.thread_idx();
        while a < padded {
            let value = if a < count {
                f.get(t, (base + first + a) as usize) * f.get(t, (base + s - first - a) as usize)
            } else {
                T::ZERO
            };
            p.set(t, a, value);
            for warp in 0..STORED_WARPS {
                y.set(t, warp * most + a, 0.0);
            }
            a += STORED_THREADS;
        }
        t.sync_threads();

        let two = T::ONE + T::ONE;
        let mut at = starts.get(t, s as usize) as usize;
        let mut number = 0;
        for ta in 0..tiles {
            for tb in ta..tiles {
                if number % STORED_WARPS == t.warp() {
                    let b = tb * WARP + t.lane();
                    // The middle of an even shell is there once.
                    let many = if 2 * (first + b) == s { T::ONE } else { two };
                    let here = p.get(t, b);
                    let mut column = T::ZERO;
                    let mut r = 0;
                    while r < WARP {
                        let mut g = [T::ZERO; 8];
                        for k in 0..8 {
                            g[k] = table.get(t, at + ((r + k as u32) * WARP + t.lane()) as usize);
                        }
                        for k in 0..8 {
                            let row = r + k as u32;
                            if frequencies == 0 {
                                let flow = g[k] * (here - p.get(t, ta * WARP + row));
                                column -= two * flow;
                                rows.set(t, tile_at + row * TILE_PITCH + t.lane(), many * flow);
                            } else {
                                column += two * g[k];
                                rows.set(t, tile_at + row * TILE_PITCH + t.lane(), many * g[k]);
                            }
                        }
                        r += 8;
                    }
                    t.sync_warp();
                    let sum = row_sum(t, rows, tile_at);
                    let row = own + ta * WARP + t.lane();
                    y.set(t, row, y.get(t, row) + sum);
                    t.sync_warp();
                    y.set(t, own + b, y.get(t, own + b) + column.to_f64());
                    t.sync_warp();
                }
                at += (WARP * WARP) as usize;
                number += 1;
            }
        }
        t.sync_threads();

        let mut a = t.thread_idx();
        while a < count {
            let mut sum = 0.0;
            for warp in 0..STORED_WARPS {
                sum += y.get(t, warp * most + a);
            }
            let (i, j) = (first + a, s - first - a);
            flows.set(t, i as usize * cells as usize + j as usize, sum);
            if i != j {
                flows.set(t, j as usize * cells as usize + i as usize, sum);
            }
            a += STORED_THREADS;
        }
    }
}
