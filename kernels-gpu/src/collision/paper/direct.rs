//! The paper's sum, term by term: collision frequency and inverse collision integral in parts, and their collection.
//!
//! A block holds the first components of the indices fixed, keeps the planes of the distribution that belong to
//! them in shared memory, and writes its part of the sum to a buffer; [`collect()`] adds the parts up.

use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::Shared;
use crate::simt::{Simt, WARP};

/// Cells (iy, iz), with iy in steps of one, that a thread of [`collision_frequency()`] sums at a time.
pub const FREQUENCY_ROWS: usize = 8;

kernel! {
    /// Part of the collision frequency, nu_i = sum_j B(i-j) f_j (eq. 10, last sum; listing 1).
    ///
    /// Block `(item, ix, jx)`, `jx` fastest, sums over the plane `jx` of its distribution. A thread owns eight cells at a time, with neighbouring iy and one iz, neighbouring
    /// threads neighbouring iz. While j_y runs, i_y - j_y takes the same values for one cell after the other, so each
    /// coefficient is loaded once and handed on through registers: 8 x 8 (i_y, j_y) take 16 shared loads for 64 multiply-adds, 8 of them broadcasts.
    /// `b[mx][my][mz] = 4 pi |m|^gamma` for 0 <= m < n; `buffer[item][ix][jx][iy][iz]`.
    ///
    /// Shared memory: the plane of f (n^2) and the plane of b expanded along y and z ((2n-1 + 7) (2n-1)), so that neighbouring
    /// threads read neighbouring words, and rows past the end, which belong to no cell, are there.
    pub fn collision_frequency<T: Real>(t, f: In<T>, b: In<T>, buffer: Out<T>; n: u32) for f32, f64
    shared { f_plane: [T; n * n], b_plane: [T; (2 * n + 6) * (2 * n - 1)] } {
        let plane = n * n;
        let width = 2 * n - 1;
        let row = quotient(t.block_idx(), n);
        let jx = t.block_idx() - row * n;
        let item = quotient(row, n);
        let mx = (row - item * n).abs_diff(jx);

        let mut k = t.thread_idx();
        while k < plane {
            f_plane.set(t, k, f.get(t, ((item * n + jx) * plane + k) as usize));
            k += t.block_dim();
        }
        let mut k = t.thread_idx();
        while k < (width + FREQUENCY_ROWS as u32 - 1) * width {
            let row = quotient(k, width);
            let my = row.abs_diff(n - 1);
            let mz = (k - row * width).abs_diff(n - 1);
            let value = if my < n { b.get(t, ((mx * n + my) * n + mz) as usize) } else { T::ZERO };
            b_plane.set(t, k, value);
            k += t.block_dim();
        }
        t.sync_threads();

        let groups = n.div_ceil(FREQUENCY_ROWS as u32);
        let mut k = t.thread_idx();
        while k < groups * n {
            let group = quotient(k, n);
            let iz = k - group * n;
            let iy = group * FREQUENCY_ROWS as u32;
            let mut sum = [T::ZERO; FREQUENCY_ROWS];
            for jz in 0..n {
                // Row i_y - j_y + n - 1 of b, for the first cell and j_y = 0; behind[c] is that of cell c.
                let at = (iy + n - 1) * width + iz + (n - 1) - jz;
                let mut behind = [T::ZERO; FREQUENCY_ROWS];
                for c in 1..FREQUENCY_ROWS {
                    behind[c] = b_plane.get(t, at + c as u32 * width);
                }
                let mut jy = 0;
                while jy < n {
                    let mut ahead = [T::ZERO; FREQUENCY_ROWS];
                    let mut value = [T::ZERO; FREQUENCY_ROWS];
                    for r in 0..FREQUENCY_ROWS {
                        let y = jy + r as u32;
                        if y < n {
                            ahead[r] = b_plane.get(t, at - y * width);
                            value[r] = f_plane.get(t, y * n + jz);
                        }
                    }
                    for r in 0..FREQUENCY_ROWS {
                        for c in 0..FREQUENCY_ROWS {
                            let b = if c > r { behind[c - r] } else { ahead[r - c] };
                            sum[c] = b.mul_add(value[r], sum[c]);
                        }
                    }
                    for c in 1..FREQUENCY_ROWS {
                        behind[c] = ahead[FREQUENCY_ROWS - c];
                    }
                    jy += FREQUENCY_ROWS as u32;
                }
            }
            for row in 0..FREQUENCY_ROWS {
                let y = iy + row as u32;
                if y < n {
                    buffer.set(t, (t.block_idx() * plane + y * n + iz) as usize, sum[row]);
                }
            }
            k += t.block_dim();
        }
    }
}

/// Where the coefficient lists of a grid lie, and how the direct kernel walks them.
///
/// The nonzero coefficients of one pre-collision displacement depend on the parity of its components, on rho = |m|^2
/// and on n: list `offsets[(parity * radii + radius) * halves + n_x / 2]` holds the pairs `(|n_y|, |n_z|)` with a nonzero
/// coefficient. `parity` has bit 2 for m_x, bit 1 for m_y, bit 0 for m_z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DirectShape {
    /// Cells along one axis of the grid.
    pub n: u32,
    /// Values of the squared radius per parity class, padded to the largest class.
    pub radii: u32,
    /// Values of `n_x / 2`: `n.div_ceil(2)`.
    pub halves: u32,
    /// Warps of a block; each has a plane of sums of its own.
    pub warps: u32,
}

impl DirectShape {
    /// Cells by which a post-collision index can leave the grid on either side.
    #[inline(always)]
    pub const fn margin(&self) -> u32 {
        (self.n - 1) / 2
    }
    /// Distance of two rows of a plane in shared memory when rows of `width` cells are walked: long enough for a row
    /// and one margin, and such that the cells of consecutive rows fall into consecutive banks.
    #[inline(always)]
    pub const fn stride(&self, width: u32) -> u32 {
        let least = self.n + self.margin();
        least + (width.wrapping_sub(least) % WARP)
    }
    /// Words that hold a plane with its margins, whatever the stride.
    #[inline(always)]
    pub const fn plane_words(&self) -> u32 {
        (self.n + 2 * self.margin()) * (self.n + self.margin() + WARP - 1) + 2 * self.margin()
    }
}

kernel! {
    /// Part of the inverse collision integral, sum over j and n of A(i-j, n) f_k f_l with k = (i+j+n)/2, l = (i+j-n)/2
    /// (eq. 10, first sum; listing 2).
    ///
    /// **Block** `b` computes `tasks[b] = [ix, jx, nx, slot]`: first components fixed, nx >= 0 of the parity of
    /// ix + jx. It keeps the planes kx and lx of f in shared memory and writes
    /// `buffer[slot][iy][iz]`, lattice units without the factor of the first sum's sign images (they are in the weights).
    ///
    /// **Warp** w takes every `warps`-th displacement `(my, mz)`; its lanes own consecutive cells i of the window in
    /// which both i and j = i - m lie in the grid. So coefficient and offsets are the same in all lanes: no
    /// divergence, and no coefficient that is zero. Each warp sums into a plane of its own, so there is no race; the planes are added
    /// in the order of the warps.
    ///
    /// **Shared memory.** Indices k, l that leave the grid hit a margin of zeros. The planes are laid out anew for each
    /// |mz| with a row stride congruent to the window's width modulo the 32 banks: the lanes of a warp then read 32
    /// consecutive banks even where they span rows. Four products for the sign images (+-ny, +-nz) share one coefficient.
    ///
    /// **Cost**: 8 shared loads and 5 multiply-adds for 4 terms; bound by shared-memory bandwidth, of which it uses 70% at
    /// N = 20 and 79% at N = 32 on an H200 in f32.
    ///
    /// Where `partner` is not 0, the sum is the bilinear one of f with the distribution so many words behind it, `f_k m_l + m_k f_l`: the planes are taken twice, with the
    /// distributions exchanged the second time.
    ///
    /// `entries[e] = |n_y| + 2^16 |n_z|` with `weights[e] = omega(rho, n)` times 2 for nx > 0 and 1/2 for each zero among ny, nz;
    /// `speed[rho] = rho^(gamma/2)`.
    pub fn inverse_collision_integral<T: Real>(
        t, f: In<T>, tasks: In<[u32; 4]>, offsets: In<u32>, entries: In<u32>, weights: In<T>, speed: In<T>,
        buffer: Out<T>; shape: DirectShape, partner: u32,
    ) for f32, f64
    shared {
        f1: [T; shape.plane_words()], f2: [T; shape.plane_words()],
        sums: [T; shape.warps * shape.n * shape.n],
    } {
        let n = shape.n;
        let plane = n * n;
        let margin = shape.margin();
        let [ix, jx, nx, slot] = tasks.get(t, t.block_idx() as usize);
        let kx = (ix + jx + nx) / 2;
        let lx = (ix + jx - nx) / 2;
        let mx = ix.abs_diff(jx);
        let own = t.warp() * plane;

        let mut k = t.lane();
        while k < plane {
            sums.set(t, own + k, T::ZERO);
            k += WARP;
        }

        let turns = if partner > 0 { 2 } else { 1 };
        for turn in 0..turns * n {
            let (mz, origin1, origin2) =
                if turn < n { (turn, 0, partner) } else { (turn - n, partner, 0) };
            let width = n - mz;
            let stride = shape.stride(width);

            // The planes with their margins, in this width's layout.
            t.sync_threads();
            let words = (n + 2 * margin) * stride + 2 * margin;
            let mut k = t.thread_idx();
            while k < words {
                let row = quotient(k, stride);
                let y = row.wrapping_sub(margin);
                let z = (k - row * stride).wrapping_sub(margin);
                let inside = y < n && z < n;
                let cell = if inside { y * n + z } else { 0 };
                let value = |at: u32| if inside { f.get(t, (at + cell) as usize) } else { T::ZERO };
                f1.set(t, k, value(origin1 + kx * plane));
                f2.set(t, k, value(origin2 + lx * plane));
                k += t.block_dim();
            }
            t.sync_threads();

            // Displacements my = -(n-1)..=n-1 for mz >= 0, then for mz < 0.
            let rows = 2 * n - 1;
            let count = if mz == 0 { rows } else { 2 * rows };
            let mut item = t.warp();
            while item < count {
                let negative_z = item >= rows;
                let row = if negative_z { item - rows } else { item };
                let my = row.abs_diff(n - 1);
                let negative_y = row < n - 1;

                let rho = mx * mx + my * my + mz * mz;
                let list = list_of(&shape, mx, my, mz, rho) * shape.halves + nx / 2;
                let first = offsets.get(t, list as usize);
                let last = offsets.get(t, list as usize + 1);

                // Cell p of the window is (y, z) = (p / width, p % width): i = (y, z) + max(m, 0), s = 2 (y, z) + |m|.
                let cells = (n - my) * width;
                let to_i = (if negative_y { 0 } else { my }) * n + if negative_z { 0 } else { mz };
                let walk = Walk { my, mz, stride, width, margin, cells, to_i: own + to_i, n, first, last };
                let scale = speed.get(t, rho as usize);
                let mut p = 0;
                while p < cells && first < last {
                    let chunks = (cells - p).div_ceil(WARP);
                    if chunks >= 4 {
                        walk.sum_terms::<4, _, T>(t, p, scale, entries, weights, f1, f2, sums);
                        p += 4 * WARP;
                    } else if chunks >= 2 {
                        walk.sum_terms::<2, _, T>(t, p, scale, entries, weights, f1, f2, sums);
                        p += 2 * WARP;
                    } else {
                        walk.sum_terms::<1, _, T>(t, p, scale, entries, weights, f1, f2, sums);
                        p += WARP;
                    }
                }
                // The windows of the next displacement overlap this one's cells in other lanes.
                t.sync_warp();
                item += t.warps();
            }
        }

        t.sync_threads();
        let mut k = t.thread_idx();
        while k < plane {
            let mut sum = T::ZERO;
            for warp in 0..shape.warps {
                sum += sums.get(t, warp * plane + k);
            }
            buffer.set(t, slot as usize * plane as usize + k as usize, sum);
            k += t.block_dim();
        }
    }
}

/// Index, without the n_x part, of the list of coefficients for a displacement with squared length `rho`.
///
/// The number of odd components is the parity class c; rho is congruent to c modulo 4, and to 3 modulo 8 in class 3.
#[inline(always)]
pub const fn list_of(shape: &DirectShape, mx: u32, my: u32, mz: u32, rho: u32) -> u32 {
    let (x, y, z) = (mx & 1, my & 1, mz & 1);
    let class = x + y + z;
    let step = if class == 3 { 3 } else { 2 };
    (4 * x + 2 * y + z) * shape.radii + ((rho - class) >> step)
}

/// The values that the lanes of a warp share while they sum over n for one displacement (m_y, m_z).
#[derive(Clone, Copy)]
struct Walk {
    my: u32,
    mz: u32,
    stride: u32,
    width: u32,
    margin: u32,
    cells: u32,
    to_i: u32,
    n: u32,
    first: u32,
    last: u32,
}

impl Walk {
    /// Sums over n for `CHUNKS` times 32 cells of the window, from cell `p` on, and adds to the warp's plane.
    ///
    /// Several chunks share the loads of coefficient and offsets and hide each other's latency.
    #[inline(always)]
    #[track_caller]
    #[allow(clippy::too_many_arguments, reason = "views of one kernel")]
    fn sum_terms<const CHUNKS: usize, S: Simt, T: Real>(
        &self,
        t: &S,
        p: u32,
        scale: T,
        entries: crate::In<'_, u32>,
        weights: crate::In<'_, T>,
        f1: Shared<'_, T>,
        f2: Shared<'_, T>,
        sums: Shared<'_, T>,
    ) {
        let mut at = [0; CHUNKS];
        let mut to = [0; CHUNKS];
        let mut sum = [T::ZERO; CHUNKS];
        for c in 0..CHUNKS {
            let cell = p + c as u32 * WARP + t.lane();
            // Lanes past the end of the window repeat its first cell and drop the result.
            let cell = if cell < self.cells { cell } else { 0 };
            let y = quotient(cell, self.width);
            let z = cell - y * self.width;
            at[c] = (y + self.margin) * self.stride + z + self.margin;
            to[c] = self.to_i + y * self.n + z;
        }

        for e in self.first..self.last {
            let entry = entries.get(t, e as usize);
            let weight = weights.get(t, e as usize);
            let (ny, nz) = (entry & 0xffff, entry >> 16);
            // (|m| + |n|) / 2 and (|m| - |n|) / 2, the latter possibly negative: wrapping arithmetic throughout.
            let above_y = (self.my + ny) / 2 * self.stride;
            let below_y = (self.my.wrapping_sub(ny) as i32 >> 1) as u32;
            let below_y = below_y.wrapping_mul(self.stride);
            let above_z = (self.mz + nz) / 2;
            let below_z = (self.mz.wrapping_sub(nz) as i32 >> 1) as u32;
            let above_above = above_y + above_z;
            let above_below = above_y.wrapping_add(below_z);
            let below_above = below_y.wrapping_add(above_z);
            let below_below = below_y.wrapping_add(below_z);
            for c in 0..CHUNKS {
                let kk = at[c].wrapping_add(above_above);
                let kl = at[c].wrapping_add(above_below);
                let lk = at[c].wrapping_add(below_above);
                let ll = at[c].wrapping_add(below_below);
                let products = f1.get(t, kk) * f2.get(t, ll);
                let products = f1.get(t, ll).mul_add(f2.get(t, kk), products);
                let products = f1.get(t, lk).mul_add(f2.get(t, kl), products);
                let products = f1.get(t, kl).mul_add(f2.get(t, lk), products);
                sum[c] = weight.mul_add(products, sum[c]);
            }
        }

        for c in 0..CHUNKS {
            if p + (c as u32) * WARP + t.lane() < self.cells {
                let old = sums.get(t, to[c]);
                sums.set(t, to[c], scale.mul_add(sum[c], old));
            }
        }
    }
}

kernel! {
    /// Adds up the parts that [`collision_frequency()`] and [`inverse_collision_integral()`] left in their buffers: one
    /// thread a cell, `out[ix][k] = sum of buffer[slot][k]` over the slots `first[ix]..first[ix + 1]`, in that order.
    ///
    /// The sum is taken in f64, so its error does not grow with the number of parts.
    pub fn collect<T: Real>(t, buffer: In<T>, first: In<u32>, out: Out<T>; plane: u32) for f32, f64 {
        let cell = t.global_idx();
        if cell < out.len() {
            let ix = quotient(cell as u32, plane);
            let k = cell as u32 - ix * plane;
            let mut slot = first.get(t, ix as usize);
            let last = first.get(t, ix as usize + 1);
            let mut sum = 0.0;
            while slot < last {
                sum += buffer.get(t, slot as usize * plane as usize + k as usize).to_f64();
                slot += 1;
            }
            out.set(t, cell, T::from_f64(sum));
        }
    }
}
